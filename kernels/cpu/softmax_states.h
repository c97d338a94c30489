// The columns body of the softmax's own fold, and of logsumexp: tiles of columns, read once.
#pragma once
#include "kernels/cpu/column_powers.h"
#include "kernels/cpu/fold_columns.h"

namespace ndfold::simd {

/// Hands the states of a tile to the sink: where they are stored as results, all at a time.
template <class A, int kGroups, class NumberFold>
void sink_tile(const Arguments& step, const NumberFold& fold, const ColumnBlock& block, const Tile& tile,
               const MaxAndSum<LanesOf<A>>* states) {
  using V = LanesOf<A>;
  if constexpr (std::is_same_v<decltype(fold.finalize({}, 0)), A>) {
    if (step.sink == SinkKind::store) {
      A max[kTileColumns<A>], sum[kTileColumns<A>];
      for (int g = 0; g < kGroups; ++g) {
        const Index at = ColumnPlace<V>::first(g, tile.columns);
        store(max + at, states[g].max), store(sum + at, states[g].sum);
      }
      for (Index c = 0; c < tile.columns; ++c) {
        const MaxAndSum<A> state{max[c], sum[c]};
        max[c] = fold.finalize(step.repeat == 1 ? state : repeated(fold, state, step.repeat), step.count);
      }
      return store_run(step.output, tile.out, block.column.out, tile.columns, max);
    }
  }
  sink_columns<V>(step, fold, block, tile.first, tile.columns, states);
}

/// Blocks: line-major, then panels, then parts. F is OnlineSoftmax or finishes its state.
template <template <class> class F, class A>
void fold_softmax_columns(const Arguments& step, Index first, Index last) {
  using V = LanesOf<A>;
  const auto fold = make_fold<F<A>>({.scale = step.scale});
  for (Index index = first; index < last; ++index) {
    const ColumnBlock block(step, index);
    TileWalk<A> tiles(step, index, index + 1);
    Tile tile, next;
    for (bool any = tiles.next(tile); any; tile = next) {
      any = tiles.next(next);
      with_groups(ColumnPlace<V>::groups(tile.columns), [&](auto count) {
        TileStates<A, count()> states;
        const auto* folded = fold_tile<count(), A>(step, tile, block.begin, block.end, any ? next.in : tile.in, states);
        sink_tile<A, count()>(step, fold, block, tile, folded);
      });
    }
  }
}

}  // namespace ndfold::simd
