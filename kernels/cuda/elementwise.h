// Body elementwise: out = map(in, value of its output), the steps between the folds of a softmax and its last one.
// Lanes lie along the axis that is nearest in memory, kept or reduced. A lane takes packs one behind the other where
// the values stay: down a reduced axis that crosses its columns, along a line that has one value, or along all rows of
// few columns, of which a pack always holds the same.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/line_walk.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/sinks.h"
#include "kernels/cuda/softmax_fold.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// The other maps, from alpha and the value behind one output.
template <class A>
struct PlainMap {
  MapKind map;
  A alpha, value;

  __device__ A operator()(A x) const {
    switch (map) {
      case MapKind::scale: return x * alpha;
      case MapKind::subtract: return x - value;
      case MapKind::exponential: return folds::exponential(x);
      case MapKind::divide: return alpha * (x / value);
      default: return alpha * (x - std::log(value));
    }
  }
};

template <class Map, class A>
__device__ Map map_of(const Arguments& step, Index output) {
  const A scale = static_cast<A>(step.scale), alpha = static_cast<A>(step.alpha);
  if constexpr (std::is_same_v<Map, PlainMap<A>>)
    return {step.map, alpha, step.values != nullptr ? reinterpret_cast<const A*>(step.values)[output] : A(0)};
  else
    return {read_state(reinterpret_cast<const folds::MaxAndSum<A>*>(step.values) + output), scale, alpha};
}

/// What a lane maps of one tile: `count` packs, from element `first` of the lane axis on, `step` of its elements apart.
struct MappedPacks {
  Index first, step;
  Index in, out, value;  ///< offsets of its element 0; value: of the line's, where values stand for columns of it
  Index in_pitch, out_pitch;
  Index last_size;  ///< of the axis, where the last one lies
  int count;

  /// Elements of the last pack.
  __device__ int left_in_last(int pack) const {
    return static_cast<int>(min_of(last_size - first - (count - 1) * step, pack));
  }
  __device__ bool are_whole(int pack) const { return first >= 0 && left_in_last(pack) == pack; }
  /// Whether all others are.
  __device__ bool is_last_cut_alone(int pack, Index size) const {
    return first >= 0 && (step != 0 || first + pack <= size) && left_in_last(pack) < pack;
  }
};

/// Packs are aligned in memory, wherever a row begins: rows of a slot begin alike.
template <class Source>
__device__ MappedPacks packs_of_lane(const Arguments& step, Index tile) {
  constexpr int kSize = Source::kSize;
  const AxisNumbers &axis = step.lane_axis, &cross = step.cross_axis;
  const Index chunk = quotient(tile, step.by_sheets), sheet = tile - chunk * step.sheets;
  const int slots = threads_of_block() >> step.lane_bits, slot = thread_of_block() >> step.lane_bits;
  const int lane = thread_of_block() & ((1 << step.lane_bits) - 1);
  const bool in_line = step.along_line;
  const Index group = in_line ? quotient(chunk, step.by_panels) * step.panels : chunk;  // of tiles that go together
  const Index height = in_line ? step.panels * step.tile_height : step.tile_height;
  const Index begin = group * step.tile_height, end = min_of(begin + height, step.packs_of_run);

  MappedPacks packs = {};
  const Index outer = in_line ? sheet * slots + slot : quotient(sheet, step.by_panels);
  const Index row = begin + (in_line ? (chunk - group) * step.lanes + lane : slot);
  const int pitch = in_line ? step.lanes * static_cast<int>(step.panels) : slots;
  if (lane >= step.lanes || slot >= slots || outer >= step.reduced || row >= end) return packs;
  packs.count = static_cast<int>(static_cast<unsigned>(end - row - 1) / static_cast<unsigned>(pitch)) + 1;
  const Offsets base = offsets(step, step.walk, outer);
  const Index across_in = in_line ? 0 : row * cross.in;
  const auto* const from = reinterpret_cast<const typename Source::Element*>(step.in) + base.in + across_in;
  const Index pack = in_line ? row : (sheet - outer * step.panels) * step.lanes + lane;
  packs.first = pack * kSize - phase_of<kSize>(from);
  packs.step = in_line ? pitch * kSize : 0;
  packs.in = base.in + packs.first * axis.in + across_in;
  packs.out = base.out + packs.first * axis.out + (in_line ? 0 : row * cross.out);
  packs.value = base.value + (step.columns > 0 ? 0 : packs.first * axis.value);
  packs.in_pitch = in_line ? packs.step * axis.in : pitch * cross.in;
  packs.out_pitch = in_line ? packs.step * axis.out : pitch * cross.out;
  const bool ends = step.tail != 0 && row + (packs.count - 1) * Index{pitch} == step.packs_of_run - 1;
  packs.last_size = ends && packs.first < step.tail ? step.tail : axis.size;
  if (ends && packs.first >= step.tail) --packs.count;
  return packs;
}

