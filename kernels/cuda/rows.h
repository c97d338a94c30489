// Body rows: lanes along a reduced axis.
#pragma once
#include "kernels/cuda/row_registers.h"

namespace ndfold::cuda {

/// One tile's part: folds it, meets whoever shares the tile, and writes what becomes of the state.
template <class Source, class Sink, class Residency, class Tuning, class Walk, class F, class Scope>
__device__ void fold_row(const Arguments& step, const F& fold, const Scope& scope, Index tile, Index part, int turn) {
  using Element = typename Source::Element;
  using A = typename Source::Value;
  constexpr int kUnroll = Tuning::kUnroll;
  const bool live = tile < step.tiles;
  const Offsets base = offsets(step, step.tile, live ? tile : 0);
  const Index begin = part * step.part, end = begin + step.part < step.reduced ? begin + step.part : step.reduced;
  const Walk walk(step, reinterpret_cast<const Element*>(step.in) + base.in, begin, live ? end : begin);
  const int lane = scope.lane(), lanes = scope.lanes();
  static_assert(kIsInLine<Source> || !std::is_same_v<Residency, InRegisters>, "registers keep lines");
  if constexpr (std::is_same_v<Residency, InRegisters>)
    if (step.parts == 1 && step.packs_of_run <= kUnroll * lanes)
      return softmax_in_registers<Source, kUnroll>(step, fold, scope, walk,
                                                   reinterpret_cast<typename Sink::Out*>(step.out) + base.out);
  typename Residency::template Place<Pack<Element, Source::kSize>> waiting(step);
  auto state = fold_walk<kUnroll>(fold, walk, step.lane_axis, lane, lanes, waiting);
  state = scope.combine_far(fold, scope.combine_near(fold, state), turn);
  if constexpr (Sink::kMaps) {
    auto* const out = reinterpret_cast<typename Sink::Out*>(step.out) + base.out;
    const A scale = static_cast<A>(step.scale), alpha = static_cast<A>(step.alpha);
    if (step.map == MapKind::softmax)
      map_walk<Source, kUnroll>(step.lane_axis, out, walk, lane, lanes, waiting, SoftmaxMap<A>(state, scale, alpha));
    else
      map_walk<Source, kUnroll>(step.lane_axis, out, walk, lane, lanes, waiting, LogSoftmaxMap<A>(state, scale, alpha));
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
