// Body columns: lanes along the innermost kept axis, a panel of outputs (or one part of them) at a time.
#pragma once
#include "kernels/cpu/arg_columns.h"
#include "kernels/cpu/column_leaf.h"
#include "kernels/cpu/column_sink.h"
#include "kernels/cpu/column_tree.h"
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/integer_columns.h"
#include "kernels/cpu/joined_rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/short_columns.h"

namespace ndfold::simd {

/// Rows of a leaf: of what is looked at twice no more than caches keep.
template <class LaneFold>
inline constexpr Index kRowsOfLeaf = PivotFold<LaneFold> ? kLeafRows : kLongLeafRows;

/// Arrays of the tree: leaves of rows that are staged are short.
template <class LaneFold>
int levels_of(Index rows) {
  return ColumnTree<LaneFold>::levels_for((rows + kLeafRows - 1) / kLeafRows);
}

/// The next leaf into `leaf`; false at the end. A leaf that cannot go on ends with the rows that come together.
template <class LaneFold, class Rows>
bool next_leaf(const LaneFold& lanes, Rows& rows, Index columns, typename LaneFold::State* leaf,
               const PivotScratch<typename LaneFold::Value>& pivots) {
  Index folded = 0;
  do {
    const int count = rows.next(kRowsOfLeaf<LaneFold> - folded);
    if (count == 0) break;
    fold_column_leaf(lanes, rows, count, columns, leaf, pivots, folded == 0);
    folded += count;
  } while (kGoesOn<LaneFold> && folded < kRowsOfLeaf<LaneFold>);
  return folded > 0;
}

/// The states of all `reduced` rows, a leaf and its tree at a time; they lie in the scratch.
template <class LaneFold, class Rows>
typename LaneFold::State* fold_rows_of_columns(const LaneFold& lanes, Rows& rows, Index reduced, Index columns,
                                               Scratch& scratch, const PivotScratch<typename LaneFold::Value>& pivots) {
  using State = typename LaneFold::State;
  const Index groups = ColumnPlace<typename LaneFold::Value>::groups(columns);
  State* leaf = scratch.take<State>(groups);
  if (reduced <= kLeafRows) {
    next_leaf(lanes, rows, columns, leaf, pivots);
    return leaf;
  }
  ColumnTree<LaneFold> tree(lanes, scratch.take<State>(groups * levels_of<LaneFold>(reduced)), groups);
  while (next_leaf(lanes, rows, columns, leaf, pivots)) tree.push(leaf);
  return tree.result();
}

template <template <class> class F, class A>
using TakeStates = Take<typename F<A>::State>;

/// Of the states that rows are added to: half of a first cache, for memory likes rows long. What is looked at twice is
/// to stay in the second ([16384,512] f64, std on a Zen 4: 7.0 ms with 1 KiB, 5.1 with 2, 4.1 with 4, 4.0 with 16).
template <class LaneFold>
inline constexpr Index kStripBytes = PivotFold<LaneFold> ? 4 << 10 : 16 << 10;

/// Of few rows results are as many as elements: short strips, so that both come and go all the time. 64 MiB of f32, in
/// GB/s of both: [1,2^24] 17 with strips of 16 KiB, 27 of 1, 33 of 2, 32 of 4; [2,2^23] 15, 29, 35, 29. In the third
/// cache 4 are best.
template <class LaneFold>
Index strip_bytes(const Arguments& step, Index rows) {
  constexpr Index kFew = 8, kStreamed = 2 << 10, kStored = 4 << 10;
  if (rows > kFew) return kStripBytes<LaneFold>;
  return streams_results(step) ? kStreamed : kStored;
}

/// Calls take(first, count, states) for the columns of a block, some at a time.
template <template <class> class F, class A, Loading kLoading, class T>
void fold_panel(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block,
                const TakeStates<F, A>& take) {
  using V = LanesOf<A>;
  using LaneFold = F<V>;
  using State = typename LaneFold::State;
  using Rows = ColumnRows<T, kLoading>;
  const auto lanes = make_fold<LaneFold>(parameters);
  const int levels = levels_of<LaneFold>(block.end - block.begin);
  constexpr Index kPivots = PivotFold<LaneFold> ? 3 : 0;
  const Index most = strip_bytes<LaneFold>(step, block.end - block.begin) / Index{sizeof(ScalarOf<V>)};
  const Index fit = std::min(columns_that_fit<State, V>(levels, kPivots), most);
  const Index width = strip_width<V>(block.columns, Rows::is_direct(step) ? fit : std::min(fit, Rows::kStagedColumns));
  for (Index first = 0; first < block.columns; first += width) {
    const Index columns = std::min(width, block.columns - first);
    const Index groups = ColumnPlace<V>::groups(columns);
    Scratch scratch;
    PivotScratch<V> pivots = {};
    if constexpr (kPivots > 0) pivots = {scratch.take<V>(groups), scratch.take<V>(groups), scratch.take<V>(groups)};
    Rows rows(step, block, first, columns);
    const State* states = fold_rows_of_columns(lanes, rows, block.end - block.begin, columns, scratch, pivots);
    each_number<V, typename F<A>::State>(
        states, columns, [&](Index at, Index count, const auto* some) { take(first + at, count, some); });
  }
}

/// argmax, argmin where indices come in no order: a leaf's extrema side by side, then the index wherever they matter.
template <template <class> class F, class A>
void arg_panel_in_any_order(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block,
                            const TakeStates<F, A>& take) {
  using V = LanesOf<A>;
  using State = typename F<A>::State;
  using Values = typename F<V>::Values;
  using Rows = ColumnRows<A, Loading::values>;
  const auto fold = make_fold<F<A>>(parameters);
  const Index width = std::min(columns_that_fit<State, State>(1, 3), Rows::kStagedColumns);
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
    take(first, columns, best);
  }
}

