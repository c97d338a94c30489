// argmax and argmin of columns: a lane keeps each column's best value and the batch of rows that it met it in first. Its
// place in that batch is looked for when the best of all slots is known, by the lanes that have it.
#pragma once
#include "kernels/cuda/column_batch.h"

namespace ndfold::cuda {

/// What push_rows() fills in place of a tree.
template <class F, int kColumns>
class BestOfColumns {
  using Values = typename F::Values;
  using Value = typename F::Value;

 public:
  __device__ BestOfColumns() {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      best_[c] = Values().identity();
      batch_[c] = -1;
    }
  }

  template <bool kAll, class View>
  __device__ void look(int column, const View& view) {
    const Value of_batch = fold_plainly<kAll>(Values(), view);
    if (batch_[column] >= 0 && F::same(Values().combine(best_[column], of_batch), best_[column])) return;
    best_[column] = of_batch;
    batch_[column] = batches_;
  }
  __device__ void looked() { ++batches_; }

  __device__ Value best(int column) const { return best_[column]; }
  /// -1: none was looked at.
  __device__ int batch(int column) const { return batch_[column]; }

 private:
  Value best_[kColumns];
  int batch_[kColumns], batches_ = 0;
};

/// The states of a panel whose rows' numbers rise along one axis, over all slots.
template <class Source, int kUnroll, class F>
__device__ void fold_best_of_panel(const F& fold, const Arguments& step, const Panel<Source::kSize>& panel,
                                   const RowsOfSlot& rows, const ColumnLanes& lanes,
                                   typename F::State (&states)[Source::kSize]) {
  constexpr int kSize = Source::kSize;
  using Element = typename Source::Element;
  BestOfColumns<F, kSize> found;
  const ReadAgain::Place<PackOf<Source>> waiting(step);
  const bool whole = panel.is_whole(step);
  if (whole)
    fold_rows_of_panel<true, kUnroll, Source>(fold, step, panel, rows, 0, 0, waiting, found);
  else if (panel.low < panel.high)
    fold_rows_of_panel<false, 1, Source>(fold, step, panel, rows, 0, 0, waiting, found);
#pragma unroll
  for (int c = 0; c < kSize; ++c) states[c].value = found.best(c);
  const Index batch_rows = (whole ? kUnroll : 1) * rows.slots;
  combine_indexed<F>(states, lanes, [&](int c, auto best) {
    constexpr Index kNone = std::numeric_limits<Index>::max();
    if (found.batch(c) < 0 || c < panel.low || c >= panel.high) return kNone;
    const AxisNumbers& axis = step.walk.near[0];
    const Index first = rows.begin + rows.slot + found.batch(c) * batch_rows;
    const Element* const from =
        reinterpret_cast<const Element*>(step.in) + panel.in + c * panel.pitch * step.lane_axis.in;
    Element elements[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index row = first + u * rows.slots;
      elements[u] = from[(row < rows.end ? row : first) * axis.in];  // the first once more: a load that is no branch
    }
    Index place = kNone;
#pragma unroll
    for (int u = kUnroll - 1; u >= 0; --u) {
      const Index row = first + u * rows.slots;
      if (row < rows.end && F::same(Source::value(elements[u]), best)) place = row * axis.out;
    }
    return place;
  });
}

/// The same in any order of numbers, which is seldom asked for: not inlined and by value, for it takes registers.
template <class Source, int kUnroll, class F>
[[gnu::noinline]] __device__ StatesOfLane<typename F::State, Source::kSize> fold_any_order(
    F fold, const Arguments& step, Panel<Source::kSize> panel, RowsOfSlot rows) {
  StatesOfLane<typename F::State, Source::kSize> states;
  const ReadAgain::Place<PackOf<Source>> waiting(step);
  fold_panel<Source, kUnroll>(fold, step, panel, rows, 0, 0, waiting, states.at);
  return states;
}

template <class Source, class F>
__device__ void fold_out_of_order(const F& fold, const Arguments& step, const Panel<Source::kSize>& panel,
                                  const RowsOfSlot& rows, const ColumnLanes& lanes,
                                  typename F::State (&states)[Source::kSize]) {
  const auto found = fold_any_order<Source, 2>(fold, step, panel, rows);
#pragma unroll
  for (int c = 0; c < Source::kSize; ++c) states[c] = found.at[c];
  combine_block_columns(fold, states, lanes);
}

}  // namespace ndfold::cuda
