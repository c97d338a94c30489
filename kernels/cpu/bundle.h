// Short runs: one of each of as many outputs as there are lanes, folded together and then all across at once. A row of
// such states is to the outputs what a row of elements is to columns.
#pragma once
#include "kernels/cpu/packed_runs.h"

namespace ndfold::simd {

/// Runs of fewer vectors than this are folded by two accumulators; where a Zen 5 waits for memory, of more: what begins
/// and ends eight costs more than it hides (sums of rows of 508 and 1000 f32 42 and 46 GB/s, 50 and 53 so). One run
/// after the other, always: in any other order memory is slower ([131072,64] f64: 1.87 ms, 2.07 two by two).
inline constexpr Index kLongRunVectors = 16, kLongFarRunVectors = 64;

/// As many runs as there are lanes at a pitch, or some wherever they are. A list of them costs memory some of its time:
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
  int count;
  const T* operator()(int i) const { return runs[i] + offset; }
};

template <class Runs>
inline constexpr bool kArePitched = false;
template <class T>
inline constexpr bool kArePitched<PitchedRuns<T>> = true;

template <int kWidth, class T>
constexpr int count_of(const PitchedRuns<T>&) {
  return kWidth;
}
template <int kWidth, class T>
int count_of(const ListedRuns<T>& runs) {
  return runs.count;
}

/// What is folded of each, and what helps.
struct RunLength {
  Index length;
  Help help;
};

/// A run of a vector and `rest` elements, in the order of two accumulators: whatever all such runs need is made once.
template <class LaneFold, class T, class Watch>
[[gnu::always_inline]] inline typename LaneFold::State fold_two_vectors(const LaneFold& fold, const T* x, int rest,
                                                                        Watch& watch) {
  using V = typename LaneFold::Value;
  const V here = load<V>(x), last = load_first(x + kLanes<V>, rest);
  watch.see(here, last);
  const auto in_run = select_state(first_lanes<ScalarOf<V>>(rest), fold.map(last, 0), fold.identity());
  return fold.combine(fold.combine(fold.identity(), fold.map(here, 0)), fold.combine(fold.identity(), in_run));
}

/// states[i] = run i, as lanes of states; where there are fewer runs, the last one's.
template <bool kLong, class FoldOf, class State, class Runs, class Watch>
[[gnu::always_inline]] inline void fold_runs(const FoldOf& fold_of, const Runs& runs, RunLength run, State* states,
                                             Watch& watch) {
  using LaneFold = std::decay_t<decltype(fold_of(0))>;
  const Help help = kLooksAgain<LaneFold> ? Help{.ahead = 2 * run.help.ahead} : run.help;
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>;
  const int count = count_of<kWidth>(runs), rest = static_cast<int>(run.length - kWidth);
  constexpr bool kInTurn = !std::is_same_v<Watch, NoWatch> && !(kLong && std::is_same_v<Watch, SumWatch<V>>);
  State last = fold_of(0).identity();
  int i = 0;
  if constexpr (!kLong && !AsksPlaces<LaneFold>)
    if (0 < rest && rest < kWidth && help.ahead == 0)
      for (; i < count; ++i) last = states[i] = fold_two_vectors(fold_of(i), runs(i), rest, watch);
  for (; i < count; ++i) {
    const LaneFold fold = fold_of(i);
    Accumulators<LaneFold, Watch, kLong ? 8 : 2, kInTurn> sums(fold, watch);
    sums.add(runs(i), run.length, help);
    last = states[i] = sums.total();
  }
  for (; i < kWidth; ++i) states[i] = last;
}

/// All lines of as many runs as there are lanes, `ahead` elements further on: each once, in the order of memory.
template <int kWidth, class T>
[[gnu::always_inline]] inline void ask_for_runs(const PitchedRuns<T>& runs, Index ahead) {
  const T *next = runs(0) + ahead, *last = runs(kWidth) + ahead;
  for (; next < last; next += 64 / sizeof(T)) __builtin_prefetch(next);
}

/// Whether runs lie one behind the other and have a vector and some elements each.
template <class V, class Runs>
bool are_two_vectors(const Runs& runs, Index length) {
  if constexpr (kArePitched<Runs>) return kLanes<V> < length && length < 2 * kLanes<V> && runs.pitch == length;
  return false;
}

