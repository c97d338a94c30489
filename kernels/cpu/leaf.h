// A leaf of a row's tree: elements in a few contiguous segments, folded by independent accumulators.
#pragma once
#include "kernels/cpu/accumulators.h"
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/find_integer.h"
#include "kernels/cpu/integer_extremum.h"
#include "kernels/cpu/integer_leaf.h"

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
  bool is_far = false;         ///< comes from memory, read for the first time
  bool is_waited_for = false;  ///< comes from memory that waits for instructions
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

/// A leaf as states by independent accumulators, one that the compiler makes lanes of where it has them. A function of
/// its own: inlined into a caller, its accumulators lose their registers.
template <class LaneFold, class Watch, class T>
[[gnu::flatten, gnu::noinline]] typename LaneFold::State leaf_lanes(const LaneFold& fold, const Leaf<T>& leaf,
                                                                    Watch& watch) {
  if constexpr (IsLanes<typename LaneFold::Value>) {
    const Help help{.ahead = kAsksAhead ? kAheadOf<LaneFold> / static_cast<Index>(sizeof(T)) : 0,
                    .again = leaf.is_far && !kLooksAgain<LaneFold>};
    Watch seen = watch;  // out of memory, where vectors would wait for those before
    Accumulators<LaneFold, Watch> sums(fold, seen);
    for (int s = 0; s < leaf.count; ++s)
      if constexpr (kInAnyOrder<LaneFold>)
        sums.add_aligned(leaf.segments[s].start, leaf.segments[s].length, help);
      else
        sums.add(leaf.segments[s].start, leaf.segments[s].length, help);
    watch = seen;
    return sums.total();
  } else {
    auto sum = fold.identity();
    for (int s = 0; s < leaf.count; ++s)
      for (Index i = 0; i < leaf.segments[s].length; ++i)
        sum = fold.combine(sum, fold.map(static_cast<typename LaneFold::Value>(leaf.segments[s].start[i]), 0));
    return sum;
  }
}

/// Whether the quick extremum of a leaf is certain.
template <template <class> class Watch, class LaneFold, class T>
bool leaf_quickly(const Leaf<T>& leaf, typename LaneFold::State& nearest) {
  Watch<typename LaneFold::Value> watch;
  nearest = leaf_lanes(Nearest<LaneFold>(), leaf, watch);
  return !any(watch.found()) && !Quick<LaneFold>::has_zero(nearest);
}

/// A leaf in one look, as lanes of states.
template <class LaneFold, class T>
typename LaneFold::State leaf_in_lanes(const LaneFold& lanes, const Leaf<T>& leaf) {
  if constexpr (HasQuick<LaneFold>) {
    typename LaneFold::State nearest;
    const auto certain = [&] {
      if constexpr (kHasLines)
        if (leaf.is_waited_for) return leaf_quickly<SumWatch, LaneFold>(leaf, nearest);
      return leaf_quickly<NanWatch, LaneFold>(leaf, nearest);
    };
    if (certain()) return nearest;
  }
  NoWatch nothing;
  return leaf_lanes(lanes, leaf, nothing);
}

/// All lanes folded into one state, quickly where that is certain.
template <class NumberFold, class LaneFold>
typename NumberFold::State meet(const NumberFold& numbers, const LaneFold& lanes, typename LaneFold::State states) {
  if constexpr (HasQuick<LaneFold>) {
    const auto nearest = lane(fold_halves<kLanes<typename LaneFold::Value> / 2>(Nearest<LaneFold>(), states), 0);
    if (!any(unordered(states, states)) && nearest != 0) return nearest;
  }
  return fold_lanes(numbers, lanes, states);
}

