// Short runs: one of each of as many outputs as there are lanes, folded together and then all across at once. A row of
// such states is to the outputs what a row of elements is to columns.
#pragma once
#include "kernels/cpu/leaf.h"

namespace ndfold::simd {

/// Runs of fewer vectors than this are folded by two accumulators. One run after the other, always: in any other order
/// memory is slower ([131072,64] f64: 1.87 ms, 2.07 two by two).
inline constexpr Index kLongRunVectors = 16;

/// As many runs as there are lanes: at a pitch, or wherever they are. A list of them costs memory some of its time:
/// [262144,64] f32 took 1.77 ms, and 1.91 with one.
template <class T>
struct PitchedRuns {
  const T* first;
  Index pitch;
  const T* operator()(int i) const { return first + i * pitch; }
};
template <class T>
struct ListedRuns {
  const T* const* runs;
  Index offset;
  const T* operator()(int i) const { return runs[i] + offset; }
};

/// What is folded of each, and how far from it lines are asked for.
struct RunLength {
  Index length, ahead;
};

/// states[i] = run i, as lanes of states.
template <bool kLong, class FoldOf, class State, class Runs, class Watch>
[[gnu::always_inline]] inline void fold_runs(const FoldOf& fold_of, const Runs& runs, RunLength run, State* states,
                                             Watch& watch) {
  using LaneFold = std::decay_t<decltype(fold_of(0))>;
  const Index ahead = kLooksAgain<LaneFold> ? 2 * run.ahead : run.ahead;
  for (int i = 0; i < kLanes<typename LaneFold::Value>; ++i) {
    const LaneFold fold = fold_of(i);
    Accumulators<LaneFold, Watch, kLong ? 8 : 2> sums(fold, watch);
    sums.add(runs(i), run.length, ahead);
    states[i] = sums.total();
  }
}

/// The states of kLanes runs: lane i is run i's.
template <bool kLong, class LaneFold, class Runs>
typename LaneFold::State fold_group(const LaneFold& fold, const Runs& runs, RunLength run) {
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>;
  NoWatch nothing;
  if constexpr (PivotFold<LaneFold>) {
    const Index n = run.length;
    const V totals = fold_group<kLong>(fold.pivot_fold(), runs, run), pivots = fold.pivot(totals, n);
    ScalarOf<V> pivot[kWidth];
    store(pivot, pivots);
    V around[kWidth];
    fold_runs<kLong>([&](int i) { return fold.around(splat<V>(pivot[i]), n); }, runs, run, around, nothing);
    return fold.join(totals, pivots, fold_sections<kWidth>(fold.around(pivots, n), around), n);
  } else {
    if constexpr (HasQuick<LaneFold>) {
      V best[kWidth];
      NanWatch<V> watch;
      fold_runs<kLong>([](int) { return Nearest<LaneFold>(); }, runs, run, best, watch);
      const V all = fold_sections<kWidth>(Nearest<LaneFold>(), best);
      if (!any(watch.found) && !Quick<LaneFold>::has_zero(all)) return all;
    }
    typename LaneFold::State states[kWidth];
    fold_runs<kLong>([&](int) { return fold; }, runs, run, states, nothing);
    return fold_sections<kWidth>(fold, states);
  }
}

/// Lane i belongs to run kFirst + i / kLength.
template <int kLength, int kFirst>
struct RunOf {
  constexpr int operator()(int i) const { return kFirst + i / kLength; }
};

/// Runs of kLength elements, a power of two below kLanes, one behind the other from `x` on: whole vectors of them.
template <int kLength, class LaneFold, class T>
typename LaneFold::State fold_packed(const LaneFold& fold, const T* x) {
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>, kRuns = kWidth / kLength;  // runs of a vector
  // Sections come out with run k of vector j in lane j + k · kLength.
  struct InOrder {
    constexpr int operator()(int i) const { return i / kRuns + i % kRuns * kLength; }
  };
  const auto in_order = [](auto state) { return each_field([](auto v) { return shuffled(v, v, InOrder()); }, state); };
  V here[kLength];
  for (int j = 0; j < kLength; ++j) prefetch(x + j * kWidth), here[j] = load<V>(x + j * kWidth);
  if constexpr (PivotFold<LaneFold>) {
    const auto pivot_fold = fold.pivot_fold();
    V some[kLength];
    for (int j = 0; j < kLength; ++j) some[j] = pivot_fold.map(here[j], 0);
    const V totals = in_order(fold_sections<kLength>(pivot_fold, some)), pivots = fold.pivot(totals, kLength);
    [&]<int... J>(std::integer_sequence<int, J...>) {
      ((some[J] = fold.around(shuffled(pivots, pivots, RunOf<kLength, J * kRuns>()), kLength).map(here[J], 0)), ...);
    }
    (std::make_integer_sequence<int, kLength>());
    return fold.join(totals, pivots, in_order(fold_sections<kLength>(fold.around(pivots, kLength), some)), kLength);
  } else {
    if constexpr (HasQuick<LaneFold>) {
      V best[kLength];
      NanWatch<V> watch;
      for (int j = 0; j < kLength; j += 2) watch.see(here[j], here[j + 1]);
      for (int j = 0; j < kLength; ++j) best[j] = Quick<LaneFold>::map(here[j]);
      const V all = fold_sections<kLength>(Nearest<LaneFold>(), best);
      if (!any(watch.found) && !Quick<LaneFold>::has_zero(all)) return in_order(all);
    }
    typename LaneFold::State some[kLength];
    for (int j = 0; j < kLength; ++j) some[j] = fold.map(here[j], 0);
    return in_order(fold_sections<kLength>(fold, some));
  }
}

/// Groups of runs of `length` elements, kLanes to a group; row r of them is offsets[r] further on.
template <class T>
struct Bundle {
  const T* first;
  Index pitch;    ///< from one run to the next
  Index pitched;  ///< in so many groups; those of the others are listed
  const T* const* listed;
  Index groups;
  Index length;
  Index ahead;  ///< elements from a run to the one that is asked for while it is folded
  const Index* offsets;
  int rows;

