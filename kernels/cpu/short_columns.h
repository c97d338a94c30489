// Columns of few rows: folded in registers, line after line, for all lines whose results follow one another. By
// leaves (column_leaf.h) a line of [N,2,4096] f32 took four times as long, one of [N,2,3] a hundred times.
#pragma once
#include "kernels/cpu/arg_columns.h"
#include "kernels/cpu/column_leaf.h"
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/short_results.h"

namespace ndfold::simd {

/// Where the rows of every line are, from its first column on.
struct RowPlaces {
  static constexpr int kMost = static_cast<int>(kLeafRows);

  explicit RowPlaces(AxisList reduced) : count(static_cast<int>(elements(reduced))) {
    Odometer rows(reduced);
    for (int r = 0; r < count; ++r, rows.next()) at[r] = rows.in(), index[r] = rows.out();
  }

  int count;
  Index at[kMost];     // elements
  Index index[kMost];  // argmax, argmin: row-major index
};

/// Groups of lanes that are folded at once: two lines of memory of each row. Of one alone, or of four, a Zen 5 reads 25
/// to 30 GB/s where it reads 45 so.
template <class V>
inline constexpr int kShortGroups = kRegisterBytes < 64 ? 1 : 2;

/// Some columns of all rows as lanes. kWhole: as many as there are; else the first `columns`, and 0 beyond them.
template <class V, class T, bool kWhole>
struct ShortLanes {
  static constexpr Index kAhead = 1 << 10;  // bytes

  const T* first;
  const RowPlaces& rows;
  int columns = 0;

  [[gnu::always_inline]] V operator()(int r, int group) const {
    const T* const row = first + rows.at[r] + group * kLanes<V>;
    V here;
    if constexpr (kWhole)
      here = load<V>(row);
    else
      here = load_first(row, columns);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(row) + kAhead);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // in memory's order, which is taken for a stream
    return here;
  }
  /// The lanes that count.
  Mask<ScalarOf<V>> mine() const { return first_lanes<ScalarOf<V>>(kWhole ? int{kLanes<V>} : columns); }
};

/// One for each of some groups.
template <class Item, int kGroups>
struct OfGroups {
  Item of[kGroups];
};

/// Some rows from r on, pairwise.
template <int kGroups, class FoldOf, class RowAt, int... K>
[[gnu::always_inline]] inline auto fold_short_rows(const FoldOf& fold_of, const RowAt& at, int r,
                                                   std::integer_sequence<int, K...>) {
  using V = typename std::decay_t<decltype(fold_of(0))>::Value;
  using State = typename std::decay_t<decltype(fold_of(0))>::State;
  V here[sizeof...(K)][kGroups];
  const auto get = [&](int k) __attribute__((always_inline)) {
    for (int g = 0; g < kGroups; ++g) here[k][g] = at(r + k, g);
  };
  (get(K), ...);
  OfGroups<State, kGroups> all;
  for (int g = 0; g < kGroups; ++g) {
    const auto fold = fold_of(g);
    State some[] = {fold.map(here[K][g], 0)...};
    meet_by_halves(some, [&](State a, State b) { return fold.combine(a, b); });
    all.of[g] = some[0];
  }
  return all;
}

/// All rows of some groups, in the order of a leaf's: `fold_of` may differ from group to group.
template <int kGroups, class FoldOf, class RowAt>
[[gnu::always_inline]] inline auto fold_short(const FoldOf& fold_of, int count, const RowAt& at) {
  using State = typename std::decay_t<decltype(fold_of(0))>::State;
  OfGroups<State, kGroups> all;
  each_rows<kRowsAtOnce>(
      count, true, [&](auto first, int r, auto which) __attribute__((always_inline)) {
        const auto some = fold_short_rows<kGroups>(fold_of, at, r, which);
        for (int g = 0; g < kGroups; ++g) {
          State state = some.of[g];
          if constexpr (!first()) state = fold_of(g).combine(all.of[g], state);
          all.of[g] = state;
        }
      });
  return all;
}

/// logsumexp around 0, and in which lanes that was right.
template <int kGroups>
struct ShortRaised {
  OfGroups<MaxAndSum<Lanes<float>>, kGroups> states;
  OfGroups<Mask<float>, kGroups> tame;