/// A leaf in one look; `lanes` and `numbers` are the same fold.
template <class NumberFold, class LaneFold, class T>
typename NumberFold::State fold_leaf_once(const NumberFold& numbers, const LaneFold& lanes, const Leaf<T>& leaf) {
  if constexpr (kFoldsIntegers<NumberFold, T>) {
    typename NumberFold::State total = 0;
    for (int s = 0; s < leaf.count; ++s)
      total += fold_run_of_integers(numbers, leaf.segments[s].start, leaf.segments[s].length, leaf.is_far);
    return total;
  } else if constexpr (kIsIntegerExtremum<NumberFold>) {
    auto best = numbers.identity();
    for (int s = 0; s < leaf.count; ++s)
      best = numbers.combine(best,
                             extremum_of_run<NumberFold>(leaf.segments[s].start, leaf.segments[s].length, leaf.is_far));
    return best;
  } else {
    return meet(numbers, lanes, leaf_in_lanes(lanes, leaf));
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

/// Some elements, enough for a loop that the compiler makes lanes of.
template <Index kCount, class F, std::integral T, class A>
bool any_same(const T* x, A value) {
  T found = 0;
  for (Index i = 0; i < kCount; ++i) found |= static_cast<T>(F::same(static_cast<A>(x[i]), value));
  return found != 0;
}

/// Those of n elements that are not behind the last one that is the same as `value`, and a few: by groups that get
/// smaller, for one by one a group takes longer than all behind it.
template <class F, Index... kCounts, std::integral T, class A>
Index others_behind(const T* x, Index n, A value, std::integer_sequence<Index, kCounts...>) {
  const auto pass = [&]<Index kCount>(std::integral_constant<Index, kCount>) {
    while (n >= kCount && !any_same<kCount, F>(x + n - kCount, value)) n -= kCount;
  };
  (pass(std::integral_constant<Index, kCounts>()), ...);
  return n;
}

/// Which lanes are the same as `value`, a bit each.
template <class V>
[[gnu::always_inline]] inline std::uint64_t same_lanes(V here, ScalarOf<V> value) {
  const bool is_number = value == value;
  return bits_of(is_number ? equal(here, splat<V>(value)) : unordered(here, here));
}

/// The same of kGroups groups of lanes at once, for where the first or the last of them is cannot be predicted.
inline constexpr Index kSearchedGroups = 4;
template <Index kGroups, class T, class A>
[[gnu::always_inline]] inline std::uint64_t same_bits(const T* x, A value) {
  using V = LanesOf<A>;
  std::uint64_t bits = 0;
  for (Index k = 0; k < kGroups; ++k) bits |= same_lanes(load<V>(x + k * kLanes<V>), value) << (k * kLanes<V>);
  return bits;
}

/// The first i < n with x[i] the same as `value`: it is there.
template <class F, class T, class A>
[[gnu::flatten]] Index find_same(const T* x, Index n, A value) {
  Index i = 0;
  if constexpr (IsLanes<LanesOf<A>>) {
    constexpr Index kStep = kSearchedGroups * kLanes<LanesOf<A>>;
    for (; i + kStep <= n; i += kStep)
      if (const auto bits = same_bits<kSearchedGroups>(x + i, value); bits != 0) return i + std::countr_zero(bits);
    for (; i + kLanes<LanesOf<A>> <= n; i += kLanes<LanesOf<A>>)
      if (const auto bits = same_bits<1>(x + i, value); bits != 0) return i + std::countr_zero(bits);
    const int rest = static_cast<int>(n - i);
    return i + std::countr_zero(same_lanes(load_first(x + i, rest), value) & ((1u << rest) - 1));
  } else if constexpr (std::is_integral_v<T>) {
    return find_integer(x, n, static_cast<T>(value));
  } else {
    while (!F::same(static_cast<A>(x[i]), value)) ++i;
    return i;
  }
}

/// The last.
template <class F, class T, class A>
[[gnu::flatten]] Index find_last_same(const T* x, Index n, A value) {
  if constexpr (IsLanes<LanesOf<A>>) {
    constexpr Index kStep = kSearchedGroups * kLanes<LanesOf<A>>;
    for (; n >= kStep; n -= kStep)
      if (const auto bits = same_bits<kSearchedGroups>(x + n - kStep, value); bits != 0)
        return n - kStep + 63 - std::countl_zero(bits);
  } else if constexpr (std::is_integral_v<T>) {
    n = others_behind<F>(x, n, value, std::integer_sequence<Index, 256, 64, 16>());
  }
  do --n;
  while (!F::same(static_cast<A>(x[n]), value));
  return n;
}

/// What lies behind a segment that is searched, for a machine whose guesses end with it: memory would wait.
template <class T>
void ask_for_next(const T* x) {
  constexpr int kLines = 32;
  for (int line = 0; line < kLines; ++line) __builtin_prefetch(reinterpret_cast<const char*>(x) + line * 64, 0, 2);
}

/// argmax and argmin: a segment whose extremum is `value`; where it matters, the lowest index at which it stands.
template <template <class> class F, class A, class T>
typename F<A>::State arg_segment(const F<A>& fold, const typename Leaf<T>::Segment& segment, A value,
                                 typename F<A>::State best) {
  const Index last = segment.index + (segment.length - 1) * segment.weight;
  const Index lowest = segment.weight < 0 ? last : segment.index;
  if (F<A>::same(value, best.value) && lowest >= best.index) return best;
  if (fold.combine(best, {value, lowest}).index != lowest) return best;
  if (asks_from_far()) ask_for_next(segment.start + segment.length);
  const Index at = segment.weight < 0 ? find_last_same<F<A>>(segment.start, segment.length, value)
                                      : find_same<F<A>>(segment.start, segment.length, value);
  return fold.combine(best, {value, segment.index + at * segment.weight});
}

/// The same of a leaf: each segment's extremum first.
template <template <class> class F, class A, class T>
typename F<A>::State arg_leaf(const F<A>& fold, const Leaf<T>& leaf, typename F<A>::State best) {
  using Lanes = typename F<LanesOf<A>>::Values;
  Leaf<T> one;
  one.count = 1, one.is_far = leaf.is_far, one.is_waited_for = leaf.is_waited_for;
  for (int s = 0; s < leaf.count; ++s) {
    one.segments[0] = leaf.segments[s];
    best = arg_segment<F, A, T>(fold, leaf.segments[s], fold_leaf_once(typename F<A>::Values(), Lanes(), one), best);
  }
  return best;
}

}  // namespace ndfold::simd