/// The maps of a pack's elements [low, high), or one for all of them.
template <int kMaps, class A, class Map>
__device__ void load_maps(const Arguments& step, const MappedPacks& packs, int low, int high, Map (&maps)[kMaps]) {
  const auto columns = static_cast<std::uint32_t>(step.columns);
  Index value = packs.value;
  std::uint32_t column = 0;
  if (columns > 0) {
    const auto place = static_cast<std::uint64_t>(packs.first + Index{kMaps} * columns);
    column =
        place >> 32 == 0 ? static_cast<std::uint32_t>(place) % columns : static_cast<std::uint32_t>(place % columns);
    value += column * step.lane_axis.value;
  }
#pragma unroll
  for (int c = 0; c < kMaps; ++c) {
    if (kMaps == 1 || (c >= low && c < high)) maps[c] = map_of<Map, A>(step, value);
    value += step.lane_axis.value;
    if (++column == columns) column = 0, value = packs.value;
  }
}

/// kMaps: 1 where all elements have the same value, else a pack's elements.
template <int kMaps, class Source, class Out, class Map>
__device__ auto mapped(const Pack<typename Source::Element, Source::kSize>& pack, const Map (&maps)[kMaps]) {
  struct {
    Out at[Source::kSize];
  } results;
#pragma unroll
  for (int i = 0; i < Source::kSize; ++i) results.at[i] = to_element<Out>(maps[i % kMaps](number_of<Source>(pack, i)));
  return results;
}

/// Packs that an end may cut.
template <int kMaps, class Source, class Out, class Map>
[[gnu::noinline]] __device__ void map_cut_packs(const Arguments& step, MappedPacks packs) {
  using Element = typename Source::Element;
  constexpr int kSize = Source::kSize, kUnroll = 4;
  const AxisNumbers& axis = step.lane_axis;
  const auto* from = reinterpret_cast<const Element*>(step.in) + packs.in;
  Out* to = reinterpret_cast<Out*>(step.out) + packs.out;
  const auto low_of = [&](int i) { return static_cast<int>(max_of(-packs.first - i * packs.step, 0)); };
  const auto high_of = [&](int i) {
    const Index size = i == packs.count - 1 ? packs.last_size : axis.size;
    return i < packs.count ? static_cast<int>(min_of(size - packs.first - i * packs.step, kSize)) : 0;
  };
  if (packs.step == 0 && low_of(0) >= high_of(0)) return;  // beyond its columns
  Map maps[kMaps];
  const bool stays = packs.step == 0;  // else other packs have elements that this one has not
  load_maps<kMaps, typename Source::Value>(step, packs, stays ? low_of(0) : 0, stays ? high_of(0) : kSize, maps);
#pragma unroll 1
  for (int i = 0; i < packs.count; i += kUnroll) {
    Pack<Element, kSize> batch[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u, from += packs.in_pitch)
      batch[u] = load_pack<Element, kSize>(from, axis.in, low_of(i + u), high_of(i + u));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u, to += packs.out_pitch)
      store_pack(mapped<kMaps, Source, Out>(batch[u], maps).at, to, axis.out, low_of(i + u), high_of(i + u));
  }
}

/// kCount packs, all loads before the first is mapped. kVectors: results are stored in whole vectors.
template <int kCount, bool kVectors, int kMaps, class Source, class Out, class Map>
__device__ void map_batch(const Arguments& step, const MappedPacks& packs, const Map (&maps)[kMaps],
                          const typename Source::Element*& from, Out*& to) {
  using P = Pack<typename Source::Element, Source::kSize>;
  P batch[kCount];
#pragma unroll
  for (int u = 0; u < kCount; ++u, from += packs.in_pitch) batch[u] = *reinterpret_cast<const P*>(from);
#pragma unroll
  for (int u = 0; u < kCount; ++u, to += packs.out_pitch) {
    const auto results = mapped<kMaps, Source, Out>(batch[u], maps);
    if constexpr (kVectors)
      store_whole(results.at, to);
    else
      store_elements(results.at, to, step.lane_axis.out, 0, Source::kSize);
  }
}

