// A leaf of a row's tree: up to kChunk elements in a few contiguous segments, folded by independent accumulators.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/states.h"

#include <utility>

namespace ndfold::simd {

/// Elements of type A, as they lie in memory or staged in a buffer.
template <class A>
struct Leaf {
  static constexpr int kSegments = 64;
  struct Segment {
    const A* start;
    Index length;
    Index index;   // argmax, argmin: row-major index of the first element
    Index weight;  // and how much the index grows from one to the next
  };
  Segment segments[kSegments];
  int count = 0;
  Index elements = 0;
};

/// SIMD lanes where Eigen has packets and folds have text for them; the compiler vectorizes the integers by itself.
template <class A>
struct ValueOf {
  using type = A;
};
template <>
struct ValueOf<float> {
  using type = Lanes<float>;
};
template <>
struct ValueOf<double> {
  using type = Lanes<double>;
};
template <class A>
using LanesOf = typename ValueOf<A>::type;

/// A leaf as lanes of states. A function of its own: inlined into a caller, its accumulators lose their registers.
template <class LaneFold, class A>
[[gnu::flatten, gnu::noinline]] typename LaneFold::State leaf_lanes(const LaneFold& fold, const Leaf<A>& leaf) {
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>;
  constexpr int kAccumulators = kWidth > 1 ? 8 : 1;
  typename LaneFold::State sums[kAccumulators];
  for (auto& sum : sums) sum = fold.identity();
  for (int s = 0; s < leaf.count; ++s) {
    const A* x = leaf.segments[s].start;
    const Index n = leaf.segments[s].length;
    Index i = 0;
    for (; i + kAccumulators * kWidth <= n; i += kAccumulators * kWidth)
      for (int k = 0; k < kAccumulators; ++k) sums[k] = fold.combine(sums[k], fold.map(load<V>(x + i + k * kWidth), 0));
    if constexpr (kWidth > 1) {
      // The ends of short segments take turns: on the same accumulators they would add up to a running sum.
      int k = s % kAccumulators;
      const auto turn = [&k] { return std::exchange(k, (k + 1) % kAccumulators); };
      for (; i + kWidth <= n; i += kWidth) {
        auto& sum = sums[turn()];
        sum = fold.combine(sum, fold.map(load<V>(x + i), 0));
      }
      if (i < n) {
        const int rest = static_cast<int>(n - i);
        const auto mapped = fold.map(load_first(x + i, rest), 0);
        const auto mask = first_lanes<A>(rest);
        sums[k] = fold.combine(sums[k], select_state(mask, mapped, fold.identity()));
      }
    }
  }
  for (int half = kAccumulators / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) sums[k] = fold.combine(sums[k], sums[k + half]);
  return sums[0];
}

/// A leaf in one look; `lanes` and `numbers` are the same fold.
template <class NumberFold, class LaneFold, class A>
typename NumberFold::State fold_leaf_once(const NumberFold& numbers, const LaneFold& lanes, const Leaf<A>& leaf) {
  if constexpr (HasQuick<LaneFold>) {
    using Quick = typename QuickOf<LaneFold>::type;
    const auto quick = leaf_lanes(Quick(), leaf);
    if (Quick::is_certain(quick)) return fold_lanes(numbers, lanes, quick.best);
  }
  return fold_lanes(numbers, lanes, leaf_lanes(lanes, leaf));
}

/// Folds a leaf, in two looks when the fold has a pivot.
template <template <class> class F, class A>
auto fold_leaf(const F<A>& numbers, const F<LanesOf<A>>& lanes, const Leaf<A>& leaf) {
  if constexpr (PivotFold<F<A>>) {
    const auto total = fold_leaf_once(numbers.pivot_fold(), lanes.pivot_fold(), leaf);
    const A pivot = numbers.pivot(total, leaf.elements);
    const auto around = fold_leaf_once(numbers.around(pivot, leaf.elements),
                                       lanes.around(splat<LanesOf<A>>(pivot), leaf.elements), leaf);
    return numbers.join(total, pivot, around, leaf.elements);
  } else {
    return fold_leaf_once(numbers, lanes, leaf);
  }
}

/// The first i < n with x[i] the same as `value`: it is there.
template <class F, class A>
[[gnu::flatten]] Index find_same(const A* x, Index n, A value) {
  using V = LanesOf<A>;
  constexpr int kAtOnce = 8;
  Index i = 0;
  if constexpr (IsLanes<V>) {
    const V wanted = splat<V>(value);
    for (; value == value && i + kAtOnce * kLanes<V> <= n; i += kAtOnce * kLanes<V>) {
      auto found = equal(load<V>(x + i), wanted);
      for (int k = 1; k < kAtOnce; ++k) found = either(found, equal(load<V>(x + i + k * kLanes<V>), wanted));
      if (any(found)) break;
    }
  }
  while (!F::same(x[i], value)) ++i;
  return i;
}

/// argmax and argmin: each segment's extremum first; where it matters, the lowest index at which it stands.
template <template <class> class F, class A>
typename F<A>::State arg_leaf(const F<A>& fold, const Leaf<A>& leaf, typename F<A>::State best) {
  using Lanes = typename F<LanesOf<A>>::Values;
  Leaf<A> one;
  one.count = 1;
  for (int s = 0; s < leaf.count; ++s) {
    const auto& segment = one.segments[0] = leaf.segments[s];
    const A value = fold_leaf_once(typename F<A>::Values(), Lanes(), one);
    const Index last = segment.index + (segment.length - 1) * segment.weight;
    const Index lowest = segment.weight < 0 ? last : segment.index;
    if (F<A>::same(value, best.value) && lowest >= best.index) continue;
    if (fold.combine(best, {value, lowest}).index != lowest) continue;
    Index at = segment.length - 1;
    if (segment.weight < 0)
      while (!F<A>::same(segment.start[at], value)) --at;
    else
      at = find_same<F<A>>(segment.start, segment.length, value);
    best = fold.combine(best, {value, segment.index + at * segment.weight});
  }
  return best;
}

}  // namespace ndfold::simd
