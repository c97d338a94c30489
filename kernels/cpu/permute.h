// Body permute: moves elements of 1, 2, 4 or 8 bytes between two layouts. Tiles keep both sides' cache lines in L1 when
// the axis that is contiguous in the input is not the one that is contiguous in the output.
#pragma once
#include "kernels/cpu/odometer.h"

#include <algorithm>
#include <cstring>

namespace ndfold::simd {

inline constexpr Index kTile = 32;
inline constexpr Index kLongRun = 1 << 14;

/// The two axes that lanes lie along, and all the others.
struct PermutePlan {
  Axis row, column;  // column: smallest output stride; row: smallest input stride of the rest
  Axis others[kMostAxes];
  int other_count = 0;
  Index column_step;  // columns of a tile
  Index row_blocks, column_blocks, blocks;

  explicit PermutePlan(AxisList axes) {
    const auto magnitude = [](Index stride) { return stride < 0 ? -stride : stride; };
    int column_at = -1, row_at = -1;
    for (int i = 0; i < axes.rank; ++i)
      if (column_at < 0 || magnitude(axes.axes[i].out) <= magnitude(axes.axes[column_at].out)) column_at = i;
    for (int i = 0; i < axes.rank; ++i)
      if (i != column_at && (row_at < 0 || magnitude(axes.axes[i].in) <= magnitude(axes.axes[row_at].in))) row_at = i;
    column = column_at < 0 ? Axis{} : axes.axes[column_at];
    row = row_at < 0 ? Axis{} : axes.axes[row_at];
    for (int i = 0; i < axes.rank; ++i)
      if (i != column_at && i != row_at) others[other_count++] = axes.axes[i];
    column_step = column.in == 1 && column.out == 1 ? kLongRun : kTile;
    row_blocks = (row.size + kTile - 1) / kTile;
    column_blocks = (column.size + column_step - 1) / column_step;
    blocks = row_blocks * column_blocks * elements({others, other_count});
  }
};

template <Index kBytes>
void permute_tile(const std::byte* in, std::byte* out, const Axis& row, const Axis& column, Index rows, Index columns) {
  for (Index r = 0; r < rows; ++r, in += row.in * kBytes, out += row.out * kBytes) {
    if (column.in == 1 && column.out == 1)
      std::memcpy(out, in, static_cast<std::size_t>(columns * kBytes));
    else
      for (Index c = 0; c < columns; ++c)
        std::memcpy(out + c * column.out * kBytes, in + c * column.in * kBytes, kBytes);
  }
}

/// Blocks: tiles of kTile × kTile, or × a long run where both sides are contiguous.
template <Index kBytes>
void permute(const Arguments& step, Index first, Index last) {
  const PermutePlan plan(step.kept);
  const Index tiles = plan.row_blocks * plan.column_blocks;
  Odometer others({plan.others, plan.other_count}, first / tiles);
  Index tile = first % tiles;
  for (Index block = first; block < last; ++block) {
    const Index r = tile / plan.column_blocks * kTile, c = tile % plan.column_blocks * plan.column_step;
    const Index from = others.in() + r * plan.row.in + c * plan.column.in;
    const Index to = others.out() + r * plan.row.out + c * plan.column.out;
    permute_tile<kBytes>(step.in + from * kBytes, step.out + to * kBytes, plan.row, plan.column,
                         std::min(kTile, plan.row.size - r), std::min(plan.column_step, plan.column.size - c));
    if (++tile == tiles) tile = 0, others.next();
  }
}

}  // namespace ndfold::simd
