// Body columns: lanes along the innermost kept axis, a panel of outputs (or one part of them) at a time.
#pragma once
#include "kernels/cpu/arg_columns.h"
#include "kernels/cpu/column_leaf.h"
#include "kernels/cpu/column_tree.h"
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/integer_columns.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/sink.h"

namespace ndfold::simd {

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
  using Number = typename NumberFold::State;
  constexpr Index kWidth = kLanes<V>, kAtOnce = 256;
  Arguments to = step;
  if (step.sink == SinkKind::store) to.out = block.out;
  const auto sink = [&](const Number* some, Index at, Index count) {
    sink_states(to, fold, some, count,
                {.out = (first + at) * block.column.out,
                 .out_stride = block.column.out,
                 .block = block.first_state + (first + at) * step.parts,
                 .block_stride = step.parts});
  };
  if constexpr (kWidth == 1) {
    sink(states, 0, columns);
  } else {
    Number all[kAtOnce + kWidth];
    for (Index at = 0; at < columns; at += kAtOnce) {
      const Index count = std::min(kAtOnce, columns - at), groups = ColumnPlace<V>::groups(count);
      for (Index g = 0; g < groups; ++g) {
        const Index group = at / kWidth + g, lane = group * kWidth - ColumnPlace<V>::first(group, columns);
        Number some[kWidth];
        spread<ScalarOf<V>>(states[group], some);
        std::copy(some + lane, some + kWidth, all + g * kWidth);
      }
      sink(all, at, count);
    }
  }
}

template <template <class> class F, class A, Loading kLoading, class T>
void fold_panel(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block) {
  using V = LanesOf<A>;
  using LaneFold = F<V>;
  using State = typename LaneFold::State;
  using Rows = ColumnRows<T, kLoading>;
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

/// argmax, argmin where indices come in no order: a leaf's extrema side by side, then the index wherever they matter.
template <template <class> class F, class A>
void arg_panel_in_any_order(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block) {
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

/// argmax, argmin: of equals the first row has the lowest index, or the last.
template <template <class> class F, class A, bool kLast>
void arg_panel(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block) {
  using Rows = ColumnRows<A, Loading::values>;
  using Best = ArgColumns<F<A>, A, kLast>;
  using State = typename F<A>::State;
  const auto fold = make_fold<F<A>>(parameters);
  const Index fit = (kScratchBytes - 5 * 64) / (Best::kBytesOfColumn + static_cast<Index>(sizeof(State)));
  const Index width = Rows::is_direct(step) ? fit : std::min(fit, Rows::kStagedColumns);
  for (Index first = 0; first < block.columns; first += width) {
    const Index columns = std::min(width, block.columns - first);
    Scratch scratch;
    State* states = scratch.take<State>(columns);
    Best best(scratch, columns);
    Rows rows(step, block, first, columns);
    while (const int count = rows.next()) best.add(rows, count);
    best.finish();
    for (Index c = 0; c < columns; ++c) {
      states[c] = best.result(c);
      const Index row = block.begin + states[c].index;
      states[c].index = step.reduced.rank == 1 ? row * inner(step.reduced).out : Odometer(step.reduced, row).out();
    }
    sink_columns<A>(step, fold, block, first, columns, states);
  }
}

template <template <class> class F, class A>
void arg_panel_of(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block) {
  switch (index_order(step.reduced)) {
    case IndexOrder::ascending: return arg_panel<F, A, false>(step, parameters, block);
    case IndexOrder::descending: return arg_panel<F, A, true>(step, parameters, block);
    case IndexOrder::mixed: return arg_panel_in_any_order<F, A>(step, parameters, block);
  }
}

/// Sums and counts of integers: in lanes just wide enough for some rows, then in 64 bits. Order does not matter.
template <template <class> class F, class A, Loading kLoading, class T>
void fold_integer_panel(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block) {
  using Terms = std::conditional_t<std::is_same_v<F<A>, SumOfSquares<std::uint64_t>>, Square<T>, Plain<T>>;
  using Sums = IntegerColumns<T, Terms>;
  using State = typename F<A>::State;
  using Rows = ColumnRows<T, kLoading>;
  const Index fit = (kScratchBytes - 256) / static_cast<Index>(sizeof(typename Sums::Narrow) + 8 + sizeof(State));
  const Index width = Rows::is_direct(step) ? fit : std::min(fit, Rows::kStagedColumns);
  for (Index first = 0; first < block.columns; first += width) {
    const Index columns = std::min(width, block.columns - first);
    Scratch scratch;
    Sums sums(scratch.take<std::uint64_t>(columns), scratch.take<typename Sums::Narrow>(columns), columns);
    State* states = scratch.take<State>(columns);
    Rows rows(step, block, first, columns);
    while (const int count = rows.next()) sums.add(rows, count);
    const std::uint64_t* totals = sums.result(block.end - block.begin);
    using Signed = std::conditional_t<std::is_floating_point_v<State>, std::int64_t, std::uint64_t>;
    for (Index c = 0; c < columns; ++c) states[c] = static_cast<State>(static_cast<Signed>(totals[c]));
    sink_columns<A>(step, make_fold<F<A>>(parameters), block, first, columns, states);
  }
}

/// Blocks: line-major, then panels, then parts.
template <template <class> class F, class A, Loading kLoading = Loading::values>
void fold_columns(const Arguments& step, Index first, Index last) {
  const FoldParameters parameters{.scale = step.scale, .ddof = step.ddof};
  as_they_lie<F<A>, A, kLoading>(step.input, inner(step.kept).in == 1, [&]<class T>(T) {
    for (Index block = first; block < last; ++block) {
      if constexpr (requires { typename F<A>::Values; })
        arg_panel_of<F, A>(step, parameters, ColumnBlock(step, block));
      else if constexpr (kFoldsIntegers<F<A>, T>)
        fold_integer_panel<F, A, kLoading, T>(step, parameters, ColumnBlock(step, block));
      else
        fold_panel<F, A, kLoading, T>(step, parameters, ColumnBlock(step, block));
    }
  });
}

}  // namespace ndfold::simd