  template <int kWidth>
  const T* run(Index i) const {
    return i < pitched * kWidth ? first + i * pitch : listed[i - pitched * kWidth];
  }
};

/// kPacked: the length of runs that may lie one behind the other, or 0.
template <bool kLong, int kPacked, class LaneFold, class T>
[[gnu::flatten, gnu::noinline]] void fold_groups_by(const LaneFold& fold, const Bundle<T>& bundle,
                                                    typename LaneFold::State* to) {
  constexpr int kWidth = kLanes<typename LaneFold::Value>;
  const RunLength run{bundle.length, bundle.ahead};
  for (int r = 0; r < bundle.rows; ++r) {
    const Index offset = bundle.offsets[r];
    const auto take = [&](Index g, typename LaneFold::State state) {
      to[g] = r == 0 ? state : fold.combine(to[g], state);
    };
    const T* first = bundle.first + offset;
    Index g = 0;
    for (; g < bundle.pitched; ++g, first += kWidth * bundle.pitch)
      if constexpr (kPacked > 0)
        take(g, fold_packed<kPacked>(fold, first));
      else
        take(g, fold_group<kLong>(fold, PitchedRuns<T>{first, bundle.pitch}, run));
    for (; g < bundle.groups; ++g)
      take(g, fold_group<kLong>(fold, ListedRuns<T>{bundle.listed + (g - bundle.pitched) * kWidth, offset}, run));
  }
}

/// to[g] = the states of group g, its rows one after the other.
template <class LaneFold, class T>
void fold_groups(const LaneFold& fold, const Bundle<T>& bundle, typename LaneFold::State* to) {
  constexpr int kWidth = kLanes<typename LaneFold::Value>;
  const Index n = bundle.length;
  if (n == bundle.pitch) {
    if constexpr (kWidth > 2)
      if (n == 2) return fold_groups_by<false, 2>(fold, bundle, to);
    if constexpr (kWidth > 4)
      if (n == 4) return fold_groups_by<false, 4>(fold, bundle, to);
    if constexpr (kWidth > 8)
      if (n == 8) return fold_groups_by<false, 8>(fold, bundle, to);
  }
  if (n >= kLongRunVectors * kWidth) return fold_groups_by<true, 0>(fold, bundle, to);
  return fold_groups_by<false, 0>(fold, bundle, to);
}

}  // namespace ndfold::simd
