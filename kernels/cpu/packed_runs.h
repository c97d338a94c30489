// Runs of fewer elements than lanes, one behind the other: a vector is shared by several, each in a slot of it.
#pragma once
#include "kernels/cpu/leaf.h"
#include "kernels/cpu/slots.h"

namespace ndfold::simd {

/// Lane i belongs to run kFirst + i / kSlots.
template <int kSlots, int kFirst>
struct RunOf {
  constexpr int operator()(int i) const { return kFirst + i / kSlots; }
};

/// kSlots vectors of runs that lie one behind the other, each run in a slot.
template <int kSlots, class V>
class PackedRuns {
  static constexpr int kWidth = kLanes<V>, kRuns = kWidth / kSlots;
  using A = ScalarOf<V>;

 public:
  /// Runs of any length that a slot holds, where lanes can be spread; of kSlots elsewhere.
  static constexpr bool kAnyLength = kExpandsLanes<A>;

  explicit PackedRuns(int length) : length_(length), filled_(filled_slots<kSlots, A>(length)) {}

  template <class T>
  void load(const T* x, V* to) const {
    const int step = kRuns * length_;
    unrolled<kSlots>([&](auto i) {
      prefetch(x + i * step);
      to[i] = vector(x, i * step, kSlots * step);
    });
  }

  /// `state` in the slots' lanes that hold elements, `other` in the rest.
  template <class State>
  State only_filled(State state, State other) const {
    if constexpr (kAnyLength)
      return select_state(filled_, state, other);
    else
      return state;
  }

  /// Sections come out with run k of vector j in lane j + k · kSlots.
  template <class State>
  static State in_order(State state) {
    return each_field([](auto v) { return shuffled(v, v, InOrder<kSlots, kWidth>()); }, state);
  }

  /// fold_of(j) folds the elements of vector j.
  template <class LaneFold, class FoldOf>
  typename LaneFold::State folded(const LaneFold& fold, const FoldOf& fold_of, const V* x) const {
    typename LaneFold::State some[kSlots];
    unrolled<kSlots>([&](auto j) { some[j] = only_filled(fold_of(j).map(x[j], 0), fold.identity()); });
    return in_order(fold_sections<kSlots>(fold, some));
  }

 private:
  // The vector whose runs begin at `at`, of `end` elements in all.
  template <class T>
  V vector(const T* x, int at, int end) const {
    if constexpr (kAnyLength)
      if (length_ < kSlots)
        return expand<kSlots>(at + kWidth <= end ? simd::load<V>(x + at) : load_first(x + at, kRuns * length_),
                              length_);
    (void)end;
    return simd::load<V>(x + at);
  }

  int length_;
  Mask<A> filled_;
};

/// The states of the runs from `x` on; `again(fold)` makes them by one that knows NaNs.
template <int kSlots, class LaneFold, class T, class Again>
typename LaneFold::State fold_packed(const LaneFold& fold, const PackedRuns<kSlots, typename LaneFold::Value>& runs,
                                     const T* x, int length, const Again& again) {
  using V = typename LaneFold::Value;
  constexpr int kRuns = kLanes<V> / kSlots;
  V here[kSlots];
  runs.load(x, here);
  if constexpr (PivotFold<LaneFold>) {
    const auto pivot_fold = fold.pivot_fold();
    const V totals = runs.folded(
        pivot_fold, [&](auto) { return pivot_fold; }, here);
    const V pivots = fold.pivot(totals, length);
    const auto around = [&](auto j) {
      return fold.around(shuffled(pivots, pivots, RunOf<kSlots, j * kRuns>()), length);
    };
    return fold.join(totals, pivots, runs.folded(fold.around(pivots, length), around, here), length);
  } else {
    if constexpr (HasQuick<LaneFold>) {
      NanWatch<V> watch;
      for (const V& one : here) watch.see(one);
      const Nearest<LaneFold> nearest;
      const V all = runs.folded(
          nearest, [&](auto) { return nearest; }, here);
      if (!any(watch.found()) && !Quick<LaneFold>::has_zero(all)) return all;
    }
    if constexpr (AsksPlaces<LaneFold>) {
      NanWatch<V> watch;
      for (const V& one : here) watch.see(one);
      if (any(watch.found())) return again(fold.with_nan());
      const auto placed = fold.template in_slots<kSlots>();
      return runs.folded(
          placed, [&](auto) { return placed; }, here);
    } else {
      return runs.folded(
          fold, [&](auto) { return fold; }, here);
    }
  }
}

}  // namespace ndfold::simd
