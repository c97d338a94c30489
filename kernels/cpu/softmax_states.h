// The columns body of the softmax's own fold, and of logsumexp: tiles of columns, read once.
#pragma once
#include "kernels/cpu/column_powers.h"
#include "kernels/cpu/raised_panels.h"

namespace ndfold::simd {

/// Hands the states of a tile to the sink: where they are stored as results, all at a time.
template <class A, int kGroups, class NumberFold>
void sink_tile(const Arguments& step, const NumberFold& fold, const ColumnBlock& block, const Tile& tile,
               const MaxAndSum<LanesOf<A>>* states) {
  using V = LanesOf<A>;
  if constexpr (std::is_same_v<decltype(fold.finalize({}, 0)), A>) {
    if (step.sink == SinkKind::store) {
      A max[kTileColumns<A>], sum[kTileColumns<A>];
      const bool are_logarithms = std::is_same_v<NumberFold, LogSumExp<A>> && step.repeat == 1;
      for (int g = 0; g < kGroups; ++g) {
        const Index at = ColumnPlace<V>::first(g, tile.columns);
        if (are_logarithms)
          store(max + at, states[g].max + log_of(states[g].sum));
        else
          store(max + at, states[g].max), store(sum + at, states[g].sum);
      }
      for (Index c = 0; !are_logarithms && c < tile.columns; ++c) {
        const MaxAndSum<A> state{max[c], sum[c]};
        max[c] = fold.finalize(step.repeat == 1 ? state : repeated(fold, state, step.repeat), step.count);
      }
      return store_run(step.output, tile.out, block.column.out, tile.columns, max);
    }
  }
  each_number<V, MaxAndSum<A>>(states, tile.columns, [&](Index at, Index count, const MaxAndSum<A>* some) {
    sink_columns(step, fold, block, tile.first + at, count, some);
  });
}

/// Few columns whose rows fill a tile when they are joined.
template <class A>
Index joined_in_tile(const Arguments& step, const ColumnBlock& block) {
  return JoinedRows::together(step, block, kTileColumns<A>);
}

/// The states of tiles as wide as `columns`, one after the other.
template <class A>
void fold_narrow_tile(const Arguments& step, const std::byte* in, Index columns, Index begin, Index end,
                      MaxAndSum<A>* states) {
  using V = LanesOf<A>;
  const Tile tile{.in = in, .out = nullptr, .columns = columns, .first = 0};
  const TileLeaves leaves(step, begin, end);
  const std::byte* following = advance(in, step.input, end * inner(step.reduced).in);
  with_groups(ColumnPlace<V>::groups(columns), [&](auto count) {
    TileStates<A, count()> lanes;
    const auto* folded = fold_tile<count(), A>(step, leaves, tile, following, lanes);
    each_number<V, MaxAndSum<A>>(folded, columns, [&](Index at, Index some, const MaxAndSum<A>* numbers) {
      std::copy(numbers, numbers + some, states + at);
    });
  });
}

/// The states of a block's few columns.
template <class A>
void fold_joined_tile(const Arguments& step, const ColumnBlock& block, Index together, MaxAndSum<A>* states) {
  const OnlineSoftmax<A> fold;
  const JoinedRows joined(step, block, together);
  fold_narrow_tile(joined.step(), joined.block().in, joined.block().columns, joined.block().begin, joined.block().end,
                   states);
  joined.meet(fold, states);
  if (joined.rest().begin == block.end) return;
  MaxAndSum<A> last[kTileColumns<A>];
  fold_narrow_tile(step, block.in, block.columns, joined.rest().begin, block.end, last);
  for (Index c = 0; c < block.columns; ++c) states[c] = fold.combine(states[c], last[c]);
}

/// Rows of short runs whose elements are columns.
template <template <class> class F, class A>
void fold_runs_as_tiles(const Arguments& step, Index first, Index last) {
  const auto states_of = [](const Arguments& columns, const ColumnBlock& block, MaxAndSum<A>* states) {
    if (const Index together = joined_in_tile<A>(columns, block); together > 1)
      return fold_joined_tile(columns, block, together, states);
    fold_narrow_tile(columns, block.in, block.columns, block.begin, block.end, states);
  };
  fold_lines_of_runs<F, A, kTileColumns<A>>(step, first, last, states_of);
}

/// The columns of a block whose sums are raised, `count` from `first` on.
template <class NumberFold>
void sink_raised(const Arguments& step, const NumberFold& fold, const ColumnBlock& block, Index first, Index count,
                 const float* sums) {
  constexpr Index kAtOnce = kTileColumns<float>, kRoom = RaisedColumns::kMost + kLanes<Lanes<float>>;
  RaisedColumns columns(sums, count);
  MaxAndSum<float> again[kRoom];
  for (Index c = 0; c < count && !columns.are_all_tame(); c += kAtOnce)
    fold_narrow_tile(step, advance(block.in, step.input, first + c), std::min(kAtOnce, count - c), block.begin,
                     block.end, again + c);
  if constexpr (std::is_same_v<decltype(fold.finalize({}, 0)), float>)
    if (step.sink == SinkKind::store && step.repeat == 1) {
      float* const logarithms = columns.logarithms();
      for (Index c = 0; c < count && !columns.are_all_tame(); ++c)
        if (!columns.is_tame(c)) logarithms[c] = fold.finalize(again[c], step.count);
      std::byte* const to = advance(block.out, step.output, first * block.column.out);
      return store_run(step.output, to, block.column.out, count, logarithms);
    }
  MaxAndSum<float> states[kRoom];
  columns.states(states);
  for (Index c = 0; c < count && !columns.are_all_tame(); ++c)
    if (!columns.is_tame(c)) states[c] = again[c];
  sink_columns(step, fold, block, first, count, states);
}

/// Blocks from `index` on that are raised by panels: how many.
template <template <class> class F>
Index raise_blocks(const Arguments& step, const F<float>& fold, Index index, Index last) {
  const ColumnBlock block(step, index, last - index);
  if (joined_in_tile<float>(step, block) > 1) return 0;
  Index raised = 0;
  as_they_lie<F<float>, float, Loading::values>(step.input, inner(step.kept).in == 1, [&]<class T>(T) {
    if (!are_raised_by_panels<T>(step, block)) return;
    raise_panel<T>(step, block, [&](Index first, Index count, const float* sums) {
      sink_raised(step, fold, block, first, count, sums);
    });
    raised = block.blocks;
  });
  return raised;
}

/// Blocks: line-major, then parts, then panels. F is OnlineSoftmax or finishes its state.
template <template <class> class F, class A>
void fold_softmax_columns(const Arguments& step, Index first, Index last) {
  using V = LanesOf<A>;
  if constexpr (std::is_same_v<F<A>, LogSumExp<A>>) {
    bool is_done = false;
    as_they_lie<F<A>, A, Loading::values>(step.input, inner(step.kept).in == 1, [&]<class T>(T) {
      is_done = fold_if_short<F, A, Loading::values, T>(step, first, last);
    });
    if (is_done) return;
  }
  const auto fold = make_fold<F<A>>({.scale = step.scale});
  for (Index index = first; index < last; ++index) {
    if constexpr (kRaisesPowers<A>)
      if (const Index raised = raise_blocks<F>(step, fold, index, last); raised > 0) {
        index += raised - 1;
        continue;
      }
    const ColumnBlock block(step, index);
    if (const Index together = joined_in_tile<A>(step, block); together > 1) {
      MaxAndSum<A> states[kTileColumns<A>];
      fold_joined_tile(step, block, together, states);
      sink_columns(step, fold, block, 0, block.columns, states);
      continue;
    }
    const TileLeaves leaves(step, block.begin, block.end);
    TileWalk<A> tiles(step, index, index + 1);
    Tile tile, next;
    for (bool any = tiles.next(tile); any; tile = next) {
      any = tiles.next(next);
      with_groups(ColumnPlace<V>::groups(tile.columns), [&](auto count) {
        TileStates<A, count()> states;
        const auto* folded = fold_tile<count(), A>(step, leaves, tile, any ? next.in : tile.in, states);
        sink_tile<A, count()>(step, fold, block, tile, folded);
      });
    }
  }
}

}  // namespace ndfold::simd
