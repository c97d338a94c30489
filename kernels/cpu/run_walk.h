// Visits the reduced elements of one output as runs along the innermost reduced axis, cut to kChunk.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/cpu/odometer.h"

#include <algorithm>

namespace ndfold::cpu {

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

/// Where results of a run go: the output itself, or `buffer` (then store_run has to follow).
template <class A>
A* target_of(DType type, std::byte* to, Index stride, A* buffer) {
  return type == kTypeOf<A> && stride == 1 ? reinterpret_cast<A*>(to) : buffer;
}

}  // namespace ndfold::cpu
