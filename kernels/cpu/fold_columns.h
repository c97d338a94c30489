// Body columns: lanes along the innermost kept axis, a panel of outputs (or one part of them) at a time.
#pragma once
#include "kernels/cpu/column_leaf.h"
#include "kernels/cpu/column_tree.h"
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/sink.h"

namespace ndfold::simd {

/// A core's scratch, on its stack: what it folds side by side at a time has to fit.
inline constexpr Index kScratchBytes = 64 << 10;

/// Memory for arrays, one after the other.
class Scratch {
 public:
  template <class T>
  T* take(Index count) {
    T* array = reinterpret_cast<T*>(bytes_ + used_);
    used_ += (count * static_cast<Index>(sizeof(T)) + 63) / 64 * 64;
    return array;
  }

 private:
  alignas(64) std::byte bytes_[kScratchBytes];
  Index used_ = 0;
};

/// Columns whose states for `levels` of a tree, a leaf and its pivots fit the scratch; whole lane groups.
template <class State, class V>
Index columns_that_fit(Index levels) {
  const Index group = (levels + 1) * static_cast<Index>(sizeof(State)) + 3 * static_cast<Index>(sizeof(V));
  return std::max<Index>(1, (kScratchBytes - 64 * (levels + 4)) / group) * kLanes<V>;
}

/// The states of all `reduced` rows, a leaf and its tree at a time; they lie in the scratch.
template <class LaneFold, class Rows>
typename LaneFold::State* fold_rows_of_columns(const LaneFold& lanes, Rows& rows, Index reduced, Index columns,
                                               Scratch& scratch, const PivotScratch<typename LaneFold::Value>& pivots) {
  using State = typename LaneFold::State;
  const Index groups = ColumnPlace<typename LaneFold::Value>::groups(columns);
  const int levels = ColumnTree<LaneFold>::levels_for((reduced + kLeafRows - 1) / kLeafRows);
  State* leaf = scratch.take<State>(groups);
  ColumnTree<LaneFold> tree(lanes, scratch.take<State>(groups * levels), groups);
  while (const int count = rows.next()) {
    fold_column_leaf(lanes, rows, count, columns, leaf, pivots);
    tree.push(leaf);
  }
  return tree.result();
}

/// Hands the states of `columns` columns, `first` and on in their block, to the sink.
template <class V, class NumberFold, class State>
void sink_columns(const Arguments& step, const NumberFold& fold, const ColumnBlock& block, Index first, Index columns,
                  const State* states) {
  Arguments to = step;
  if (step.sink == SinkKind::store) to.out = block.out;
  for (Index c = 0; c < columns; ++c) {
    const ColumnPlace<V> place(c, columns);
    typename NumberFold::State state;
    if constexpr (IsLanes<V>)
      state = lane_state(states[place.group], static_cast<int>(place.lane));
    else
      state = states[c];
    sink_state(to, fold, state, (first + c) * block.column.out, block.first_state + (first + c) * step.parts);
  }
}

template <template <class> class F, class A, Loading kLoading>
void fold_panel(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block) {
  using V = LanesOf<A>;
  using LaneFold = F<V>;
  using State = typename LaneFold::State;
  using Rows = ColumnRows<A, kLoading>;
  const auto lanes = make_fold<LaneFold>(parameters);
  const int levels = ColumnTree<LaneFold>::levels_for((block.end - block.begin + kLeafRows - 1) / kLeafRows);
  const Index fit = columns_that_fit<State, V>(levels);
  const Index width = Rows::is_direct(step) ? fit : std::min(fit, Rows::kStagedColumns);
  for (Index first = 0; first < block.columns; first += width) {
    const Index columns = std::min(width, block.columns - first);
    const Index groups = ColumnPlace<V>::groups(columns);
    Scratch scratch;
    const PivotScratch<V> pivots{scratch.take<V>(groups), scratch.take<V>(groups), scratch.take<V>(groups)};
    Rows rows(step, block, first, columns);
    const State* states = fold_rows_of_columns(lanes, rows, block.end - block.begin, columns, scratch, pivots);
    sink_columns<V>(step, make_fold<F<A>>(parameters), block, first, columns, states);
  }
}

/// argmax, argmin: a leaf's extrema side by side, then the index wherever they matter.
template <template <class> class F, class A>
void arg_panel(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block) {
  using V = LanesOf<A>;
  using State = typename F<A>::State;
  using Values = typename F<V>::Values;
  using Rows = ColumnRows<A, Loading::values>;
  const auto fold = make_fold<F<A>>(parameters);
  const Index width = std::min(columns_that_fit<State, State>(1), Rows::kStagedColumns);
  for (Index first = 0; first < block.columns; first += width) {
    const Index columns = std::min(width, block.columns - first);
    Scratch scratch;
    State* best = scratch.take<State>(columns);
    V* extrema = scratch.take<V>(ColumnPlace<V>::groups(columns));
    for (Index c = 0; c < columns; ++c) best[c] = fold.identity();
    Rows rows(step, block, first, columns);
    while (const int count = rows.next()) {
      fold_column_leaf(Values(), rows, count, columns, extrema, PivotScratch<V>{});
      const A* values = reinterpret_cast<const A*>(extrema);  // in groups of lanes
      const Index lowest = rows.lowest_index(count);
      for (Index c = 0; c < columns; ++c) {
        const ColumnPlace<V> place(c, columns);
        const A value = values[place.group * kLanes<V> + place.lane];
        if (fold.combine(best[c], {value, lowest}).index == best[c].index) continue;
        for (int r = 0; r < count; ++r)
          if (F<A>::same(rows.row(r)[c], value)) best[c] = fold.combine(best[c], {value, rows.index(r)});
      }
    }
    sink_columns<A>(step, fold, block, first, columns, best);
  }
}

/// Blocks: line-major, then panels, then parts.
template <template <class> class F, class A, Loading kLoading = Loading::values>
void fold_columns(const Arguments& step, Index first, Index last) {
  const FoldParameters parameters{.scale = step.scale, .ddof = step.ddof};
  for (Index block = first; block < last; ++block) {
    if constexpr (requires { typename F<A>::Values; })
      arg_panel<F, A>(step, parameters, ColumnBlock(step, block));
    else
      fold_panel<F, A, kLoading>(step, parameters, ColumnBlock(step, block));
  }
}

}  // namespace ndfold::simd