template <bool kVectors, int kMaps, class Source, class Out, int kUnroll, class Map>
__device__ void map_batches(const Arguments& step, const MappedPacks& packs, const Map (&maps)[kMaps], Out* to,
                            int high) {
  const auto* from = reinterpret_cast<const typename Source::Element*>(step.in) + packs.in;
  int left = packs.count;
  for (; left >= kUnroll; left -= kUnroll) map_batch<kUnroll, kVectors, kMaps, Source>(step, packs, maps, from, to);
  for (; left >= 2; left -= 2) map_batch<2, kVectors, kMaps, Source>(step, packs, maps, from, to);
  if (left > 0) map_batch<1, kVectors, kMaps, Source>(step, packs, maps, from, to);
  if constexpr (Source::kSize > 1)
    if (high > 0)
#pragma unroll
      for (int c = 0; c < Source::kSize - 1; ++c)
        if (c < high) to[c * step.lane_axis.out] = to_element<Out>(maps[c % kMaps](Source::value(from[c])));
}

/// Where results of a pack are neighbours, and those of one lie in a vector, so do those of all: it is asked once. Of
/// one more that is cut `high` elements are there: its code is near, where a function that one warp of the grid runs
/// comes from memory line by line (softmaxes of [4095,4097] and [4096,4097] axis 0 took 76 and 65 us).
template <int kMaps, class Source, class Out, int kUnroll, class Map>
__device__ void map_packs(const Arguments& step, const MappedPacks& packs, int high) {
  constexpr int kSize = Source::kSize;
  Map maps[kMaps];
  load_maps<kMaps, typename Source::Value>(step, packs, 0, kMaps, maps);
  Out* const to = reinterpret_cast<Out*>(step.out) + packs.out;
  const bool vectors = kSize == 1 || (step.lane_axis.out == 1 && packs.out_pitch % kStored<Out, kSize> == 0 &&
                                      is_aligned_for_stores<Out, kSize>(to));
  if (vectors)
    map_batches<true, kMaps, Source, Out, kUnroll>(step, packs, maps, to, high);
  else
    map_batches<false, kMaps, Source, Out, kUnroll>(step, packs, maps, to, high);
}

template <class Source, class Out, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    elementwise(const __grid_constant__ Arguments step) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize, kUnroll = Tuning::kUnroll;
  const Index block = static_cast<Index>(blockIdx.y) * gridDim.x + blockIdx.x;
  const Index blocks = static_cast<Index>(gridDim.x) * gridDim.y;
  for (Index tile = step.tiles - 1 - block; tile >= 0; tile -= blocks) {
    MappedPacks packs = packs_of_lane<Source>(step, tile);
    if (tile >= step.tiles - blocks) await_launch_before(packs.in, packs.out, packs.value);
    if (packs.count == 0) continue;
    const int high = packs.is_last_cut_alone(kSize, step.lane_axis.size) ? packs.left_in_last(kSize) : 0;
    const bool whole = high > 0 || packs.are_whole(kSize), has_one_value = step.lane_axis.value == 0;
    if (high > 0) --packs.count;
    const auto map = [&]<class Map>(Map*) {
      if (has_one_value)
        whole ? map_packs<1, Source, Out, kUnroll, Map>(step, packs, high)
              : map_cut_packs<1, Source, Out, Map>(step, packs);
      else
        whole ? map_packs<kSize, Source, Out, kUnroll, Map>(step, packs, high)
              : map_cut_packs<kSize, Source, Out, Map>(step, packs);
    };
    if (step.map == MapKind::softmax)
      map(static_cast<SoftmaxMap<A>*>(nullptr));
    else if (step.map == MapKind::log_softmax)
      map(static_cast<LogSoftmaxMap<A>*>(nullptr));
    else
      map(static_cast<PlainMap<A>*>(nullptr));
  }
}

}  // namespace ndfold::cuda
