// A softmax of columns in registers whose rows begin anywhere in a sector of memory, in panels that overlap
// (sector_lane.h).
#pragma once
#include "kernels/cuda/column_registers.h"
#include "kernels/cuda/sector_lane.h"

namespace ndfold::cuda {

/// A lane's columns of the rows of its slot, kKept at most. Rows of a slot begin alike in a pack.
template <class Source, class Out, int kKept>
class ColumnsBySectors {
  using A = typename Source::Value;
  using Element = typename Source::Element;
  using Loaded = typename Kept<Source, kKept>::Loaded;
  static constexpr int kSize = Source::kSize;
  static_assert(kKept <= 32);

 public:
  /// `count`: rows of the slot.
  __device__ ColumnsBySectors(const Arguments& step, Index tile, int slot, int slots, int count)
      : step_(step), slot_(slot), slots_(slots), lane_(thread_of_block() & (step.lanes - 1)), mine_(step, tile, slot) {
    if (!mine_.folds) return;
    count_ = count;
    const auto hop = static_cast<unsigned>(slots * step.walk.near[0].out);
    unsigned in_sector = mine_.in_sector;
#pragma unroll
    for (int k = 0; k < kKept; ++k, in_sector += hop)
      if (k < count && mine_.writes(in_sector)) written_ |= 1u << k;
  }

  __device__ void load(A scale) {
    const Index hop = slots_ * step_.walk.near[0].in;
    const auto* at = reinterpret_cast<const Element*>(step_.in) + mine_.in;
    Loaded packs[kKept];
    kept_.begin(packs, scale);
    if (mine_.is_within(step_, count_, hop)) {
#pragma unroll
      for (int k = 0; k < kKept; ++k, at += hop)
        if (k < count_) packs[k] = std::bit_cast<Loaded>(*reinterpret_cast<const PackOf<Source>*>(at));
    } else {
#pragma unroll
      for (int k = 0; k < kKept; ++k, at += hop) {
        auto pack = std::bit_cast<PackOf<Source>>(packs[k]);
#pragma unroll
        for (int c = 0; c < kSize; ++c)
          if (k < count_ && c >= mine_.low && c < mine_.high) pack.at[c] = at[c];
        packs[k] = std::bit_cast<Loaded>(pack);
      }
    }
    kept_.keep(packs, count_, scale);
  }

  /// Over all slots: each leaves its numbers column by column, for another slot's lane has other columns.
  template <class F>
  __device__ void meet(int half, const F& fold, A (&numbers)[kSize]) const {
    if (slots_ == 1) return;
    const int pitch = step_.lanes + 1, of_slot = kSize * pitch;
    auto* const area = reinterpret_cast<A*>(shared_memory()) + half * slots_ * of_slot;
    const auto place = [&](int c) {
      const int column = kSize - 1 - mine_.skew + c;
      return column % kSize * pitch + lane_ + column / kSize;
    };
#pragma unroll
    for (int c = 0; c < kSize; ++c) area[slot_ * of_slot + place(c)] = numbers[c];
    const auto block = cg::this_thread_block();
    block.sync();
#pragma unroll
    for (int c = 0; c < kSize; ++c) numbers[c] = area[place(c)];
#pragma unroll 2
    for (int slot = 1; slot < slots_; ++slot)
#pragma unroll
      for (int c = 0; c < kSize; ++c) numbers[c] = fold.combine(numbers[c], area[slot * of_slot + place(c)]);
  }

  template <class Map>
  __device__ void store(const Map (&maps)[kSize]) const {
    if (mine_.is_whole())
      return store_each(maps, [](const Pack<Out, kSize>& results, Out* to) { store_vector(results, to); });
    store_each(maps, [&](const Pack<Out, kSize>& results, Out* to) {
      store_elements(results.at, to, 1, mine_.low, mine_.high);
    });
  }

  __device__ Kept<Source, kKept>& kept() { return kept_; }

 private:
  template <class Map, class Store>
  __device__ void store_each(const Map (&maps)[kSize], const Store& store) const {
    Out* at = reinterpret_cast<Out*>(step_.out) + mine_.out;
    const Index hop = slots_ * step_.walk.near[0].out;
#pragma unroll
    for (int k = 0; k < kKept; ++k, at += hop) {
      Pack<Out, kSize> results;
#pragma unroll
      for (int c = 0; c < kSize; ++c) results.at[c] = to_element<Out>(maps[c](kept_.number(k, c)));
      if ((written_ >> k & 1) == 0) continue;
      store(results, at);
    }
  }

  const Arguments& step_;
  int slot_, slots_, lane_;
  int count_ = 0;
  unsigned written_ = 0;  ///< a bit a row
  SectorLane<Source, Out, false> mine_;
  Kept<Source, kKept> kept_;
};

/// As columns_in_registers(), where lanes side by side are whole warps.
template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    columns_by_sectors(const __grid_constant__ Arguments step) {
  using A = typename Source::Value;
  using Out = typename Sink::Out;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const int slots = threads_of_block() >> step.lane_bits, slot = thread_of_block() >> step.lane_bits;
  constexpr int kRows = Tuning::kUnroll;
  const int count = RowsOfSlot{0, step.reduced, slot, slots}.of_slot();
  await_launch_before(count);
  with_rows_of_lane<kRows, kFewestRowsOfLane<kRows>>(step, [&](auto rows) {
    constexpr int kKept = decltype(rows)::value;
    for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y) {
      ColumnsBySectors<Source, Out, kKept> columns(step, tile, slot, slots, count);
      columns.load(fold.scale);
      const auto map = [&]<class Map>(Map*) {
        map_kept<Source, Map, kKept>(
            step, fold, columns.kept(),
            [&](int half, const auto& of, auto& numbers) { columns.meet(half, of, numbers); },
            [&](const auto& maps) { columns.store(maps); });
      };
      if (step.map == MapKind::softmax)
        map(static_cast<typename Kept<Source, kKept>::Powers*>(nullptr));
      else
        map(static_cast<LogSoftmaxMap<A>*>(nullptr));
    }
  });
}

}  // namespace ndfold::cuda