/// argmax, argmin: of equals the first row has the lowest index, or the last.
template <template <class> class F, class A, bool kLast>
void arg_panel(const Arguments& step, const ColumnBlock& block, const TakeStates<F, A>& take) {
  using Rows = ColumnRows<A, Loading::values>;
  using Best = ArgColumns<F<A>, A, kLast>;
  using State = typename F<A>::State;
  const Index fit = (kScratchBytes - 5 * 64) / (Best::kBytesOfColumn + static_cast<Index>(sizeof(State)));
  const Index width = strip_width<A>(block.columns, Rows::is_direct(step) ? fit : std::min(fit, Rows::kStagedColumns));
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
    take(first, columns, states);
  }
}

template <template <class> class F, class A>
void arg_panel_of(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block,
                  const TakeStates<F, A>& take) {
  switch (index_order(step.reduced)) {
    case IndexOrder::ascending: return arg_panel<F, A, false>(step, block, take);
    case IndexOrder::descending: return arg_panel<F, A, true>(step, block, take);
    case IndexOrder::mixed: return arg_panel_in_any_order<F, A>(step, parameters, block, take);
  }
}

/// Sums and counts of integers: in lanes just wide enough for some rows, then in 64 bits. Order does not matter.
template <template <class> class F, class A, Loading kLoading, class T>
void fold_integer_panel(const Arguments& step, const ColumnBlock& block, const TakeStates<F, A>& take) {
  using Terms = std::conditional_t<std::is_same_v<F<A>, SumOfSquares<std::uint64_t>>, Square<T>, Plain<T>>;
  using Sums = IntegerColumns<T, Terms>;
  using State = typename F<A>::State;
  using Rows = ColumnRows<T, kLoading>;
  const Index fit = (kScratchBytes - 256) / static_cast<Index>(sizeof(typename Sums::Narrow) + 8 + sizeof(State));
  const Index width = strip_width<A>(block.columns, Rows::is_direct(step) ? fit : std::min(fit, Rows::kStagedColumns));
  for (Index first = 0; first < block.columns; first += width) {
    const Index columns = std::min(width, block.columns - first);
    Scratch scratch;
    Sums sums(scratch.take<std::uint64_t>(columns), scratch.take<typename Sums::Narrow>(columns), columns);
    State* states = scratch.take<State>(columns);
    Rows rows(step, block, first, columns);
    while (const int count = rows.next()) sums.add(rows, count);
    const std::uint64_t* totals = sums.result();
    using Signed = std::conditional_t<std::is_floating_point_v<State>, std::int64_t, std::uint64_t>;
    for (Index c = 0; c < columns; ++c) states[c] = static_cast<State>(static_cast<Signed>(totals[c]));
    take(first, columns, states);
  }
}

