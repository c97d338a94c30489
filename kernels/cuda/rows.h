// Body rows: lanes along a reduced axis.
#pragma once
#include "kernels/cuda/row_registers.h"
#include "kernels/cuda/row_waiting.h"

namespace ndfold::cuda {

/// What does not wait, or not whole: not inlined, for it would double the code of what does.
template <int kUnroll, class F, class Walk, class Waiting>
[[gnu::noinline]] __device__ typename F::State fold_without_room(F fold, Walk walk, const AxisNumbers& axis, int lane,
                                                                 int lanes, Waiting waiting) {
  return fold_walk<kUnroll>(fold, walk, axis, lane, lanes, waiting);
}

template <class Source, int kUnroll, class Out, class Walk, class Waiting, class State>
__device__ void map_row(const Arguments& step, Out* out, const Walk& walk, int lane, int lanes, const Waiting& waiting,
                        const State& state) {
  using A = typename Source::Value;
  const A scale = static_cast<A>(step.scale), alpha = static_cast<A>(step.alpha);
  if (step.map == MapKind::softmax)
    map_walk<Source, kUnroll>(step.lane_axis, out, walk, lane, lanes, waiting, SoftmaxMap<A>(state, scale, alpha));
  else
    map_walk<Source, kUnroll>(step.lane_axis, out, walk, lane, lanes, waiting, LogSoftmaxMap<A>(state, scale, alpha));
}

template <class Source, int kUnroll, class Out, class Walk, class State>
[[gnu::noinline]] __device__ void map_without_room(const Arguments& step, Out* out, Walk walk, int lane, int lanes,
                                                   State state) {
  map_row<Source, kUnroll>(step, out, walk, lane, lanes, ReadAgain::Place<PackOf<Source>>(step), state);
}

/// Folds a part of a tile whose packs wait, if there is room for all of them.
template <int kUnroll, class Source, class F, class Walk, class Waiting>
__device__ typename F::State fold_with_room(const Arguments& step, const F& fold, const Walk& walk, int lane, int lanes,
                                            Waiting& waiting) {
  PacksOfLane packs;
  if (waiting.hold(walk.last() - walk.first())) packs = request_packs(step.lane_axis, walk, lane, lanes, waiting);
  if (!waiting.holds() || !walk.is_whole())
    return fold_without_room<kUnroll>(fold, walk, step.lane_axis, lane, lanes, waiting);
  return fold_waiting<kUnroll, Source>(fold, walk, packs, lane, lanes, waiting);
}

/// Of a line that is too long: `ahead` waits, `rest` is read again.
template <int kUnroll, class Source, class F>
__device__ typename F::State fold_in_part(const Arguments& step, const F& fold, const LineWalk<Source>& ahead,
                                          const LineWalk<Source>& rest, int lane, int lanes,
                                          InShared::Place<PackOf<Source>>& waiting) {
  waiting.hold(ahead.last() - ahead.first());
  const PacksOfLane packs = request_packs(step.lane_axis, ahead, lane, lanes, waiting);
  const ReadAgain::Place<PackOf<Source>> again(step);
  const auto of_rest = fold_without_room<kUnroll>(fold, rest, step.lane_axis, lane, lanes, again);
  return fold.combine(fold_waiting<kUnroll, Source>(fold, ahead, packs, lane, lanes, waiting), of_rest);
}

/// Waits for the launch before, once a lane's first packs of a line are asked for.
template <class Source, int kUnroll, class Walk>
__device__ void begin_with(const Walk& walk, int lane, int lanes) {
  if constexpr (kIsInLine<Source>)
    if (has_few_blocks())
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const Index pack = walk.first_whole() + lane + static_cast<Index>(u) * lanes;
        if (pack < walk.last_whole()) ask_early(walk.element(pack));
      }
  await_launch_before(walk.first(), walk.last());
}

/// One tile's part: folds it, meets whoever shares the tile, and writes what becomes of the state.
template <class Source, class Sink, class Residency, class Tuning, class Walk, class F, class Scope>
__device__ void fold_row(const Arguments& step, const F& fold, const Scope& scope, Index tile, Index part, int turn) {
  using Element = typename Source::Element;
  constexpr int kUnroll = Tuning::kUnroll;
  const bool live = tile < step.tiles;
  const Offsets base = offsets(step, step.tile, live ? tile : 0);
  const Index begin = part * step.part, end = begin + step.part < step.reduced ? begin + step.part : step.reduced;
  const Walk walk(step, reinterpret_cast<const Element*>(step.in) + base.in, begin, live ? end : begin);
  const int lane = scope.lane(), lanes = scope.lanes();
  if (turn == 0 && part == blockIdx.x) begin_with<Source, kUnroll>(walk, lane, lanes);
  using Out = std::conditional_t<Sink::kMaps, typename Sink::Out, std::byte>;
  Out* const out = reinterpret_cast<Out*>(step.out) + (Sink::kMaps ? base.out : 0);
  static_assert(kIsInLine<Source> || !std::is_same_v<Residency, InRegisters>, "registers keep lines");
  if constexpr (std::is_same_v<Residency, InRegisters>)
    if (step.parts == 1 && step.packs_of_run <= kUnroll * lanes)
      return softmax_in_registers<Source, kUnroll>(step, fold, scope, walk, out);
  using Waiting = typename Residency::template Place<PackOf<Source>>;
  Waiting waiting(step);
  if constexpr (Waiting::kWaits && kIsInLine<Source> && Scope::kHasLongLines)
    if (waiting.room() > 0 && walk.last() - walk.first() > waiting.room()) {
      const Walk ahead = walk.front(waiting.room()), rest = walk.back(waiting.room());
      auto state = fold_in_part<kUnroll>(step, fold, ahead, rest, lane, lanes, waiting);
      state = scope.combine_far(fold, scope.combine_near(fold, state), turn);
      map_without_room<Source, kUnroll>(step, out, rest, lane, lanes, state);  // the rest first: it was read last
      return map_row<Source, kUnroll>(step, out, ahead, lane, lanes, waiting, state);
    }
  typename F::State state;
  if constexpr (Waiting::kWaits)
    state = fold_with_room<kUnroll, Source>(step, fold, walk, lane, lanes, waiting);
  else
    state = fold_walk<kUnroll>(fold, walk, step.lane_axis, lane, lanes, waiting);
  state = scope.combine_far(fold, scope.combine_near(fold, state), turn);
  if constexpr (Sink::kMaps)
    map_row<Source, kUnroll>(step, out, walk, lane, lanes, waiting, state);
  else if (live && scope.speaks())
    sink_state(step, fold, state, base.out, scope.shares_parts() ? tile : tile * step.parts + part);
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
