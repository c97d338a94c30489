// Softmax with lanes along the reduced axes: fold an output's elements, then map them.
#pragma once
#include "kernels/cpu/dense_softmax.h"
#include "kernels/cpu/fold_rows.h"
#include "kernels/cpu/gathered_rows.h"
#include "kernels/cpu/run_walk.h"

namespace ndfold::simd {

/// Maps elements [begin, end) of the output at (in, out).
template <class A>
void normalize_row(const Arguments& step, MapKind map, const std::byte* in, std::byte* out, Index begin, Index end,
                   const Normalizer<A>& by) {
  map_runs<A>(step, in, out, begin, end, [&](const A* x, A* y, Index n) {
    if (map == MapKind::softmax)
      normalize_run<MapKind::softmax>(x, y, n, static_cast<A>(step.scale), by);
    else
      normalize_run<MapKind::log_softmax>(x, y, n, static_cast<A>(step.scale), by);
  });
}

/// Elements wait in the output: max, then powers written and summed, then the row divided where it lies. One
/// exponential an element, for rows that stay in the core's cache.
template <class A>
void softmax_row_in_output(const Arguments& step, const std::byte* in, std::byte* out) {
  using V = LanesOf<A>;
  const FoldParameters parameters{.scale = step.scale};
  const Index n = elements(step.reduced);
  const Axis run = inner(step.reduced);
  const A max = fold_row<ScaledMax, A, Loading::values>(step, parameters, in, 0, n);
  const Normalizer<A> power{max, kInfinity<A>, A(1)};
  alignas(64) A loaded[kChunk];
  Tree<Sum<A>> tree({});
  Leaf<A> leaf;
  leaf.count = 1;
  each_run(step, 0, n, [&](Index from, Index to, Index length) {
    const A* x = run_of(step.input, advance(in, step.input, from), run.in, length, loaded);
    A* y = reinterpret_cast<A*>(advance(out, step.output, to));
    normalize_run<MapKind::softmax>(x, y, length, static_cast<A>(step.scale), power);
    leaf.segments[0] = {.start = y, .length = length, .index = 0, .weight = 0};
    leaf.elements = length;
    tree.push(fold_leaf_once(Sum<A>(), Sum<V>(), leaf));
  });
  const auto by = normalizer<A>(MapKind::softmax, {max, tree.result()}, step.alpha);
  each_run(step, 0, n, [&](Index, Index to, Index length) {
    A* y = reinterpret_cast<A*>(advance(out, step.output, to));
    scale_run(y, y, length, by.factor);
  });
}

/// Rows of any layout, one after the other.
template <class A>
void softmax_rows_anywhere(const Arguments& step, MapKind map, Index first, Index last) {
  const FoldParameters parameters{.scale = step.scale};
  const Index n = elements(step.reduced);
  Odometer kept(step.kept, first);
  for (Index block = first; block < last; ++block, kept.next()) {
    const std::byte* in = advance(step.in, step.input, kept.in());
    std::byte* out = advance(step.out, step.output, kept.out());
    if (step.residency == Residency::output) {
      softmax_row_in_output<A>(step, in, out);
    } else {
      const auto state = fold_row<OnlineSoftmax, A, Loading::values>(step, parameters, in, 0, n);
      normalize_row<A>(step, map, in, out, 0, n, normalizer<A>(map, state, step.alpha));
    }
  }
}

/// Blocks: one an output.
template <class A>
void softmax_rows(const Arguments& step, Index first, Index last) {
  const MapKind map = step.sink == SinkKind::softmax ? MapKind::softmax : MapKind::log_softmax;
  const auto rows = [&]<class T>(T) {
    map == MapKind::softmax ? dense_softmax<T, MapKind::softmax>(step, first, last)
                            : dense_softmax<T, MapKind::log_softmax>(step, first, last);
  };
  const auto gathered = [&]<class T>(T) {
    GatheredRows<T> some(step);
    map == MapKind::softmax ? some.template map<MapKind::softmax>(first, last)
                            : some.template map<MapKind::log_softmax>(first, last);
  };
  if (visit_dense_map<A>(step, rows)) return;
  if (can_gather_rows(step) && visit_elements<A>(step.input, gathered)) return;
  softmax_rows_anywhere<A>(step, map, first, last);
}

}  // namespace ndfold::simd
