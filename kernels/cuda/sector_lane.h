// What a lane has of a panel of rows that begin anywhere in a sector. Panels overlap: each sector of results is written
// by one block, so it folds up to a sector of columns more than it writes of a row, whose results begin with the first
// sector that begins in the panel and end where those of the next panel begin. Writes alone take 2.3 times as long
// where panels of 128 bytes begin anywhere in a sector (docs/measurements/gpu-history.md). Of rows that are whole
// sectors none overlaps: they begin before the axis, as far as results begin behind a sector.
#pragma once
#include <ndfold/kept_columns.h>

#include "kernels/cuda/arguments.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// A lane's pack of the rows whose results begin where those of `row` do in a pack; kSectors: in a sector, so that
/// lanes side by side store whole ones, and load them where elements begin alike.
template <class Source, class Out, bool kSectors>
struct SectorLane {
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize, kSector = static_cast<int>(kSectorBytes / sizeof(Out));
  static_assert(sizeof(Element) == sizeof(Out) && kSector % kSize == 0);

  int skew = 0;            ///< columns from its pack to where the panel begins in it
  int at = 0;              ///< its first column, from the panel's first one on
  int low = 0, high = 0;   ///< those of its columns that the axis has
  bool folds = false;      ///< whether anybody wants them
  unsigned in_sector = 0;  ///< where the panel's results begin in a sector, of that row
  Index in = 0, out = 0;   ///< of its first column in that row, from the tensors' first elements on

  __device__ SectorLane(const Arguments& step, Index tile, Index row) : width_(step.widest_panel) {
    const AxisNumbers &axis = step.lane_axis, &rows = step.walk.near[0];
    const Index outer = quotient(tile, step.by_panels), panel = tile - outer * step.panels;
    const Index start = panel * width_ - (kSectors ? step.phase : 0);
    const Offsets base = offsets(step, step.tile, outer);
    in = base.in + row * rows.in + start;
    out = base.out + row * rows.out + start;
    in_sector = static_cast<unsigned>(phase_of<kSector>(reinterpret_cast<const Out*>(step.out) + out));
    skew = kSectors ? static_cast<int>(in_sector) : phase_of<kSize>(reinterpret_cast<const Element*>(step.in) + in);
    at = (thread_of_block() & (step.lanes - 1)) * kSize - skew;
    if (panel > 0) behind_start_ = at;
    if (panel + 1 < step.panels) behind_end_ = at - width_;
    const Index before = start + at, left = axis.size - before;
    low = before < 0 ? static_cast<int>(-before) : 0;
    high = left < kSize ? static_cast<int>(left) : kSize;
    in += at;
    out += at;
    folds = at < width_ + kSector - 1 && left > 0 && (!kSectors || low < kSize);
  }

  /// Whether it writes its columns of a row whose results begin so far in a sector.
  __device__ bool writes(unsigned begin) const {
    const int from = static_cast<int>((0 - begin) % unsigned{kSector});
    return behind_start_ >= from && behind_end_ < from;
  }
  /// Whether its packs of `count` rows, `hop` elements apart, are all the tensor's.
  __device__ bool is_within(const Arguments& step, int count, Index hop) const {
    return in >= step.reach_from && in + (count - 1) * hop + kSize - 1 <= step.reach_to;
  }
  /// Whether whole words around them are.
  __device__ bool is_far_within(const Arguments& step, int count, Index hop) const {
    constexpr int kAround = sizeof(std::uint32_t) / sizeof(Element) - 1;
    return in - kAround >= step.reach_from && in + (count - 1) * hop + kSize - 1 + kAround <= step.reach_to;
  }
  /// Some of an axis, if not all.
  __device__ bool is_whole() const { return low == 0 && high == kSize; }

 private:
  int width_;
  int behind_start_ = kSector, behind_end_ = -1;  ///< so many columns: what the first panel, and the last, always are
};

}  // namespace ndfold::cuda
