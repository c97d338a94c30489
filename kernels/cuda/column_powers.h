// A softmax of columns with one exponential an element, as row_powers.h does it for rows: a block's panel waits in its
// shared memory, each lane gets back what it left there.
#pragma once
#include "kernels/cuda/column_batch.h"
#include "kernels/cuda/row_powers.h"

namespace ndfold::cuda {

/// Whether all rows of a part fit: the same answer in all lanes of the grid.
template <class Source>
__device__ bool powers_fit_columns(const Arguments& step, int packs) {
  return step.part * packs * static_cast<Index>(sizeof(Pack<typename Source::Value, Source::kSize>)) <= step.tile_bytes;
}

template <class Source, class Out, int kUnroll, class F, class Scope>
__device__ void softmax_of_panel(const Arguments& step, const F& fold, const Scope& scope, const ColumnLanes& lanes,
                                 const Panel& panel, const RowsOfSlot& rows, int packs, int turn) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  using P = Pack<A, kSize>;
  typename InShared::Place<P, kUnroll> elements(step);
  const auto largest = fold.pivot_fold();
  A maxima[kSize];
  fold_panel<Source, kUnroll>(largest, step, panel, rows, packs, lanes.lane(), elements, maxima);
  combine_block_columns(largest, maxima, lanes);
  Wait<A> wait[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) wait[c] = {fold.scale, fold.pivot(maxima[c], 1), step.map == MapKind::softmax};

  const NumbersInShared<P> numbers;
  const folds::Sum<A> adding;
  Tree<folds::Sum<A>, kSize> tree(adding);
  const Index stride = static_cast<Index>(kUnroll) * rows.slots;
  for (Index row = rows.begin + rows.slot; row < rows.end && panel.low < panel.high; row += stride) {
    A sums[kSize] = {};
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index at = row + static_cast<Index>(u) * rows.slots;
      if (at >= rows.end) continue;
      P& place = numbers.packs[static_cast<unsigned>((at - rows.begin) * packs + lanes.lane())];
      P waiting = place;
#pragma unroll
      for (int c = 0; c < kSize; ++c) waiting.at[c] = wait[c].of_one(waiting.at[c], sums[c]);
      place = waiting;
    }
    tree.push(sums);
  }
  A sums[kSize];
  tree.result(sums);
  typename F::State states[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) states[c] = {maxima[c], sums[c]};  // a lane's; slots of a block have the same maxima
  scope.combine_columns(fold, states, lanes, panel.first, panel.width, turn);
  Finish<A> finish[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) finish[c] = Finish<A>(step, states[c], wait[c], maxima[c]);
  map_panel<Source, Out, kUnroll>(step, panel, rows, packs, lanes.lane(), numbers,
                                  [&](int c, A number) { return finish[c](number); });
}

}  // namespace ndfold::cuda