  bool are_right() const {
    Mask<float> all = tame.of[0];
    for (int g = 1; g < kGroups; ++g) all = both(all, tame.of[g]);
    return are_all(all);
  }
  /// The others' lanes come from `exact`: a column is what it is alone, whatever its neighbours are.
  void correct(const OfGroups<MaxAndSum<Lanes<float>>, kGroups>& exact) {
    for (int g = 0; g < kGroups; ++g) {
      MaxAndSum<Lanes<float>>& state = states.of[g];
      state.max = select(tame.of[g], state.max, exact.of[g].max);
      state.sum = select(tame.of[g], state.sum, exact.of[g].sum);
    }
  }
};

template <int kGroups, class RowAt>
[[gnu::always_inline]] inline ShortRaised<kGroups> short_raised(Lanes<float> scale, int count, const RowAt& at) {
  RaisedSum<Lanes<float>> fold;
  fold.scale = scale;
  const auto sums = fold_short<kGroups>([&](int) { return fold; }, count, at);
  const TameSums is_tame(1, count);
  ShortRaised<kGroups> raised;
  for (int g = 0; g < kGroups; ++g) {
    const auto logarithm = TameSums::logarithm(sums.of[g]);
    raised.states.of[g] = {logarithm.shift + logarithm.rest, splat<Lanes<float>>(1)};
    raised.tame.of[g] = is_tame(sums.of[g]);
  }
  return raised;
}

/// In two looks: around what the first one found.
template <int kGroups, class LaneFold, class RowAt>
[[gnu::always_inline]] inline OfGroups<typename LaneFold::State, kGroups> short_around(const LaneFold& lanes, int count,
                                                                                       const RowAt& at) {
  OfGroups<typename LaneFold::Value, kGroups> pivots;
  OfGroups<typename LaneFold::State, kGroups> states;
  const auto totals = fold_short<kGroups>([&](int) { return lanes.pivot_fold(); }, count, at);
  for (int g = 0; g < kGroups; ++g) pivots.of[g] = lanes.pivot(totals.of[g], count);
  const auto around = fold_short<kGroups>([&](int g) { return lanes.around(pivots.of[g], count); }, count, at);
  for (int g = 0; g < kGroups; ++g) states.of[g] = lanes.join(totals.of[g], pivots.of[g], around.of[g], count);
  return states;
}

/// The states of some groups.
template <int kGroups, class LaneFold, class RowAt>
[[gnu::always_inline]] inline OfGroups<typename LaneFold::State, kGroups> short_states(const LaneFold& lanes, int count,
                                                                                       const RowAt& at) {
  using V = typename LaneFold::Value;
  const auto exact = [&](int) { return lanes; };
  if constexpr (std::is_same_v<LaneFold, LogSumExp<Lanes<float>>>) {
    auto raised = short_raised<kGroups>(lanes.scale, count, at);
    if (!raised.are_right()) raised.correct(short_around<kGroups>(lanes, count, at));
    return raised.states;
  } else if constexpr (PivotFold<LaneFold>) {
    return short_around<kGroups>(lanes, count, at);
  } else if constexpr (HasQuick<LaneFold>) {
    NanWatch<V> watch;
    const auto watched = [&](int r, int g) __attribute__((always_inline)) {
      const V here = at(r, g);
      watch.see(here);
      return here;
    };
    const auto best = fold_short<kGroups>([](int) { return Nearest<LaneFold>(); }, count, watched);
    auto uncertain = watch.found();
    for (int g = 0; g < kGroups; ++g)
      uncertain = either(uncertain, equal(select(at.mine(), best.of[g], splat<V>(1)), splat<V>(0)));
    return any(uncertain) ? fold_short<kGroups>(exact, count, at) : best;
  } else {
    return fold_short<kGroups>(exact, count, at);
  }
}

