// Body columns: lanes along a kept axis. A block folds a panel of neighbouring outputs; a lane has a pack of them, and
// slots of lanes behind each other take every n-th row.
#pragma once
#include "kernels/cuda/column_batch.h"

namespace ndfold::cuda {

template <class Source, class F, class Scope, class Sink, class Residency, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) columns(const __grid_constant__ Arguments step) {
  constexpr int kSize = Source::kSize;
  using Waiting = typename Residency::template Place<Pack<typename Source::Element, kSize>>;
  const Scope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const ColumnLanes lanes{step.lanes};
  const int slots = threads_of_block() / lanes.across, slot = thread_of_block() / lanes.across;
  // Packs of a row that wait: the same number in every panel, so that a place always belongs to the same lane.
  const Index needed = (step.lane_axis.size + step.phase + kSize - 1) / kSize;
  const int packs = needed < lanes.across ? static_cast<int>(needed) : lanes.across;
  int turn = 0;
  for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y, ++turn)
    for (Index part = blockIdx.x; part < step.parts; part += gridDim.x) {
      const Panel panel = panel_of<kSize>(step, tile, lanes);
      const Index begin = part * step.part, end = begin + step.part < step.reduced ? begin + step.part : step.reduced;
      const RowsOfSlot rows{begin, end, slot, slots};
      Waiting waiting(step);
      typename F::State states[kSize];
      fold_panel<Source, Tuning::kUnroll>(fold, step, panel, rows, packs, lanes.lane(), waiting, states);
      combine_block_columns(fold, states, lanes);
      scope.combine_columns_far(fold, states, lanes, panel.first, panel.width, turn);
      if constexpr (Sink::kMaps) {
        using A = typename Source::Value;
        using Out = typename Sink::Out;
        const int lane = lanes.lane();
        if (step.map == MapKind::softmax)
          map_panel<Source, Out, Tuning::kUnroll, SoftmaxMap<A>>(step, panel, rows, packs, lane, waiting, states);
        else
          map_panel<Source, Out, Tuning::kUnroll, LogSoftmaxMap<A>>(step, panel, rows, packs, lane, waiting, states);
      } else if (slot == 0 && (!scope.shares_parts() || blockIdx.x == 0)) {
#pragma unroll
        for (int c = 0; c < kSize; ++c)
          if (c >= panel.low && c < panel.high) {
            const Index output = panel.outputs + panel.column + c;
            sink_state(step, fold, states[c], panel.out + c * step.lane_axis.out,
                       scope.shares_parts() ? output : output * step.parts + part);
          }
      }
    }
}

}  // namespace ndfold::cuda
