// Visits the reduced elements of one output as runs along the innermost reduced axis, cut to kChunk.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/cpu/odometer.h"

#include <algorithm>

namespace ndfold::simd {

/// work(in_offset, out_offset, n) for reduced elements [begin, end), in elements from the output's own first element.
template <class Work>
void each_run(const Arguments& step, Index begin, Index end, Work&& work) {
  const Axis run = inner(step.reduced);
  Odometer lines(outer(step.reduced), begin / run.size);
  for (Index position = begin % run.size, left = end - begin; left > 0;) {
    const Index n = std::min({run.size - position, left, kChunk});
    work(lines.in() + position * run.in, lines.out() + position * run.out, n);
    left -= n;
    if ((position += n) == run.size) position = 0, lines.next();
  }
}

/// A run as A: where it lies, or converted into `buffer`.
template <class A>
const A* run_of(DType type, const std::byte* from, Index stride, Index n, A* buffer) {
  if (type == kTypeOf<A> && stride == 1) return reinterpret_cast<const A*>(from);
  load_run(type, from, stride, n, buffer);
  return buffer;
}

/// map(x, y, n) for each run: from the input as A, wherever it lies, to the output, whatever it is.
template <class A, class Map>
void map_runs(const Arguments& step, const std::byte* in, std::byte* out, Index begin, Index end, const Map& map) {
  const Axis run = inner(step.reduced);
  const bool direct = step.output == kTypeOf<A> && run.out == 1;
  alignas(64) A loaded[kChunk];
  alignas(64) A mapped[kChunk];
  each_run(step, begin, end, [&](Index from, Index to, Index n) {
    std::byte* place = advance(out, step.output, to);
    A* y = direct ? reinterpret_cast<A*>(place) : mapped;
    map(run_of(step.input, advance(in, step.input, from), run.in, n, loaded), y, n);
    if (!direct) store_run(step.output, place, run.out, n, y);
  });
}

}  // namespace ndfold::simd