/// argmax, argmin: the best and its row in lanes; exactly, one by one, where there is a NaN. Of equals the first row
/// wins, or with kLast the last.
template <class Fold, bool kLast, class V, class RowAt>
[[gnu::always_inline]] inline void short_best(const Fold& fold, const RowAt& at, int group, typename Fold::State* to) {
  using A = ScalarOf<V>;
  V best = at(0, group), place = splat<V>(0);
  NanWatch<V> watch;
  watch.see(best);
  for (int r = 1; r < at.rows.count; ++r) {
    const V here = at(r, group);
    watch.see(here);
    take_better<typename Fold::Values, kLast>(here, splat<V>(static_cast<A>(r)), best, place);
  }
  A values[kLanes<V>], places[kLanes<V>];
  store(values, best), store(places, place);
  for (Index l = 0; l < kLanes<V>; ++l) to[l] = {values[l], at.rows.index[static_cast<int>(places[l])]};
  if (!any(watch.found())) return;
  std::fill_n(to, kLanes<V>, fold.identity());
  for (int r = 0; r < at.rows.count; ++r) {
    store(values, at(r, group));
    for (Index l = 0; l < kLanes<V>; ++l) to[l] = fold.combine(to[l], fold.map(values[l], at.rows.index[r]));
  }
}

/// Calls take(at, first, count, back) with the groups of a line in turn, `count` columns of the last of them: those of
/// its last lanes, of which the others, `back`, were taken before, or of the first where a line has no more.
template <class V, class T, class Take>
[[gnu::always_inline]] inline void each_short_group(const T* line, const RowPlaces& rows, Index columns,
                                                    const Take& take) {
  constexpr Index kWidth = kLanes<V>, kTaken = kShortGroups<V> * kWidth;
  using Many = std::integral_constant<int, kShortGroups<V>>;
  using One = std::integral_constant<int, 1>;
  if (columns < kWidth)
    return take(One(), ShortLanes<V, T, false>{line, rows, static_cast<int>(columns)}, Index{0}, columns, Index{0});
  Index c = 0;
  for (; c + kTaken <= columns; c += kTaken) take(Many(), ShortLanes<V, T, true>{line + c, rows}, c, kWidth, Index{0});
  for (; c < columns; c += kWidth) {
    const Index count = std::min(columns - c, kWidth), back = kWidth - count;
    take(One(), ShortLanes<V, T, true>{line + c - back, rows}, c, count, back);
  }
}

/// Lines whose results lie one after the other: `columns` of each.
template <class T>
struct ShortLines {
  const T* first;
  Index count, pitch, columns;
};

/// Lines whose results are made in lanes, and stored as Output.
template <class Output, class LaneFold, class T, class Results>
[[gnu::noinline]] void put_short_lanes(const LaneFold& lanes, const ShortLines<T>& lines, const RowPlaces& rows,
                                       Results& results) {
  using V = typename LaneFold::Value;
  constexpr Index kWidth = kLanes<V>;
  Output* to = results.template place<Output>();
  for (Index i = 0; i < lines.count; ++i, to += lines.columns) {
    const bool stream_all = std::is_same_v<Output, ScalarOf<V>> && results.streams(to);
    each_short_group<V>(
        lines.first + i * lines.pitch, rows,
        lines.columns, [&](auto many, const auto& at, Index c, Index count, Index back) __attribute__((always_inline)) {
          const auto states = short_states<many()>(lanes, rows.count, at);
          for (int g = 0; g < many(); ++g) {
            const V result = in_lanes(lanes, states.of[g], Index{rows.count});
            Output* const here = to + c + g * kWidth - back;
            if (count < kWidth && back == 0) {
              store_elements(here, result, static_cast<int>(count));
              continue;
            }
            if constexpr (std::is_same_v<Output, ScalarOf<V>>)
              if (stream_all && back == 0) {
                stream(here, result);
                continue;
              }
            store_elements(here, result);
          }
        });
  }
  results.template advance_by<Output>(lines.count * lines.columns);
}

/// Lines whose states become numbers.
template <template <class> class F, class A, bool kLast, class T>
[[gnu::noinline]] void put_short_numbers(const F<A>& fold, const F<LanesOf<A>>& lanes, const ShortLines<T>& lines,
                                         const RowPlaces& rows, ShortResults<F<A>>& results) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  for (Index i = 0; i < lines.count; ++i)
    each_short_group<V>(
        lines.first + i * lines.pitch, rows,
        lines.columns, [&](auto many, const auto& at, Index, Index count, Index back) __attribute__((always_inline)) {
          typename F<A>::State numbers[many() * kWidth];
          if constexpr (requires { typename F<A>::Values; }) {
            for (int g = 0; g < many(); ++g) short_best<F<A>, kLast, V>(fold, at, g, numbers + g * kWidth);
          } else {
            const auto states = short_states<many()>(lanes, rows.count, at);
            for (int g = 0; g < many(); ++g) spread<A>(states.of[g], numbers + g * kWidth);
          }
          results.put(numbers + back, (many() - 1) * kWidth + count);
        });
}

