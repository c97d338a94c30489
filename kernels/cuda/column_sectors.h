// A softmax of columns in registers whose rows begin anywhere in a sector of memory. Panels overlap, so that each
// sector of results is written by one block: it folds up to a sector of columns more than it writes of a row, whose
// results begin with the first sector that begins in the panel and end where those of the next panel begin. Writes
// alone take 2.3 times as long where panels of 128 bytes begin anywhere in a sector (docs/measurements/gpu-history.md).
#pragma once
#include <ndfold/kept_columns.h>

#include "kernels/cuda/column_registers.h"

namespace ndfold::cuda {

/// A lane's columns of the rows of its slot, kKept at most. Rows of a slot begin alike in a pack.
template <class Source, class Out, int kKept>
class ColumnsBySectors {
  using A = typename Source::Value;
  using Element = typename Source::Element;
  using Loaded = typename Kept<Source, kKept>::Loaded;
  static constexpr int kSize = Source::kSize, kSector = static_cast<int>(kSectorBytes / sizeof(Out));
  static_assert(sizeof(Element) == sizeof(Out) && kSector % kSize == 0 && kKept <= 32);

 public:
  /// `count`: rows of the slot.
  __device__ ColumnsBySectors(const Arguments& step, Index tile, int slot, int slots, int count)
      : step_(step), slot_(slot), slots_(slots), lane_(thread_of_block() & (step.lanes - 1)) {
    const AxisNumbers &axis = step.lane_axis, &rows = step.walk.near[0];
    const int width = step.widest_panel;
    const Index outer = quotient(tile, step.by_panels), panel = tile - outer * step.panels, start = panel * width;
    const Offsets base = offsets(step, step.tile, outer);
    const Index in = base.in + slot * rows.in + start, out = base.out + slot * rows.out + start;
    skew_ = phase_of<kSize>(reinterpret_cast<const Element*>(step.in) + in);
    const int at = lane_ * kSize - skew_;  // of the lane's first column, from the panel's first one on
    const Index before = start + at, left = axis.size - before;
    low_ = before < 0 ? static_cast<int>(-before) : 0;
    high_ = left < kSize ? static_cast<int>(left) : kSize;
    in_ = in + at;
    out_ = out + at;
    if (at >= width + kSector - 1 || left <= 0) return;
    count_ = count;
    const bool first = panel == 0, last = panel + 1 == step.panels;
    unsigned in_sector = static_cast<unsigned>(phase_of<kSector>(reinterpret_cast<const Out*>(step.out) + out));
    const auto hop = static_cast<unsigned>(slots * rows.out);
#pragma unroll
    for (int k = 0; k < kKept; ++k, in_sector += hop) {
      const int from = static_cast<int>((0 - in_sector) % unsigned{kSector});
      if (k < count && (first || at >= from) && (last || at < width + from)) written_ |= 1u << k;
    }
  }

  __device__ void load(A scale) {
    const Index hop = slots_ * step_.walk.near[0].in;
    const auto* at = reinterpret_cast<const Element*>(step_.in) + in_;
    Loaded packs[kKept] = {};
    if (in_ >= step_.reach_from && in_ + (count_ - 1) * hop + kSize - 1 <= step_.reach_to) {
#pragma unroll
      for (int k = 0; k < kKept; ++k, at += hop)
        if (k < count_) packs[k] = std::bit_cast<Loaded>(*reinterpret_cast<const PackOf<Source>*>(at));
    } else {
#pragma unroll
      for (int k = 0; k < kKept; ++k, at += hop) {
        PackOf<Source> pack = {};
#pragma unroll
        for (int c = 0; c < kSize; ++c)
          if (k < count_ && c >= low_ && c < high_) pack.at[c] = at[c];
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
      const int column = kSize - 1 - skew_ + c;
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
    Out* at = reinterpret_cast<Out*>(step_.out) + out_;
    const Index hop = slots_ * step_.walk.near[0].out;
    const bool whole = low_ == 0 && high_ == kSize;
#pragma unroll
    for (int k = 0; k < kKept; ++k, at += hop) {
      Out mapped[kSize];
#pragma unroll
      for (int c = 0; c < kSize; ++c) mapped[c] = to_element<Out>(maps[c](kept_.number(k, c)));
      if ((written_ >> k & 1) == 0) continue;
      if (whole)
        store_whole(mapped, at);
      else
        store_elements(mapped, at, 1, low_, high_);
    }
  }

  __device__ Kept<Source, kKept>& kept() { return kept_; }

 private:
  const Arguments& step_;
  int slot_, slots_, lane_;
  int skew_ = 0, low_ = 0, high_ = 0, count_ = 0;
  unsigned written_ = 0;  ///< a bit a row
  Index in_ = 0, out_ = 0;
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
