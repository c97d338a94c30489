// A leaf of columns: a few rows folded side by side into an array of lane states.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/leaf.h"
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
template <class V>
V load_columns(const ScalarOf<V>* row, Index group, Index columns) {
  if (columns >= kLanes<V>) return load<V>(row + ColumnPlace<V>::first(group, columns));
  if constexpr (IsLanes<V>)
    return load_first(row, static_cast<int>(columns));
  else
    return *row;
}

/// states[g] = fold of the rows in column group g. `fold_of(g)` may differ from group to group (a pivot).
template <class FoldOf, class Rows, class State>
[[gnu::flatten, gnu::noinline]] void fold_columns_once(const FoldOf& fold_of, const Rows& rows, int count,
                                                       Index columns, State* __restrict states) {
  using V = typename std::decay_t<decltype(fold_of(0))>::Value;
  constexpr Index kWidth = kLanes<V>;
  constexpr int kRowsAtOnce = 4;
  const Index whole = columns / kWidth, groups = ColumnPlace<V>::groups(columns);
  for (Index g = 0; g < groups; ++g) states[g] = fold_of(g).identity();
  int r = 0;
  for (; r + kRowsAtOnce <= count; r += kRowsAtOnce) {
    const auto *a = rows.row(r), *b = rows.row(r + 1), *c = rows.row(r + 2), *d = rows.row(r + 3);
    for (Index g = 0; g < whole; ++g) {
      const auto fold = fold_of(g);
      State state = states[g];
      state = fold.combine(state, fold.map(load<V>(a + g * kWidth), 0));
      state = fold.combine(state, fold.map(load<V>(b + g * kWidth), 0));
      state = fold.combine(state, fold.map(load<V>(c + g * kWidth), 0));
      states[g] = fold.combine(state, fold.map(load<V>(d + g * kWidth), 0));
    }
  }
  for (; r < count; ++r)
    for (Index g = 0; g < whole; ++g)
      states[g] = fold_of(g).combine(states[g], fold_of(g).map(load<V>(rows.row(r) + g * kWidth), 0));
  for (Index g = whole; g < groups; ++g)
    for (r = 0; r < count; ++r)
      states[g] = fold_of(g).combine(states[g], fold_of(g).map(load_columns<V>(rows.row(r), g, columns), 0));
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
};

/// max and min quickly, and again exactly where that was not certain: a few columns at a time, which stay in L1.
template <class LaneFold, class Rows>
void fold_columns_quickly(const LaneFold& fold, const Rows& rows, int count, Index columns,
                          typename LaneFold::Value* states) {
  using Quick = typename QuickOf<LaneFold>::type;
  constexpr Index kWidth = kLanes<typename LaneFold::Value>, kGroups = 64;
  const Index whole = columns / kWidth;
  const auto exact = [&](Index group, Index first, Index width) {
    fold_columns_once([&](Index) { return fold; }, RowsFrom<Rows>{rows, first}, count, width, states + group);
  };
  for (Index group = 0; group < whole; group += kGroups) {
    const Index groups = std::min(kGroups, whole - group);
    typename Quick::State some[kGroups];
    fold_columns_once([](Index) { return Quick(); }, RowsFrom<Rows>{rows, group * kWidth}, count, groups * kWidth,
                      some);
    bool certain = true;
    for (Index g = 0; g < groups; ++g) {
      certain = certain && Quick::is_certain(some[g]);
      states[group + g] = some[g].best;
    }
    if (!certain) exact(group, group * kWidth, groups * kWidth);
  }
  if (whole * kWidth < columns) exact(whole, std::max<Index>(columns - kWidth, 0), std::min(kWidth, columns));
}

/// The same for any fold: two looks when it has a pivot.
template <class LaneFold, class Rows>
void fold_column_leaf(const LaneFold& fold, const Rows& rows, int count, Index columns,
                      typename LaneFold::State* states, const PivotScratch<typename LaneFold::Value>& scratch) {
  if constexpr (PivotFold<LaneFold>) {
    const Index groups = ColumnPlace<typename LaneFold::Value>::groups(columns);
    fold_columns_once([&](Index) { return fold.pivot_fold(); }, rows, count, columns, scratch.totals);
    for (Index g = 0; g < groups; ++g) scratch.pivots[g] = fold.pivot(scratch.totals[g], count);
    fold_columns_once([&](Index g) { return fold.around(scratch.pivots[g], count); }, rows, count, columns,
                      scratch.sums);
    for (Index g = 0; g < groups; ++g)
      states[g] = fold.join(scratch.totals[g], scratch.pivots[g], scratch.sums[g], count);
  } else if constexpr (HasQuick<LaneFold>) {
    (void)scratch;
    fold_columns_quickly(fold, rows, count, columns, states);
  } else {
    (void)scratch;
    fold_columns_once([&](Index) { return fold; }, rows, count, columns, states);
  }
}

}  // namespace ndfold::simd
