// A leaf of a row's tree: up to kChunk elements in a few contiguous segments, folded by independent accumulators.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/integer_leaf.h"
#include "kernels/cpu/quick_extremum.h"
#include "kernels/cpu/states.h"

#include <utility>

namespace ndfold::simd {

/// Elements of type T, as they lie in memory or staged in a buffer.
template <class T>
struct Leaf {
  static constexpr int kSegments = 64;
  struct Segment {
    const T* start;
    Index length;
    Index index;   // argmax, argmin: row-major index of the first element
    Index weight;  // and how much the index grows from one to the next
  };
  Segment segments[kSegments];
  int count = 0;
  Index elements = 0;
};

/// A fold around a pivot looks at elements for the second time.
template <class LaneFold>
inline constexpr bool kLooksAgain = requires(LaneFold fold) {
  fold.mean;
}
|| requires(LaneFold fold) { fold.pivot; };
template <class LaneFold>
inline constexpr Index kAheadOf = kLooksAgain<LaneFold> ? kAheadOfSecondLook : kAheadBytes;

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

/// Whole groups of lanes of x, at most kCount of them, each to its own of `sums`.
template <class V, int kCount, class T, class Work>
void each_group(const T* x, Index n, Work&& work) {
  [&]<int... K>(std::integer_sequence<int, K...>) {
    (void)(... && (n >= (K + 1) * kLanes<V> && (work(K, load<V>(x + K * kLanes<V>)), true)));
  }
  (std::make_integer_sequence<int, kCount>());
}

/// A leaf as lanes of states. A function of its own: inlined into a caller, its accumulators lose their registers.
template <class LaneFold, class T>
[[gnu::flatten, gnu::noinline]] typename LaneFold::State leaf_lanes(const LaneFold& fold, const Leaf<T>& leaf) {
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>;
  constexpr int kAccumulators = kWidth > 1 ? 8 : 1;
  typename LaneFold::State sums[kAccumulators];
  for (auto& sum : sums) sum = fold.identity();
  for (int s = 0; s < leaf.count; ++s) {
    const T* x = leaf.segments[s].start;
    const Index n = leaf.segments[s].length;
    Index i = 0;
    for (; i + kAccumulators * kWidth <= n; i += kAccumulators * kWidth)
      for (int k = 0; k < kAccumulators; ++k) {
        if constexpr (kWidth > 1) prefetch<kAheadOf<LaneFold>>(x + i + k * kWidth);
        sums[k] = fold.combine(sums[k], fold.map(load<V>(x + i + k * kWidth), 0));
      }
    if constexpr (kWidth > 1) {
      // At most one group an accumulator, and the last, incomplete group to the last: no running sums of many ends.
      const auto add = [&](int k, V here) { sums[k] = fold.combine(sums[k], fold.map(here, 0)); };
      each_group<V, kAccumulators - 1>(x + i, n - i, add);
      if (const int rest = static_cast<int>(n % kWidth); rest > 0) {
        const auto mapped = fold.map(load_first(x + n - rest, rest), 0);
        auto& last = sums[kAccumulators - 1];
        last = fold.combine(last, select_state(first_lanes<ScalarOf<V>>(rest), mapped, fold.identity()));
      }
    }
  }
  for (int half = kAccumulators / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) sums[k] = fold.combine(sums[k], sums[k + half]);
  return sums[0];
}

/// The quick extremum of a leaf; whether it is certain.
template <class LaneFold, class T>
[[gnu::flatten, gnu::noinline]] bool leaf_extremum(const Leaf<T>& leaf, ScalarOf<typename LaneFold::Value>& extremum) {
  using Quick = Quick<LaneFold>;
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>, kAccumulators = 8;
  V best[kAccumulators];
  for (auto& one : best) one = Quick::identity();
  auto lost = Quick::none();
  for (int s = 0; s < leaf.count; ++s) {
    const T* x = leaf.segments[s].start;
    const Index n = leaf.segments[s].length;
    Index i = 0;
    for (; i + kAccumulators * kWidth <= n; i += kAccumulators * kWidth)
      for (int k = 0; k < kAccumulators; k += 2) {
        prefetch(x + i + k * kWidth), prefetch(x + i + (k + 1) * kWidth);
        const V a = load<V>(x + i + k * kWidth), b = load<V>(x + i + (k + 1) * kWidth);
        best[k] = Quick::nearest(best[k], Quick::map(a));
        best[k + 1] = Quick::nearest(best[k + 1], Quick::map(b));
        lost = either(lost, unordered(a, b));
      }
    const auto take = [&](int k, V here) {
      best[k] = Quick::nearest(best[k], Quick::map(here));
      lost = either(lost, unordered(here, here));
    };
    each_group<V, kAccumulators - 1>(x + i, n - i, take);
    if (const int rest = static_cast<int>(n % kWidth); rest > 0) {
      const V here = load_first(x + n - rest, rest);
      const V mapped = select(first_lanes<ScalarOf<V>>(rest), Quick::map(here), Quick::identity());
      best[kAccumulators - 1] = Quick::nearest(best[kAccumulators - 1], mapped);
      lost = either(lost, unordered(here, here));
    }
  }
  for (int half = kAccumulators / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) best[k] = Quick::nearest(best[k], best[k + half]);
  extremum = lane(fold_halves<kWidth / 2>(Nearest<LaneFold>(), best[0]), 0);
  return !any(lost) && extremum != 0;
}

/// A leaf in one look; `lanes` and `numbers` are the same fold.
template <class NumberFold, class LaneFold, class T>
typename NumberFold::State fold_leaf_once(const NumberFold& numbers, const LaneFold& lanes, const Leaf<T>& leaf) {
  if constexpr (kFoldsIntegers<NumberFold, T>) {
    typename NumberFold::State total = 0;
    for (int s = 0; s < leaf.count; ++s)
      total += fold_run_of_integers(numbers, leaf.segments[s].start, leaf.segments[s].length);
    return total;
  } else if constexpr (HasQuick<LaneFold>) {
    typename NumberFold::State extremum;
    if (leaf_extremum<LaneFold>(leaf, extremum)) return extremum;
    return fold_lanes(numbers, lanes, leaf_lanes(lanes, leaf));
  } else {
    return fold_lanes(numbers, lanes, leaf_lanes(lanes, leaf));
  }
}

/// Folds a leaf, in two looks when the fold has a pivot.
template <template <class> class F, class A, class T>
auto fold_leaf(const F<A>& numbers, const F<LanesOf<A>>& lanes, const Leaf<T>& leaf) {
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
template <class F, class T, class A>
[[gnu::flatten]] Index find_same(const T* x, Index n, A value) {
  using V = LanesOf<A>;
  Index i = 0;
  if constexpr (IsLanes<V>) {
    constexpr Index kAtOnce = 4, kStep = kAtOnce * kLanes<V>;
    const V wanted = splat<V>(value);
    const bool is_number = value == value;
    const auto found = [&](V here) { return bits_of(is_number ? equal(here, wanted) : unordered(here, here)); };
    for (; i + kStep <= n; i += kStep) {
      std::uint64_t bits = 0;  // of four groups at once: where it is cannot be predicted
      for (Index k = 0; k < kAtOnce; ++k)
        bits |= static_cast<std::uint64_t>(found(load<V>(x + i + k * kLanes<V>))) << (k * kLanes<V>);
      if (bits != 0) return i + std::countr_zero(bits);
    }
    for (; i + kLanes<V> <= n; i += kLanes<V>)
      if (const std::uint32_t bits = found(load<V>(x + i)); bits != 0) return i + std::countr_zero(bits);
    const int rest = static_cast<int>(n - i);
    const std::uint32_t bits = found(load_first(x + i, rest)) & ((1u << rest) - 1);
    return i + std::countr_zero(bits);
  } else {
    while (!F::same(static_cast<A>(x[i]), value)) ++i;
    return i;
  }
}

/// argmax and argmin: each segment's extremum first; where it matters, the lowest index at which it stands.
template <template <class> class F, class A, class T>
typename F<A>::State arg_leaf(const F<A>& fold, const Leaf<T>& leaf, typename F<A>::State best) {
  using Lanes = typename F<LanesOf<A>>::Values;
  Leaf<T> one;
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
      while (!F<A>::same(static_cast<A>(segment.start[at]), value)) --at;
    else
      at = find_same<F<A>>(segment.start, segment.length, value);
    best = fold.combine(best, {value, segment.index + at * segment.weight});
  }
  return best;
}

}  // namespace ndfold::simd