template <template <class> class F, class A, bool kLast, class T>
void fold_short_lines(const F<A>& fold, const F<LanesOf<A>>& lanes, const ShortLines<T>& lines, const RowPlaces& rows,
                      ShortResults<F<A>>& results) {
  using V = LanesOf<A>;
  if constexpr (kEndsInLanes<F, V>) {
    if (results.template takes<A>()) return put_short_lanes<A>(lanes, lines, rows, results);
    if constexpr (sizeof(T) == 2 && requires(T * to, V x) { store_elements(to, x, 0); })
      if (results.template takes<T>()) return put_short_lanes<T>(lanes, lines, rows, results);
  }
  put_short_numbers<F, A, kLast>(fold, lanes, lines, rows, results);
}

/// Blocks: panels of lines, as in ColumnBlock.
template <template <class> class F, class A, class T, bool kLast>
[[gnu::noinline]] void fold_short_columns(const Arguments& step, Index first, Index last) {
  const FoldParameters parameters{.scale = step.scale, .ddof = step.ddof};
  const auto fold = make_fold<F<A>>(parameters);
  const auto lanes = make_fold<F<LanesOf<A>>>(parameters);
  const RowPlaces rows(step.reduced);
  const Axis column = inner(step.kept);
  const Index panels = (column.size + step.panel - 1) / step.panel;
  ShortResults<F<A>> results(step, fold);
  const auto take = [&](Index in, Index out, Index number, Index count, Index pitch, Index columns) {
    results.move_to(out, number);
    const auto* const at = reinterpret_cast<const T*>(advance(step.in, step.input, in));
    fold_short_lines<F, A, kLast>(fold, lanes, ShortLines<T>{at, count, pitch, columns}, rows, results);
  };
  Stretches lines(outer(step.kept), first / panels);
  const bool follow = panels == 1 && lines.run().out == column.size * column.out;
  for (Index at = first; at < last;) {
    const Index line = at / panels, panel = at % panels, begin = panel * step.panel;
    const Index taken = std::min(last - at, panels - panel);
    const auto stretch = lines.next(follow ? last - at : 1);
    take(stretch.in + begin, stretch.out + begin * column.out, line * column.size + begin, stretch.count,
         lines.run().in, std::min(taken * step.panel, column.size - begin));
    at += follow ? stretch.count : taken;
  }
}

/// Rows that are read as soon by leaves are left to them: f32 [N,10,128] at 39 GB/s with AVX2, 26 so; [N,10,4096] 27
/// and 43, [N,2,80] 6 and 30.
inline Index most_short_rows(Index columns) {
  constexpr Index kFewRows = 16, kFewRowsOfFewRegisters = 4, kNarrow = 32, kWide = 1024;
  if (columns <= kNarrow) return RowPlaces::kMost;
  return kRegisterBytes < 64 && columns < kWide ? kFewRowsOfFewRegisters : kFewRows;
}

/// The same, where columns are short, lie side by side and are whole.
template <template <class> class F, class A, Loading kLoading, class T>
bool fold_if_short(const Arguments& step, Index first, Index last) {
  if constexpr (IsLanes<LanesOf<A>> && requires(const T* x) { load<LanesOf<A>>(x); }) {
    if (step.kept.rank == 0 || step.parts != 1 || !ColumnRows<T, kLoading>::is_direct(step)) return false;
    const Index count = elements(step.reduced);
    if (count < 1 || count > most_short_rows(inner(step.kept).size)) return false;
    if constexpr (requires { typename F<A>::Values; }) {
      const IndexOrder order = index_order(step.reduced);
      if (order == IndexOrder::mixed) return false;
      if (order == IndexOrder::descending) return fold_short_columns<F, A, T, true>(step, first, last), true;
    }
    fold_short_columns<F, A, T, false>(step, first, last);
    return true;
  } else {
    return false;
  }
}

}  // namespace ndfold::simd