/// The states of such runs, which never leave the registers: on the stack some would lie at the same place of a page as
/// elements that come, and those wait for what was not folded yet (sums of rows of 17 f32 on a Zen 5, from memory and
/// from the second cache: 31 and 33 GB/s, 46 and 68 so).
template <class LaneFold, class T, class Watch>
[[gnu::always_inline]] inline typename LaneFold::State fold_two_vectors_each(const LaneFold& fold,
                                                                             const PitchedRuns<T>& runs, RunLength run,
                                                                             Watch& watch) {
  constexpr int kWidth = kLanes<typename LaneFold::Value>;
  if (run.help.ahead != 0) ask_for_runs<kWidth>(runs, run.help.ahead);
  return fold_sections_of<1>(
      fold, [&](int i) __attribute__((always_inline)) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return fold_two_vectors(fold, runs(i), static_cast<int>(run.length) - kWidth, watch);
      });
}

template <bool kLong, template <class> class Watch = NanWatch, class LaneFold, class Runs>
typename LaneFold::State fold_group(const LaneFold& fold, const Runs& runs, RunLength run);

/// Few groups have a NaN: one function for all that have.
template <class LaneFold, class Runs>
[[gnu::noinline]] typename LaneFold::State fold_group_with_nan(const LaneFold& fold, const Runs& runs, RunLength run) {
  return fold_group<false>(fold, runs, run);
}

/// The states of up to kLanes runs: lane i is run i's.
template <bool kLong, template <class> class Watch, class LaneFold, class Runs>
typename LaneFold::State fold_group(const LaneFold& fold, const Runs& runs, RunLength run) {
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>;
  constexpr bool kMayBeShort = !kLong && !AsksPlaces<LaneFold> && kArePitched<Runs>;
  NoWatch nothing;
  if constexpr (PivotFold<LaneFold>) {
    const Index n = run.length;
    const V totals = fold_group<kLong, Watch>(fold.pivot_fold(), runs, run), pivots = fold.pivot(totals, n);
    ScalarOf<V> pivot[kWidth];
    store(pivot, pivots);
    V around[kWidth];
    fold_runs<kLong>([&](int i) { return fold.around(splat<V>(pivot[i]), n); }, runs, run, around, nothing);
    return fold.join(totals, pivots, fold_sections<kWidth>(fold.around(pivots, n), around), n);
  } else {
    if constexpr (HasQuick<LaneFold>) {
      V best[kWidth], all;
      Watch<V> watch;
      if (kMayBeShort && are_two_vectors<V>(runs, run.length)) {
        if constexpr (kMayBeShort) all = fold_two_vectors_each(Nearest<LaneFold>(), runs, run, watch);
      } else {
        fold_runs<kLong>([](int) { return Nearest<LaneFold>(); }, runs, run, best, watch);
        all = fold_sections<kWidth>(Nearest<LaneFold>(), best);
      }
      if (!any(watch.found()) && !Quick<LaneFold>::has_zero(all)) return all;
    }
    typename LaneFold::State states[kWidth];
    if constexpr (requires { fold.with_nan(); }) {
      Watch<V> watch;
      fold_runs<kLong>([&](int) { return fold; }, runs, run, states, watch);
      if (any(watch.found())) return fold_group_with_nan(fold.with_nan(), runs, run);
    } else {
      if constexpr (kMayBeShort)
        if (are_two_vectors<V>(runs, run.length)) return fold_two_vectors_each(fold, runs, run, nothing);
      fold_runs<kLong>([&](int) { return fold; }, runs, run, states, nothing);
    }
    const auto all = fold_sections<kWidth>(fold, states);
    if constexpr (AsksPlaces<LaneFold>)
      return fold.found(all);
    else
      return all;
  }
}

/// Groups of runs of `length` elements, kLanes to a group; row r of them is offsets[r] further on.
template <class T>
struct Bundle {
  const T* first;
  Index pitch;    ///< from one run to the next
  Index pitched;  ///< in so many groups; those of the others are listed
  const T* const* listed;
  Index others;  ///< that are listed
  Index groups;
  Index length;
  Help help;  ///< `ahead`: from a run to the one that is asked for while it is folded
  const Index* offsets;
  int rows;
  bool is_waited_for = false;                ///< memory waits for what is done with each line
  bool in_turns = false;                     ///< groups that lie apart are read in turns
  Index long_run_vectors = kLongRunVectors;  ///< of runs that eight accumulators fold

  template <int kWidth>
  const T* run(Index i) const {
    return i < pitched * kWidth ? first + i * pitch : listed[i - pitched * kWidth];
  }
};

/// Takes state g of `to`, or folds it with what is there.
template <class LaneFold>
struct Taking {
  const LaneFold& fold;
  typename LaneFold::State* to;
  bool first;
  void operator()(Index g, typename LaneFold::State state) const { to[g] = first ? state : fold.combine(to[g], state); }
};

}  // namespace ndfold::simd
