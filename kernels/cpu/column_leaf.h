// A leaf of columns: a few rows folded side by side into an array of lane states.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/guessed_rows.h"
#include "kernels/cpu/leaf.h"
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/states.h"

#include <algorithm>

namespace ndfold::simd {

/// Where a column's state is: columns are dealt to groups of lanes from the left. The last group's lanes are the last
/// columns, some of them a second time, so that it is loaded and stored whole; a panel narrower than that is padded.
template <class V>
struct ColumnPlace {
  Index group, lane;

  static Index groups(Index columns) { return (columns + kLanes<V> - 1) / kLanes<V>; }
  static Index first(Index group, Index columns) {
    return std::min(group * kLanes<V>, std::max<Index>(columns - kLanes<V>, 0));
  }
  ColumnPlace(Index column, Index columns) : group(column / kLanes<V>), lane(column - first(group, columns)) {}
};

/// The lanes of a group; those beyond a narrow panel are 0.
template <class V, class T>
V load_columns(const T* row, Index group, Index columns) {
  if (columns >= kLanes<V>) return load<V>(row + ColumnPlace<V>::first(group, columns));
  if constexpr (IsLanes<V>)
    return load_first(row, static_cast<int>(columns));
  else
    return static_cast<V>(*row);
}

/// Machines follow a few streams by themselves, and better than when they are told what comes ([4096,4096] on a Zen 5:
/// 1.65 ms, 1.81 with prefetches), but for short rows ([262144,64]: 2.5 ms, 2.0 with).
inline constexpr Index kAskedRowBytes = 512;

/// Calls work(whether to ask for later rows) with an integral constant, for rows of so many bytes.
template <class Work>
void with_asking(Index bytes, const Work& work) {
  if (bytes <= kAskedRowBytes)
    work(std::true_type());
  else
    work(std::false_type());
}

/// Whether elements are made wider as they are loaded: several instructions a line.
template <class V, class Rows>
inline constexpr bool kAreConverted = sizeof(*std::declval<Rows>().row(0)) < sizeof(ScalarOf<V>);
/// Whether a fold itself takes as many.
template <class Fold>
inline constexpr bool kTakesLong = false;
template <class V>
inline constexpr bool kTakesLong<RaisedSum<V>> = true;
/// Whether a line takes more than a few instructions.
template <class V, class Rows, class Fold>
inline constexpr bool kHasLongLines = kAreConverted<V, Rows> || kTakesLong<Fold>;

/// Calls work(g) for each group, two at a time: memory likes two lines side by side better than one. If it is to, it
/// asks for both in kCount rows that come later first. Rows from far have a loop of their own, which asks for the next:
/// in cache the question alone cost a tenth. kIsLong: a line takes more than a few instructions.
template <int kCount, bool kAsk, Index kWidth, bool kIsLong, class Rows, class Work>
[[gnu::always_inline]] inline void each_together(const Rows& rows, int r, Index groups, const Work& work) {
  constexpr Index kTogether = 2, kBytes = kWidth * sizeof(*rows.row(0));
  if constexpr (kCount == kRowsAtOnce && !kAsk)
    if (kIsLong ? are_waited_for(rows) : are_guessed_from_far(rows))
      return with_nearest_cache([&](auto cache) {
        LinesOfRows<Rows, cache> next(rows, r + kCount, r + 2 * kCount, groups * kBytes);
        for (Index g = 0; g < groups; ++g) next.template ask<kCount * kBytes / 64>(), work(g);
      });
  Index g = 0;
  for (; g + kTogether <= groups; g += kTogether) {
    if constexpr (kAsk && requires { rows.coming(r); })
      for (int k = 0; k < kCount; ++k)
        for (Index t = 0; t < kTogether; ++t) __builtin_prefetch(rows.coming(r + k) + (g + t) * kWidth);
    for (Index t = 0; t < kTogether; ++t) work(g + t);
  }
  if (g < groups) work(g);
}

/// Calls work(whether they begin, r, integral constant of how many) for all of `count` rows: the first do, if `begins`.
/// kCount at a time, then kRest, then one.
template <int kCount, int kRest = kCount, class Work>
[[gnu::always_inline]] inline void each_rows(int count, bool begins, Work&& work) {
  using Many = std::make_integer_sequence<int, kCount>;
  using Rest = std::make_integer_sequence<int, kRest>;
  using One = std::make_integer_sequence<int, 1>;
  int r = 0;
  if (begins) {
    if (count >= kCount)
      work(std::true_type(), r, Many()), r += kCount;
    else if (count >= kRest)
      work(std::true_type(), r, Rest()), r += kRest;
    else
      work(std::true_type(), r++, One());
  }
  for (; r + kCount <= count; r += kCount) work(std::false_type(), r, Many());
  if (kRest < kCount)
    for (; r + kRest <= count; r += kRest) work(std::false_type(), r, Rest());
  for (; r < count; ++r) work(std::false_type(), r, One());
}

/// Calls work(integral constants: whether to ask for later rows; how many rows are read side by side) for rows of so
/// many bytes. kIsLong: a line takes more than a few instructions.
template <bool kIsLong, class Rows, class Work>
void with_reading(const Rows& rows, Index bytes, const Work& work) {
  with_asking(bytes, [&](auto ask) {
    if constexpr (!ask() && !kIsLong)
      if (come_in_fours(rows)) return work(ask, std::integral_constant<int, kRowsTogether>());
    work(ask, std::integral_constant<int, kRowsAtOnce>());
  });
}

/// Rows of integers, side by side: a loop that the compiler makes lanes of.
template <bool kFirst, class Fold, class State, class... Row>
[[gnu::always_inline]] inline void fold_numbers(const Fold& fold, Index columns, State* __restrict states,
                                                const Row* __restrict... row) {
  for (Index c = 0; c < columns; ++c) {
    State state = kFirst ? fold.identity() : states[c];
    ((state = fold.combine(state, fold.map(row[c], 0))), ...);
    states[c] = state;
  }
}

/// Line by line, while as many of the next rows are asked for.
template <bool kFirst, class Fold, class Rows, class State, int... K>
[[gnu::noinline]] void fold_numbers_from_far(const Fold& fold, const Rows& rows, int r, Index columns,
                                             State* __restrict states, std::integer_sequence<int, K...>) {
  constexpr Index kBytes = sizeof(*rows.row(0)), kLine = 64 / kBytes;
  constexpr int kCount = sizeof...(K);
  LinesOfRows<Rows> next(rows, r + kCount, r + 2 * kCount, columns * kBytes);
  Index done = 0;
  for (; done + kLine <= columns; done += kLine) {
    next.ask();
    fold_numbers<kFirst>(fold, kLine, states + done, (rows.row(r + K) + done)...);
  }
  fold_numbers<kFirst>(fold, columns - done, states + done, (rows.row(r + K) + done)...);
}

/// Each kTogether of them, or all, in the first place of these, pairwise.
template <std::size_t kTogether = ~std::size_t{}, std::size_t kCount, class State, class Combine>
[[gnu::always_inline]] inline void meet_by_halves(State (&some)[kCount], const Combine& combine) {
  constexpr std::size_t kSome = std::min(kTogether, kCount);
  for (std::size_t half = kSome / 2; half > 0; half /= 2)
    for (std::size_t first = 0; first < kCount; first += kSome)
      for (std::size_t k = first; k < first + half; ++k) some[k] = combine(some[k], some[k + half]);
}

/// Rows that are folded pairwise before they meet a state: of long lines as many as are read (sums of [8192,4096] bf16
/// axis 0 on a Zen 5: 35 GB/s, 31 by fours).
constexpr int rows_together(bool have_long_lines) { return have_long_lines ? kRowsAtOnce : kRowsTogether; }

/// Some rows from r on of whole groups into `states`, some of them pairwise; to them when kFirst, as they hold nothing
/// yet.
template <bool kFirst, bool kAsk, class FoldOf, class Rows, class State, int... K>
void fold_some_rows(const FoldOf& fold_of, const Rows& rows, int r, Index groups, State* __restrict states,
                    std::integer_sequence<int, K...>) {
  using V = typename std::decay_t<decltype(fold_of(0))>::Value;
  constexpr int kCount = sizeof...(K);
  constexpr bool kLong = kHasLongLines<V, Rows, std::decay_t<decltype(fold_of(0))>>;
  constexpr int kTogether = rows_together(kLong);
  if constexpr (IsLanes<V>) {
    const decltype(rows.row(0)) row[kCount] = {rows.row(r + K)...};
    const auto fold_group = [&](Index g) {
      const auto fold = fold_of(g);
      const auto combine = [&](State a, State b) { return fold.combine(a, b); };
      State some[kCount] = {fold.map(load<V>(row[K] + g * kLanes<V>), 0)...};
      meet_by_halves<kTogether>(some, combine);
      State state = kFirst ? some[0] : combine(states[g], some[0]);
      for (int k = kTogether; k < kCount; k += kTogether) state = combine(state, some[k]);
      states[g] = state;
    };
    each_together<kCount, kAsk, kLanes<V>, kLong>(rows, r, groups, fold_group);
  } else {
    if (kCount == kRowsAtOnce && are_guessed_from_far(rows))
      return fold_numbers_from_far<kFirst>(fold_of(0), rows, r, groups, states, std::integer_sequence<int, K...>());
    fold_numbers<kFirst>(fold_of(0), groups, states, rows.row(r + K)...);
  }
}

/// states[g] = fold of the rows in column group g, and unless it begins of what is there. `fold_of(g)` may differ from
/// group to group (a pivot).
template <class FoldOf, class Rows, class State>
[[gnu::flatten, gnu::noinline]] void fold_columns_once(const FoldOf& fold_of, const Rows& rows, int count,
                                                       Index columns, State* __restrict states, bool begins = true) {
  using V = typename std::decay_t<decltype(fold_of(0))>::Value;
  const Index whole = columns / kLanes<V>, groups = ColumnPlace<V>::groups(columns);
  constexpr bool kLong = kHasLongLines<V, Rows, std::decay_t<decltype(fold_of(0))>>;
  with_reading<kLong>(rows, columns * static_cast<Index>(sizeof(ScalarOf<V>)), [&](auto ask, auto at_once) {
    each_rows<at_once(), rows_together(kLong)>(count, begins, [&](auto first, int r, auto which) {
      fold_some_rows<first, ask>(fold_of, rows, r, whole, states, which);
    });
  });
  for (Index g = whole; g < groups; ++g) {
    if (begins) states[g] = fold_of(g).identity();
    for (int r = 0; r < count; ++r)
      states[g] = fold_of(g).combine(states[g], fold_of(g).map(load_columns<V>(rows.row(r), g, columns), 0));
  }
}

/// Scratch of a leaf with a pivot: three values a group.
template <class V>
struct PivotScratch {
  V *totals, *pivots, *sums;
};

/// Some columns of rows.
template <class Rows>
struct RowsFrom {
  const Rows& rows;
  Index first;
  auto row(int r) const { return rows.row(r) + first; }
  auto coming(int r) const requires requires { rows.coming(r); }
  { return rows.coming(r) + first; }
  auto following(int r) const requires requires { rows.following(r); }
  {
    const auto* row = rows.following(r);
    return row == nullptr ? row : row + first;
  }
  bool are_past_caches() const requires requires { rows.are_past_caches(); }
  { return rows.are_past_caches(); }
};

/// Some rows from r on into the quick extrema of whole groups.
template <bool kFirst, bool kAsk, class LaneFold, class Rows, class Watch, int... K>
void nearest_of_rows(const Rows& rows, int r, Index groups, typename LaneFold::Value* __restrict states, Watch& watch,
                     std::integer_sequence<int, K...>) {
  using Quick = Quick<LaneFold>;
  using V = typename LaneFold::Value;
  constexpr int kCount = sizeof...(K);
  const decltype(rows.row(0)) row[kCount] = {rows.row(r + K)...};
  auto seen = watch;  // out of memory, where a group would wait for the one before
  each_together<kCount, kAsk, kLanes<V>, kAreConverted<V, Rows>>(rows, r, groups, [&](Index g) {
    V some[kCount] = {load<V>(row[K] + g * kLanes<V>)...};
    seen.see_sum(some[K]...);
    for (V& one : some) one = Quick::map(one);
    meet_by_halves(some, [](V a, V b) { return Quick::nearest(a, b); });
    states[g] = kFirst ? some[0] : Quick::nearest(states[g], some[0]);
  });
  watch = seen;
}

/// Quick extrema of whole groups of lanes; whether a NaN went by, or infinities of both signs. Where few rows are read
/// side by side memory is waited for, and masks would hold it up.
template <class LaneFold, bool kAsk, int kAtOnce, class Rows>
[[gnu::always_inline]] inline auto look_for_extrema(const Rows& rows, int count, Index groups,
                                                    typename LaneFold::Value* __restrict states) {
  using V = typename LaneFold::Value;
  std::conditional_t<kAtOnce == kRowsTogether, SumWatch<V>, NanWatch<V>> watch;
  each_rows<kAtOnce>(count, true, [&](auto first, int r, auto which) {
    nearest_of_rows<first, kAsk, LaneFold>(rows, r, groups, states, watch, which);
  });
  return watch.found();
}

/// Quick extrema of whole groups of lanes; whether they are certain.
template <class LaneFold, class Rows>
[[gnu::flatten, gnu::noinline]] bool column_extrema(const Rows& rows, int count, Index groups,
                                                    typename LaneFold::Value* __restrict states) {
  using V = typename LaneFold::Value;
  Mask<ScalarOf<V>> uncertain;
  with_reading<kAreConverted<V, Rows>>(rows, groups * static_cast<Index>(sizeof(V)), [&](auto ask, auto at_once) {
    uncertain = look_for_extrema<LaneFold, ask(), at_once()>(rows, count, groups, states);
  });
  for (Index g = 0; g < groups; ++g) uncertain = either(uncertain, equal(states[g], splat<V>(0)));
  return !any(uncertain);
}

/// max and min quickly, and again exactly where that was not certain: a strip's columns at a time ([4096,4096] f32 on a
/// Zen 4: 2.7 ms with 256 groups, 3.1 with 64).
template <class LaneFold, class Rows>
void fold_columns_quickly(const LaneFold& fold, const Rows& rows, int count, Index columns,
                          typename LaneFold::Value* states) {
  constexpr Index kWidth = kLanes<typename LaneFold::Value>, kGroups = 256;
  const Index whole = columns / kWidth;
  const auto exact = [&](Index group, Index first, Index width) {
    fold_columns_once([&](Index) { return fold; }, RowsFrom<Rows>{rows, first}, count, width, states + group);
  };
  for (Index group = 0; group < whole; group += kGroups) {
    const Index groups = std::min(kGroups, whole - group);
    if (!column_extrema<LaneFold>(RowsFrom<Rows>{rows, group * kWidth}, count, groups, states + group))
      exact(group, group * kWidth, groups * kWidth);
  }
  if (whole * kWidth < columns) exact(whole, std::max<Index>(columns - kWidth, 0), std::min(kWidth, columns));
}

/// Whether a leaf may be folded some rows at a time: where one look is enough, and certain.
template <class LaneFold>
inline constexpr bool kGoesOn = !PivotFold<LaneFold> && !HasQuick<LaneFold>;

/// The same for any fold: two looks when it has a pivot. Some leaves may go on.
template <class LaneFold, class Rows>
void fold_column_leaf(const LaneFold& fold, const Rows& rows, int count, Index columns,
                      typename LaneFold::State* states, const PivotScratch<typename LaneFold::Value>& scratch,
                      [[maybe_unused]] bool begins = true) {
  if constexpr (PivotFold<LaneFold>) {
    const Index groups = ColumnPlace<typename LaneFold::Value>::groups(columns);
    fold_columns_once([&](Index) { return fold.pivot_fold(); }, rows, count, columns, scratch.totals);
    for (Index g = 0; g < groups; ++g) scratch.pivots[g] = fold.pivot(scratch.totals[g], count);
    const auto around = [&](Index g) { return fold.around(scratch.pivots[g], count); };
    if (are_guessed(rows)) {
      const Index row_bytes = columns * static_cast<Index>(sizeof(*rows.row(0)));
      LinesOfRows<Rows> coming(rows, kLeafRows, 2 * kLeafRows, row_bytes);
      fold_columns_once([&](Index g) { return coming.ask(), around(g); }, rows, count, columns, scratch.sums);
    } else {
      fold_columns_once(around, rows, count, columns, scratch.sums);
    }
    for (Index g = 0; g < groups; ++g)
      states[g] = fold.join(scratch.totals[g], scratch.pivots[g], scratch.sums[g], count);
  } else if constexpr (HasQuick<LaneFold>) {
    (void)scratch;
    fold_columns_quickly(fold, rows, count, columns, states);
  } else {
    (void)scratch;
    fold_columns_once([&](Index) { return fold; }, rows, count, columns, states, begins);
  }
}

}  // namespace ndfold::simd
