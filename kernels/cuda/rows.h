// Body rows: lanes along a reduced axis.
#pragma once
#include "kernels/cuda/batch.h"
#include "kernels/cuda/run_walk.h"
#include "kernels/cuda/scopes.h"
#include "kernels/cuda/sinks.h"
#include "kernels/cuda/tree.h"
#include "kernels/cuda/waiting.h"

namespace ndfold::cuda {

/// kThreads: of a block, at most. kUnroll: independent loads in flight a lane. kBlocks: of a multiprocessor, at least:
/// the registers of a cooperative launch must leave room for the blocks that its plan counts on.
template <int kMostThreads, int kLoads, int kLeastBlocks = 1>
struct Tuned {
  static constexpr int kThreads = kMostThreads, kUnroll = kLoads, kBlocks = kLeastBlocks;
};

/// kUnroll packs of a row in the registers of a lane, as a view for fold_view().
template <class Source, int kUnroll>
struct RowBatch {
  static constexpr int kSize = Source::kSize, kCount = kUnroll * kSize;
  Pack<typename Source::Element, kSize> packs[kUnroll];
  Index starts[kUnroll];
  int low[kUnroll], high[kUnroll];
  Index weight;

  __device__ auto number(int i) const { return Source::value(packs[i / kSize].at[i % kSize]); }
  __device__ Index index(int i) const { return starts[i / kSize] + i % kSize * weight; }
  __device__ bool has(int i) const { return i % kSize >= low[i / kSize] && i % kSize < high[i / kSize]; }
  __device__ bool has_all() const {
    bool all = true;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) all = all && low[u] == 0 && high[u] == kSize;
    return all;
  }
};

template <class Source, int kUnroll, class F, class Waiting>
__device__ typename F::State fold_walk(const F& fold, const RunWalk<Source>& walk, const AxisNumbers& axis, int lane,
                                       int lanes, Waiting& waiting) {
  Tree<F, 1> tree(fold);
  bool first_batch = true;
  for (Index pack = walk.first() + lane; pack < walk.last(); pack += static_cast<Index>(kUnroll) * lanes) {
    RowBatch<Source, kUnroll> batch;
    batch.weight = axis.out;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index at = pack + static_cast<Index>(u) * lanes;
      batch.low[u] = batch.high[u] = 0;
      batch.starts[u] = 0;
      batch.packs[u] = {};
      if (at >= walk.last()) continue;
      const auto place = walk.place(at);
      batch.packs[u] = load_pack<typename Source::Element, Source::kSize>(place.in, axis.in, place.low, place.high);
      batch.starts[u] = place.out;
      batch.low[u] = place.low;
      batch.high[u] = place.high;
      waiting.keep(at - walk.first(), first_batch, u, batch.packs[u]);
    }
    const typename F::State state[1] = {batch.has_all() ? fold_view<true>(fold, batch) : fold_view<false>(fold, batch)};
    tree.push(state);
    first_batch = false;
  }
  typename F::State whole[1];
  tree.result(whole);
  return whole[0];
}

/// Writes map(x) of each element that the lane folded before.
template <class Source, class Out, int kUnroll, class A, class Waiting>
__device__ void map_walk(const Arguments& step, const RunWalk<Source>& walk, int lane, int lanes, Index out, A scale,
                         const Normalizer<A>& normalizer, const Waiting& waiting) {
  using Element = typename Source::Element;
  constexpr int kSize = Source::kSize;
  const AxisNumbers& axis = step.lane_axis;
  bool first_batch = true;
  for (Index pack = walk.first() + lane; pack < walk.last(); pack += static_cast<Index>(kUnroll) * lanes) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index at = pack + static_cast<Index>(u) * lanes;
      if (at >= walk.last()) continue;
      const auto place = walk.place(at);
      Pack<Element, kSize> elements;
      if (!waiting.get(at - walk.first(), first_batch, u, elements))
        elements = load_pack<Element, kSize>(place.in, axis.in, place.low, place.high);
      Out mapped[kSize];
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        mapped[i] = to_element<Out>(normalizer.map(step.map, Source::value(elements.at[i]) * scale));
      store_pack(mapped, reinterpret_cast<Out*>(step.out) + out + place.out, axis.out, place.low, place.high);
    }
    first_batch = false;
  }
}

template <class Source, class F, class Scope, class Sink, class Residency, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) rows(const __grid_constant__ Arguments step) {
  using Element = typename Source::Element;
  using Waiting = typename Residency::template Place<Pack<Element, Source::kSize>, Tuning::kUnroll>;
  const Scope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  // Every lane walks the same tiles and parts, so that exchanges find all lanes.
  const Index stride = gridDim.y * scope.tiles_at_once();
  int turn = 0;
  for (Index first = blockIdx.y * scope.tiles_at_once(); first < step.tiles; first += stride, ++turn)
    for (Index part = blockIdx.x; part < step.parts; part += gridDim.x) {
      const Index tile = scope.tile_of(first);
      const bool live = tile < step.tiles;
      const Offsets base = offsets(step.tile_axes(), step.tile_rank, live ? tile : 0);
      const Index begin = part * step.part, end = begin + step.part < step.reduced ? begin + step.part : step.reduced;
      const RunWalk<Source> walk(step, reinterpret_cast<const Element*>(step.in) + base.in, begin, live ? end : begin);
      Waiting waiting(step);
      auto state = fold_walk<Source, Tuning::kUnroll>(fold, walk, step.lane_axis, scope.lane(), scope.lanes(), waiting);
      state = scope.combine(fold, state, turn);
      if constexpr (Sink::kMaps) {
        using A = typename Source::Value;
        const auto normalizer = Normalizer<A>::of(step.map, state, step.alpha);
        map_walk<Source, typename Sink::Out, Tuning::kUnroll>(step, walk, scope.lane(), scope.lanes(), base.out,
                                                              static_cast<A>(step.scale), normalizer, waiting);
      } else if (live && scope.speaks()) {
        sink_state(step, fold, state, base.out, scope.shares_parts() ? tile : tile * step.parts + part);
      }
    }
}

}  // namespace ndfold::cuda
