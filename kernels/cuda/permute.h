// Body permute: moves elements of 1, 2, 4 or 8 bytes between two layouts. Where the axis that is nearest in the input
// is not the one that is nearest in the output, tiles turn in shared memory, so that lanes lie along memory on both
// sides.
#pragma once
#include "kernels/cuda/run_walk.h"

namespace ndfold::cuda {

/// Both sides are nearest along the same axis: packs are copied.
template <class Source, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    permute_packs(const __grid_constant__ Arguments step) {
  using Element = typename Source::Element;
  constexpr int kSize = Source::kSize;
  const RunWalk<Source> walk(step, reinterpret_cast<const Element*>(step.in), 0, step.reduced);
  const AxisNumbers& axis = step.lane_axis;
  const Index stride = static_cast<Index>(gridDim.y) * threads_of_block();
  const Index start = static_cast<Index>(blockIdx.y) * threads_of_block() + thread_of_block();
  await_launch_before();
  for (Index pack = walk.first() + start; pack < walk.last(); pack += stride) {
    const auto place = walk.place(pack);
    const auto elements = load_pack<Element, kSize>(place.in, axis.in, place.low, place.high);
    store_pack(elements.at, reinterpret_cast<Element*>(step.out) + place.out, axis.out, place.low, place.high);
  }
}

/// The lane axis is nearest in the output, the cross axis in the input. A tile's columns are one element further apart
/// than they are long, so that lanes which walk across them meet no bank twice.
template <class T, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    permute_tiles(const __grid_constant__ Arguments step) {
  const auto block = cg::this_thread_block();
  T* const tile = reinterpret_cast<T*>(shared_memory());
  const AxisNumbers &across = step.lane_axis, &down = step.cross_axis;
  const int width = step.tile_width, height = step.tile_height, pitch = height + 1;
  await_launch_before();
  for (Index number = blockIdx.y; number < step.tiles; number += gridDim.y) {
    const Index bands = quotient(number, step.by_panels);
    const Index outer = quotient(bands, step.by_cross_tiles);
    const Index x0 = (number - bands * step.panels) * width, y0 = (bands - outer * step.cross_tiles) * height;
    const Offsets base = offsets(step, step.tile, outer);
    const T* const in = reinterpret_cast<const T*>(step.in) + base.in + x0 * across.in + y0 * down.in;
    T* const out = reinterpret_cast<T*>(step.out) + base.out + x0 * across.out + y0 * down.out;
    const Index columns = across.size - x0, rows = down.size - y0;  // that are left, from here on
    for (int i = thread_of_block(); i < width * height; i += threads_of_block()) {
      const int x = i / height, y = i % height;
      if (x < columns && y < rows) tile[x * pitch + y] = in[x * across.in + y * down.in];
    }
    block.sync();
    for (int i = thread_of_block(); i < width * height; i += threads_of_block()) {
      const int x = i % width, y = i / width;
      if (x < columns && y < rows) out[x * across.out + y * down.out] = tile[x * pitch + y];
    }
    block.sync();  // the tile is used again
  }
}

}  // namespace ndfold::cuda