/// Calls take(first, count, states) for the columns of a block, some at a time.
template <template <class> class F, class A, Loading kLoading, class T>
void fold_block(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block,
                const TakeStates<F, A>& take) {
  if constexpr (requires { typename F<A>::Values; })
    arg_panel_of<F, A>(step, parameters, block, take);
  else if constexpr (kFoldsIntegers<F<A>, T>)
    fold_integer_panel<F, A, kLoading, T>(step, block, take);
  else
    fold_panel<F, A, kLoading, T>(step, parameters, block, take);
}

/// Columns of rows that are joined, at most: a strip, whose states fit a stack.
template <template <class> class F, class A, class T>
inline constexpr Index kJoinedColumns = std::min<Index>(kStripBytes<F<LanesOf<A>>> / sizeof(T),
                                                        (32 << 10) / sizeof(typename F<A>::State));

/// How many rows are folded as one; 1 where they stay as they are. Two lines or fewer are joined to fill lanes. Beyond
/// the caches rows of less than a page are joined to strips, for what is read in turns within a page is no stream
/// ([65536,256] f32 on a Zen 4: 12 GB/s apart, 27 so; axis 1 of [256,256,256] f32: 12, 29; of u8 [256,512,512]: 10,
/// 30); in them that costs more than it wins (argmax of [16,512,512] axis 1 on a Xeon: 27 GB/s apart, 22 so), and
/// blocks of 16 KiB win nothing.
template <template <class> class F, class A, class T>
Index rows_together(const Arguments& step, const ColumnBlock& block) {
  constexpr Index kFew = 128, kJoinedFew = 1 << 10, kPage = 4 << 10;
  constexpr Index kSmallBlock = 16 << 10, kCached = 24 << 20;
  const Index row = block.columns * Index{sizeof(T)}, bytes = row * (block.end - block.begin);
  const Index all = elements(step.kept) * elements(step.reduced) * Index{sizeof(T)};
  const bool is_stream = row <= kPage && bytes > kSmallBlock && all > kCached;
  if (!is_stream && row > kFew) return 1;
  constexpr Index kFewColumns = std::min(kJoinedFew / static_cast<Index>(sizeof(T)), kJoinedColumns<F, A, T>);
  return JoinedRows::together(step, block, is_stream ? kJoinedColumns<F, A, T> : kFewColumns);
}

/// The states of a block of few columns, to `all`: `together` rows at a time are folded as one.
template <template <class> class F, class A, Loading kLoading, class T>
void fold_joined_rows(const Arguments& step, const FoldParameters& parameters, const ColumnBlock& block, Index together,
                      typename F<A>::State* all) {
  using State = typename F<A>::State;
  const JoinedRows joined(step, block, together);
  const auto fold = make_fold<F<A>>(parameters);
  fold_block<F, A, kLoading, T>(
      joined.step(), parameters, joined.block(),
      [&](Index first, Index count, const State* some) { std::copy(some, some + count, all + first); });
  if constexpr (requires(State state) { state.index; })
    for (Index c = 0; c < joined.block().columns; ++c) all[c].index += joined.index_of(c);
  joined.meet(fold, all);
  if (joined.rest().begin < block.end)
    fold_block<F, A, kLoading, T>(step, parameters, joined.rest(), [&](Index first, Index count, const State* some) {
      for (Index c = 0; c < count; ++c) all[first + c] = fold.combine(all[first + c], some[c]);
    });
}

/// Blocks: line-major, then parts, then panels.
template <template <class> class F, class A, Loading kLoading = Loading::values>
void fold_columns(const Arguments& step, Index first, Index last) {
  const FoldParameters parameters{.scale = step.scale, .ddof = step.ddof};
  as_they_lie<F<A>, A, kLoading>(step.input, inner(step.kept).in == 1, [&]<class T>(T) {
    if (fold_if_short<F, A, kLoading, T>(step, first, last)) return;
    const auto fold = make_fold<F<A>>(parameters);
    for (Index at = first; at < last;) {
      const ColumnBlock block(step, at, last - at);
      const Index together = rows_together<F, A, T>(step, block);
      const auto sink = [&](Index first_column, Index count, const typename F<A>::State* states) {
        sink_columns(step, fold, block, first_column, count, states);
      };
      if (together > 1) {
        typename F<A>::State all[kJoinedColumns<F, A, T>];
        fold_joined_rows<F, A, kLoading, T>(step, parameters, block, together, all);
        sink(0, block.columns, all);
      } else {
        fold_block<F, A, kLoading, T>(step, parameters, block, sink);
      }
      at += block.blocks;
    }
  });
  if (streams_results(step)) finish_streams();
}

}  // namespace ndfold::simd
