// Columns of lines that have few of them: a block would spend more on its meetings than on elements. Some lanes of a
// warp fold a panel, a lane a column of every n-th row, and a block has many panels side by side.
#pragma once
#include "kernels/cuda/column_batch.h"

namespace ndfold::cuda {

/// Rows that are `InLine` are a sum apart: to find their places by digits takes three times what is done with them.
template <class Source, class F, class Sink, class Tuning>
__device__ void fold_lines_by_lanes(const Arguments& step) {
  static_assert(Source::kSize == 1, "neighbouring lanes have neighbouring columns");
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const ColumnLanes lanes(step, false);
  const int group = 1 << step.group_bits, panel_of_block = thread_of_block() >> step.group_bits;
  const int slot = (thread_of_block() & (group - 1)) >> step.lane_bits;
  const RowsOfSlot rows{0, step.reduced, slot, group >> step.lane_bits};
  const ReadAgain::Place<PackOf<Source>> waiting(step);
  const Index together = threads_of_block() >> step.group_bits;
  for (Index first = blockIdx.y * together; first < step.tiles; first += gridDim.y * together) {
    const Index tile = first + panel_of_block;
    Panel<1> panel = panel_of<1>(step, tile < step.tiles ? tile : step.tiles - 1, lanes);
    if (tile >= step.tiles) panel.high = panel.low;  // its lanes meet the others' of their warp with nothing
    StatesOfLane<typename F::State, 1> states;
    fold_panel<Source, Tuning::kUnroll>(fold, step, panel, rows, 0, 0, waiting, states.at);
    states.at[0] = combine_lanes(fold, states.at[0], lanes.across, group);
    if constexpr (Sink::kMaps) {
      using A = typename Source::Value;
      using Out = typename Sink::Out;
      if (step.map == MapKind::softmax)
        map_panel<Source, Out, SoftmaxMap<A>>(step, panel, rows, 0, 0, waiting, states);
      else
        map_panel<Source, Out, LogSoftmaxMap<A>>(step, panel, rows, 0, 0, waiting, states);
    } else if (slot == 0) {
      sink_states(step, fold, states.at, places_of(step, panel));
    }
  }
}

/// The elements of a softmax are read once more, from where the first look left them: the first cache.
template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    columns_in_lanes(const __grid_constant__ Arguments step) {
  await_launch_before();
  if (step.walk.rank < 2)
    fold_lines_by_lanes<InLine<Source>, F, Sink, Tuning>(step);
  else
    fold_lines_by_lanes<Source, F, Sink, Tuning>(step);
}

}  // namespace ndfold::cuda
