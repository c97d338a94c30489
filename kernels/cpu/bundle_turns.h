// Groups of a bundle, a few that lie apart at a time: a run of each in turn, long ones some vectors at a time.
#pragma once
#include "kernels/cpu/bundle.h"
#include "kernels/cpu/turns.h"

#include <cstdlib>

namespace ndfold::simd {

/// Groups of runs at one pitch.
template <class T>
struct GroupsInTurns {
  Starts<T> first;
  Index pitch, length;

  Starts<T> runs(Index i) const {
    return {first[0] + i * pitch, first[1] + i * pitch, first[2] + i * pitch, first[3] + i * pitch};
  }
};

template <class State, int kWidth>
using StatesOfGroups = std::array<std::array<State, kWidth>, kInTurns>;

/// states[s][i] = run i of group s, as fold_runs makes it.
template <bool kLong, class FoldOf, class T, class State, std::size_t kWidth, class Watch>
[[gnu::always_inline]] inline void fold_runs_in_turns(const FoldOf& fold_of, const GroupsInTurns<T>& groups,
                                                      std::array<std::array<State, kWidth>, kInTurns>& states,
                                                      Watch& watch) {
  using LaneFold = std::decay_t<decltype(fold_of(0, 0))>;
  using Sums = Accumulators<LaneFold, Watch, kLong ? 8 : 2, !std::is_same_v<Watch, NoWatch>>;
  for (std::size_t i = 0; i < kWidth; ++i) {
    const auto runs = groups.runs(static_cast<Index>(i));
    const auto each = [&]<std::size_t... S>(std::index_sequence<S...>) {
      std::array<Sums, kInTurns> sums = {Sums(fold_of(S, i), watch)...};
      if constexpr (kLong || AsksPlaces<LaneFold>)
        add_in_turns(sums, runs, groups.length);
      else
        (sums[S].add(runs[S], groups.length, Help{}), ...);
      ((states[S][i] = sums[S].total()), ...);
    };
    each(std::make_index_sequence<kInTurns>());
  }
}

/// Their states, as fold_group makes them; where lanes tell that they may not do, by itself.
template <bool kLong, class LaneFold, class T>
[[gnu::flatten, gnu::noinline]] std::array<typename LaneFold::State, kInTurns> fold_groups_in_turns(
    const LaneFold& fold, const GroupsInTurns<T>& groups) {
  using V = typename LaneFold::Value;
  using State = typename LaneFold::State;
  constexpr std::size_t kWidth = kLanes<V>;
  std::array<State, kInTurns> all;
  const auto across = [&](const auto& lanes, auto& states) {
    for (std::size_t s = 0; s < kInTurns; ++s) all[s] = fold_sections<kWidth>(lanes, states[s].data());
  };
  const auto one_by_one = [&](const auto& lanes) {
    for (std::size_t s = 0; s < kInTurns; ++s)
      all[s] = fold_group<kLong>(lanes, PitchedRuns<T>{groups.first[s], groups.pitch}, {groups.length, {}});
    return all;
  };
  NoWatch nothing;
  NanWatch<V> watch;
  if constexpr (PivotFold<LaneFold>) {
    const auto totals = fold_groups_in_turns<kLong>(fold.pivot_fold(), groups);
    std::array<std::array<ScalarOf<V>, kWidth>, kInTurns> pivots;
    for (std::size_t s = 0; s < kInTurns; ++s) store(pivots[s].data(), fold.pivot(totals[s], groups.length));
    StatesOfGroups<V, kWidth> around;
    fold_runs_in_turns<kLong>(
        [&](std::size_t s, std::size_t i) { return fold.around(splat<V>(pivots[s][i]), groups.length); }, groups,
        around, nothing);
    for (std::size_t s = 0; s < kInTurns; ++s) {
      const V pivot = load<V>(pivots[s].data());
      const V sums = fold_sections<kWidth>(fold.around(pivot, groups.length), around[s].data());
      all[s] = fold.join(totals[s], pivot, sums, groups.length);
    }
    return all;
  } else if constexpr (HasQuick<LaneFold>) {
    StatesOfGroups<V, kWidth> best;
    fold_runs_in_turns<kLong>([](std::size_t, std::size_t) { return Nearest<LaneFold>(); }, groups, best, watch);
    across(Nearest<LaneFold>(), best);
    auto uncertain = watch.found();
    for (const V& one : all) uncertain = either(uncertain, equal(one, splat<V>(0)));
    return any(uncertain) ? one_by_one(fold) : all;
  } else if constexpr (requires { fold.with_nan(); }) {
    StatesOfGroups<State, kWidth> states;
    fold_runs_in_turns<kLong>([&](std::size_t, std::size_t) { return fold; }, groups, states, watch);
    if (any(watch.found())) return one_by_one(fold);
    across(fold, states);
    for (State& state : all) state = fold.found(state);
    return all;
  } else {
    StatesOfGroups<State, kWidth> states;
    fold_runs_in_turns<kLong>([&](std::size_t, std::size_t) { return fold; }, groups, states, nothing);
    across(fold, states);
    return all;
  }
}

/// Whether a fourth of a bundle's groups is far from the next fourth.
template <Index kWidth, class T>
bool groups_lie_apart(const Bundle<T>& bundle) {
  return std::abs(bundle.pitched / kInTurns * kWidth * bundle.pitch) * Index{sizeof(T)} >= kLeastBytesApart;
}

/// Groups [g, bundle.pitched) of a row, as far as they come in fours; the first that is left.
template <bool kLong, class LaneFold, class T>
Index fold_pitched_groups_in_turns(const Taking<LaneFold>& take, const Bundle<T>& bundle, Index g, Index offset) {
  const Index each = (bundle.pitched - g) / kInTurns, group = kLanes<typename LaneFold::Value> * bundle.pitch;
  const T* first = bundle.first + offset + g * group;
  for (Index i = 0; i < each; ++i, first += group) {
    const GroupsInTurns<T> groups{
        {first, first + each * group, first + 2 * each * group, first + 3 * each * group}, bundle.pitch, bundle.length};
    const auto states = fold_groups_in_turns<kLong>(take.fold, groups);
    for (Index s = 0; s < kInTurns; ++s) take(g + s * each + i, states[static_cast<std::size_t>(s)]);
  }
  return g + kInTurns * each;
}

}  // namespace ndfold::simd
