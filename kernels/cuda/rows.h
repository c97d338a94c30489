// Body rows: lanes along a reduced axis.
#pragma once
#include "kernels/cuda/row_powers.h"

namespace ndfold::cuda {

/// One tile's part: folds it, meets whoever shares the tile, and writes what becomes of the state.
template <class Source, class Sink, class Residency, class Tuning, class Walk, class F, class Scope>
__device__ void fold_row(const Arguments& step, const F& fold, const Scope& scope, Index tile, Index part, int turn) {
  using Element = typename Source::Element;
  using Kept = std::conditional_t<kPowersWait<Source, Residency>, ReadAgain, Residency>;
  using Waiting = typename Kept::template Place<Pack<Element, Source::kSize>, Tuning::kUnroll>;
  constexpr int kUnroll = Tuning::kUnroll;
  const bool live = tile < step.tiles;
  const Offsets base = offsets(step, step.tile, live ? tile : 0);
  const Index begin = part * step.part, end = begin + step.part < step.reduced ? begin + step.part : step.reduced;
  const Walk walk(step, reinterpret_cast<const Element*>(step.in) + base.in, begin, live ? end : begin);
  if constexpr (Sink::kMaps && kPowersWait<Source, Residency>)
    if (powers_fit<Source, Residency, kUnroll>(step, scope.lanes())) {
      auto* const out = reinterpret_cast<typename Sink::Out*>(step.out) + base.out;
      if constexpr (std::is_same_v<Residency, InRegisters>)
        return softmax_in_registers<Source, typename Sink::Out, kUnroll>(step, fold, scope, walk, out, turn);
      else
        return softmax_in_shared<Source, typename Sink::Out, kUnroll>(step, fold, scope, walk, out, turn);
    }
  Waiting waiting(step);
  auto state = fold_walk<Source, kUnroll>(fold, walk, step.lane_axis, scope.lane(), scope.lanes(), waiting);
  state = scope.combine(fold, state, turn);
  if constexpr (Sink::kMaps) {
    const auto normalizer = Normalizer<typename Source::Value>::of(step.map, state, step.alpha);
    map_walk<Source, typename Sink::Out, kUnroll>(step, walk, scope.lane(), scope.lanes(), base.out, normalizer,
                                                  waiting);
  } else if (live && scope.speaks()) {
    sink_state(step, fold, state, base.out, scope.shares_parts() ? tile : tile * step.parts + part);
  }
}

/// Every lane walks the same tiles and parts, so that exchanges find all lanes.
template <class Source, class Sink, class Residency, class Tuning, class Walk, class F, class Scope>
__device__ void fold_rows(const Arguments& step, const F& fold, const Scope& scope) {
  const Index stride = gridDim.y * scope.tiles_at_once();
  int turn = 0;
  for (Index first = blockIdx.y * scope.tiles_at_once(); first < step.tiles; first += stride, ++turn)
    for (Index part = blockIdx.x; part < step.parts; part += gridDim.x)
      fold_row<Source, Sink, Residency, Tuning, Walk>(step, fold, scope, scope.tile_of(first), part, turn);
}

template <class Source, class F, class Scope, class Sink, class Residency, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) rows(const __grid_constant__ Arguments step) {
  const Scope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  using Walk = std::conditional_t<kIsInLine<Source>, LineWalk<Source>, RunWalk<Source>>;
  fold_rows<Source, Sink, Residency, Tuning, Walk>(step, fold, scope);
}

}  // namespace ndfold::cuda
