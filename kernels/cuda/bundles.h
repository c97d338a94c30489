// Body rows, short ones that lie one after the other in memory: a block brings bundles of them into shared memory, as
// if each were one long row, while it folds the bundle before; a lane, or a few, fold a row from there. A softmax also
// takes bundles of one long row, which all lanes of the block fold.
#pragma once
#include "kernels/cuda/bundle_folds.h"

namespace ndfold::cuda {

/// Rows of a bundle that lie one after the other.
template <class Source>
class RowsOfBundle : public PacksOfRow<Source> {
 public:
  using Element = typename Source::Element;
  using P = PackOf<Source>;
  static constexpr bool kIsDense = true;  ///< lanes side by side find neighbours

  __device__ RowsOfBundle(const Arguments& step, const LanesOfBundle& lanes, Element* elements)
      : PacksOfRow<Source>(static_cast<int>(step.lane_axis.size) / Source::kSize, lanes),
        at_(reinterpret_cast<P*>(elements)) {}
  __device__ P* first(int row) const { return at_ + row * this->packs_ + this->lanes_.lane; }
  __device__ int apart() const { return this->lanes_.lanes; }

 private:
  P* at_;
};

/// What becomes of a bundle that is in shared memory.
template <class Source, class F, class Sink>
__device__ void take_bundle(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                            typename Source::Element* elements, int rows, Index first_row) {
  const RowsOfBundle<Source> bundle(step, lanes, elements);
  if constexpr (Sink::kMaps)
    map_bundle(step, fold, lanes, bundle, rows);
  else
    reduce_bundle(step, fold, lanes, bundle, rows, first_row);
}

/// Wide is Source with packs, for rows that are whole ones.
template <class Wide, class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) bundles(const __grid_constant__ Arguments step) {
  using Element = typename Source::Element;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const LanesOfBundle lanes(step);
  const bool packed = step.whole_runs && is_aligned<Pack<Element, Wide::kSize>>(step.in);
  if constexpr (Sink::kMaps)
    if (lanes.lanes <= kWarp) clear_exchange_area();
  walk_bundles<Sink, Element>(step, static_cast<int>(step.lane_axis.size), [&](Element* elements, int rows, Index row) {
    if (packed)
      take_bundle<Wide, F, Sink>(step, fold, lanes, elements, rows, row);
    else
      take_bundle<Source, F, Sink>(step, fold, lanes, elements, rows, row);
  });
}

}  // namespace ndfold::cuda
