// Columns whose rows begin elsewhere in a pack from one to the next: slots of lanes take rows whose packs begin alike,
// shifted against those of other slots, and packs may hold what lies around the row.
#pragma once
#include "kernels/cuda/column_batch.h"
#include "kernels/cuda/column_sharers.h"
#include "kernels/cuda/line_walk.h"

namespace ndfold::cuda {

/// `across` lanes side by side, whose packs begin `shift` columns before the panel: the same lane of another slot has
/// other columns.
struct ShiftedLanes {
  int across;
  int shift = 0;
  __device__ int rows() const { return threads_of_block() / across; }
  __device__ int row() const { return thread_of_block() / across; }
  __device__ int lane() const { return thread_of_block() % across; }
  __device__ int first_column(int columns) const { return lane() * columns - shift; }
  __device__ int column_step() const { return 1; }
};

/// A panel of the rows of one slot, whose packs are aligned in memory where the slot's rows begin alike: they begin
/// `lanes.shift` columns before the panel, and the last may end beyond it.
template <int kSize>
__device__ Panel<kSize> shifted_panel_of(const Arguments& step, Index tile, Index row, ShiftedLanes& lanes, int bytes) {
  const AxisNumbers& axis = step.lane_axis;
  const Index outer = quotient(tile, step.by_panels), width = step.columns;
  const Index start = (tile - outer * step.panels) * width;
  const Offsets base = offsets(step, step.tile, outer);
  const auto address = reinterpret_cast<std::uintptr_t>(step.in) / static_cast<unsigned>(bytes);
  const Index before = base.in + row * step.walk.near[0].in + start;
  lanes.shift = static_cast<int>((address + static_cast<std::uintptr_t>(before)) % kSize);
  const Index left = axis.size - start < width ? axis.size - start : width;
  Panel<kSize> panel;
  panel.outputs = outer * axis.size;
  panel.pitch = 1;
  panel.column = start + lanes.first_column(kSize);
  panel.in = base.in + panel.column;
  panel.out = base.out + panel.column * axis.out;
  const auto within = [](Index n) { return static_cast<int>(n < 0 ? 0 : n > kSize ? kSize : n); };
  panel.low = within(start - panel.column);
  panel.high = within(start + left - panel.column);
  panel.first = 0;
  panel.width = static_cast<int>(left);
  return panel;
}

/// Only the first row and the last may have nothing before and after them.
template <class Source, int kUnroll, class F>
__device__ void fold_shifted_panel(const F& fold, const Arguments& step, const Panel<Source::kSize>& panel,
                                   RowsOfSlot rows, typename F::State (&states)[Source::kSize]) {
  TreeLevels<F, Source::kSize> levels;
  Merger<F, Source> tree(fold, levels);
  const Index first = rows.begin + rows.slot, last = step.reduced - 1;
  const ReadAgain::Place<Pack<typename Source::Element, Source::kSize>> waiting(step);
  if (panel.low < panel.high) {
    RowsOfSlot inner = rows;
    if (first == 0) inner.begin += rows.slots;
    if (inner.end > last) inner.end = last;
    fold_rows_of_panel<true, kUnroll, Source>(fold, step, panel, inner, 0, 0, waiting, tree);
    const auto fold_end = [&](Index row) {
      RowCursor<Source> cursor(step, {row, row + 1, 0, 0});
      fold_batch_of_panel<false, false, 1>(fold, step, panel, cursor, 1, 0, 0, waiting, tree);
    };
    if (first == 0) fold_end(0);
    if (rows.end > last && last > 0 && last >= first && (last - first) % rows.slots == 0) fold_end(last);
  }
  tree.result(states);
}

template <class Source, class F, class Scope, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    shifted_columns(const __grid_constant__ Arguments step) {
  using State = typename F::State;
  constexpr int kSize = Source::kSize;
  const Scope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  ShiftedLanes lanes{step.lanes};
  int turn = 0;
  for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y, ++turn)
    for (Index part = blockIdx.x; part < step.parts; part += gridDim.x) {
      const Index begin = part * step.part, end = min_of(begin + step.part, step.reduced);
      const RowsOfSlot rows{begin, end, lanes.row(), lanes.rows()};
      const Panel<kSize> panel =
          shifted_panel_of<kSize>(step, tile, begin + rows.slot, lanes, sizeof(typename Source::Element));
      if (turn == 0 && part == blockIdx.x) {
        if (has_few_blocks()) ask_for_rows<Source, Tuning::kUnroll>(step, panel, rows);
        await_launch_before(panel.in, panel.out, rows.end);
      }
      State states[kSize];
      fold_shifted_panel<Source, Tuning::kUnroll>(fold, step, panel, rows, states);
      share_columns(fold, step, scope, states, lanes, panel, part, turn);
    }
}

}  // namespace ndfold::cuda
