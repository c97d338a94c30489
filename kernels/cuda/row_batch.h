// What a lane does with a row: loads it in batches, folds them, and writes what becomes of them.
#pragma once
#include "kernels/cuda/batch.h"
#include "kernels/cuda/line_walk.h"
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
  static constexpr int kSize = Source::kSize, kCount = kUnroll * kSize, kGroup = 1;
  static constexpr unsigned kAll = (1u << kSize) - 1;
  Pack<typename Source::Element, kSize> packs[kUnroll];
  Index starts[kUnroll];
  unsigned here[kUnroll];  ///< a bit an element that belongs
  Index weight;

  __device__ auto number(int i) const { return Source::value(packs[i / kSize].at[i % kSize]); }
  __device__ Index index(int i) const { return starts[i / kSize] + i % kSize * weight; }
  __device__ bool has(int i) const { return here[i / kSize] >> i % kSize & 1; }
  __device__ bool has_all() const {
    unsigned all = kAll;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) all &= here[u];
    return all == kAll;
  }
  __device__ bool has_whole_packs() const {
    bool whole = true;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) whole = whole && (here[u] == 0 || here[u] == kAll);
    return whole;
  }
};

/// The same where packs are all there or not at all: one question a pack.
template <class Source, int kUnroll>
struct WholePacks {
  static constexpr int kCount = RowBatch<Source, kUnroll>::kCount, kGroup = Source::kSize;
  const RowBatch<Source, kUnroll>& batch;

  __device__ auto number(int i) const { return batch.number(i); }
  __device__ Index index(int i) const { return batch.index(i); }
  __device__ bool has(int i) const { return batch.here[i / Source::kSize] != 0; }
};

/// A batch that lanes `lanes` apart loaded from pack `pack` on.
template <class Source, int kUnroll, class Walk, class Waiting>
__device__ void load_batch(RowBatch<Source, kUnroll>& batch, const Walk& walk, const AxisNumbers& axis, Index pack,
                           int lanes, Waiting& waiting) {
  if constexpr (Source::kSize > 1)
    if (!walk.template cuts<kUnroll>(pack, lanes)) {
      const int left = walk.left(pack);
      const auto stride = walk.stride(lanes);
      auto at = walk.cursor(pack);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const bool here = u * lanes < left;
        batch.packs[u] = {};
        if (here) batch.packs[u] = *walk.vector(at);
        batch.here[u] = here ? batch.kAll : 0;
        batch.starts[u] = walk.out(at);
        if (u + 1 < kUnroll) walk.advance(at, stride);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        waiting.keep(pack + u * lanes - walk.first(), batch.packs[u], batch.here[u] != 0);
      return;
    }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Index at = pack + static_cast<Index>(u) * lanes;
    batch.here[u] = 0;
    batch.starts[u] = 0;
    batch.packs[u] = {};
    if (at < walk.last()) {
      const auto place = walk.place(at);
      batch.packs[u] =
          load_pack<typename Source::Element, Source::kSize, Walk::kAligned>(place.in, axis.in, place.low, place.high);
      batch.starts[u] = place.out;
      batch.here[u] = place.low < place.high ? bits_between(place.low, place.high) : 0;
    }
    waiting.keep(at - walk.first(), batch.packs[u], at < walk.last());
  }
}

template <class F, class Source, int kUnroll>
__device__ typename F::State fold_batch(const F& fold, const RowBatch<Source, kUnroll>& batch) {
  if (batch.has_all()) return fold_view<true>(fold, batch);
  if constexpr (Source::kSize > 1)
    if (batch.has_whole_packs()) return fold_view<false>(fold, WholePacks<Source, kUnroll>{batch});
  return fold_view<false>(fold, batch);
}

template <class Source, int kUnroll, class F, class Walk, class Waiting>
__device__ typename F::State fold_walk(const F& fold, const Walk& walk, const AxisNumbers& axis, int lane, int lanes,
                                       Waiting& waiting) {
  Tree<F, 1> tree(fold);
  for (Index pack = walk.first() + lane; pack < walk.last(); pack += static_cast<Index>(kUnroll) * lanes) {
    RowBatch<Source, kUnroll> batch;
    batch.weight = axis.out;
    load_batch(batch, walk, axis, pack, lanes, waiting);
    const typename F::State state[1] = {fold_batch(fold, batch)};
    tree.push(state);
  }
  typename F::State whole[1];
  tree.result(whole);
  return whole[0];
}

template <class P, class Out, int kSize, class Map>
__device__ void map_pack(const P& elements, Out (&results)[kSize], const Map& map) {
#pragma unroll
  for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(elements.at[i]));
}

/// Writes map(element) of each element of a batch, as it waited.
template <class Source, class Out, int kUnroll, class Walk, class Waiting, class Map>
__device__ void map_batch(const AxisNumbers& axis, Out* out, const Walk& walk, Index pack, int lanes,
                          const Waiting& waiting, const Map& map) {
  using Element = typename Source::Element;
  constexpr int kSize = Source::kSize;
  if constexpr (kSize > 1)
    if (axis.out == 1 && !walk.template cuts<kUnroll>(pack, lanes)) {
      const int left = walk.left(pack);
      const auto stride = walk.stride(lanes);
      auto at = walk.cursor(pack);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (u * lanes >= left) continue;
        Out results[kSize];
        const auto load = [&] { return *walk.vector(at); };
        map_pack(waiting.get(pack + u * lanes - walk.first(), u, load), results, map);
        Out* const to = out + walk.out(at);
        if (is_aligned_for_stores<Out, kSize>(to))
          store_whole(results, to);
        else
          store_pack(results, to, 1, 0, kSize);
        walk.advance(at, stride);
      }
      return;
    }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Index at = pack + static_cast<Index>(u) * lanes;
    if (at >= walk.last()) continue;
    const auto place = walk.place(at);
    const auto load = [&] {
      return load_pack<Element, kSize, Walk::kAligned>(place.in, axis.in, place.low, place.high);
    };
    Out results[kSize];
    map_pack(waiting.get(at - walk.first(), u, load), results, map);
    store_pack(results, out + place.out, axis.out, place.low, place.high);
  }
}

/// Writes map(x) of each element that the lane folded before.
template <class Source, class Out, int kUnroll, class A, class Walk, class Waiting>
__device__ void map_walk(const Arguments& step, const Walk& walk, int lane, int lanes, Index out,
                         const Normalizer<A>& normalizer, const Waiting& waiting) {
  const A scale = static_cast<A>(step.scale);
  Out* const to = reinterpret_cast<Out*>(step.out) + out;
  const auto map = [&](const auto& element) { return normalizer.map(step.map, Source::value(element) * scale); };
  for (Index pack = walk.first() + lane; pack < walk.last(); pack += static_cast<Index>(kUnroll) * lanes)
    map_batch<Source, Out, kUnroll>(step.lane_axis, to, walk, pack, lanes, waiting, map);
}

}  // namespace ndfold::cuda
