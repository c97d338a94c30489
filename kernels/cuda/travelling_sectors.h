// Columns that travel whose rows begin anywhere in a sector of memory: panels overlap, as those of column_sectors.h.
#pragma once
#include <ndfold/kept_columns.h>

#include "kernels/cuda/travelling_tiles.h"

namespace ndfold::cuda {

/// A lane's packs of a panel that begins within a pack. `low`, `high`: elements of the row; `at`: the panel's column of
/// the first one.
template <class T, int kSize, int kAcross>
struct TravellingPacksOfSectors : TravellingPacks<T> {
  static constexpr bool kIsWhole = false;
  int at = 0, low = 0, high = 0;
  bool writes = false, is_inside = false;  ///< of the tensor

  /// Its column's place among states. Columns before the panel have those that no pack of the warp has.
  __device__ int place(int c) const {
    const int column = at + c < 0 ? at + c + kSize * kAcross : at + c;
    return column % kSize * kAcross + column / kSize;
  }

  template <class P>
  __device__ void copy(P* to, const T* from) const {
    if (is_inside) return copy_later(to, reinterpret_cast<const P*>(from));
    P pack = {};
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      if (i >= low && i < high) pack.at[i] = from[i];
    *to = pack;
  }

  template <class Results>
  __device__ void store(const Results& results, T* to) const {
    if (!writes) return;
    if (low == 0 && high == kSize)
      store_vector(results, to);
    else
      store_elements(results.at, to, 1, low, high);
  }
};

/// A part is rows of a panel; a warp takes rows that begin alike in a pack.
template <class Source, int kThreads>
class TravellingSectors {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize, kSector = static_cast<int>(kSectorBytes / sizeof(T));
  static constexpr int kPanel = 2 * travelling_columns(sizeof(T));
  static constexpr int kWidth = static_cast<int>(width_by_sectors(kPanel, sizeof(T)));

 public:
  static constexpr int kStates = kSize, kAcross = kPanel / kSize;
  static constexpr Index kBytes = 2 * kTravellingLineBytes;
  static constexpr bool kHasEnds = false, kIsJoined = false, kHasRuns = false, kPasses = false;

  __device__ TravellingSectors(const Arguments& step, Index)
      : step_(step), begin_(static_cast<int>(blockIdx.x * step.part)) {
    const int left = static_cast<int>(step.reduced) - begin_, part = static_cast<int>(step.part);
    count_ = count_until<kSlots>(left < part ? left : part, slot());
  }

  /// `extra`: columns from the panel's first on, as far as they matter, and whether it is the row's first.
  __device__ TilePlace place(Index tile) const {
    constexpr int kMatter = kWidth + kSector + kSize;
    const Index outer = quotient(tile, step_.by_panels), panel = tile - outer * step_.panels, start = panel * kWidth;
    const Index left = step_.lane_axis.size - start;
    const Offsets base = offsets(step_, step_.tile, outer);
    return {base.in + start, base.out + start,
            2 * static_cast<int>(left < kMatter ? left : kMatter) + static_cast<int>(panel == 0)};
  }

  template <bool kIn, class Element>
  __device__ auto packs(Element* base, const TilePlace& place) const {
    const AxisNumbers& rows = step_.walk.near[0];
    const Index stride = kIn ? rows.in : rows.out;
    Element* const row = base + (kIn ? place.in : place.out) + (begin_ + slot()) * stride;
    const int lane = thread_of_block() % kAcross, left = place.extra / 2;
    const bool is_first = place.extra % 2 != 0;
    TravellingPacksOfSectors<Element, kSize, kAcross> packs;
    packs.at = lane * kSize - phase_of<kSize>(row);
    packs.first = row + packs.at;
    packs.hop = kSlots * stride;
    packs.count = packs.at < kWidth + kSector - 1 && packs.at < left ? count_ : 0;
    packs.low = is_first && packs.at < 0 ? -packs.at : 0;
    packs.high = left - packs.at < kSize ? left - packs.at : kSize;
    if constexpr (kIn) {
      const Element* const last = packs.first + (count_ - 1) * packs.hop + kSize - 1;
      packs.is_inside = packs.first >= base + step_.reach_from && last <= base + step_.reach_to;
    } else {
      const int from = (kSector - phase_of<kSector>(row)) % kSector;
      packs.writes = (is_first || packs.at >= from) && (left <= kWidth || packs.at < kWidth + from);
    }
    return packs;
  }

 private:
  static constexpr int kSlots = kThreads / kAcross, kOfWarp = kWarp / kAcross;
  static_assert(kThreads / kWarp % kSize == 0 && kSlots % kSector == 0);
  // Of rows: those of a warp are kSize apart.
  __device__ static int slot() {
    const int warp = thread_of_block() / kWarp, of_warp = thread_of_block() % kWarp / kAcross;
    return warp % kSize + kSize * (of_warp + kOfWarp * (warp / kSize));
  }

  const Arguments& step_;
  int begin_, count_;
};

}  // namespace ndfold::cuda
