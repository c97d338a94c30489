// How a block goes through bundles of short stretches of memory that lie one after the other: it brings them into
// shared memory while it works on the bundle before, and sends results away.
#pragma once
#include "kernels/cuda/ring.h"

#include <type_traits>

namespace ndfold::cuda {

/// Which rows of a bundle a lane folds, and its place in them. A warp's rows lie `spacing` apart, so that its lanes
/// find them in different banks of shared memory: lanes · odd numbers, whatever the length of a row.
struct LanesOfBundle {
  int lanes, lane_bits, lane, row, rows_at_once;

  __device__ explicit LanesOfBundle(const Arguments& step) : lanes(step.lanes), lane_bits(step.lane_bits) {
    rows_at_once = threads_of_block() >> lane_bits;
    if (lanes > kWarp) {
      lane = thread_of_block();
      row = 0;
      return;
    }
    const int warp = thread_of_block() / kWarp, in_warp = lane_of_warp(), spacing = 1 << step.spacing_bits;
    lane = in_warp & (lanes - 1);
    row = (warp >> step.spacing_bits) * (kWarp >> lane_bits) * spacing + (in_warp >> lane_bits) * spacing +
          (warp & (spacing - 1));
  }
};

/// Calls visit() with the constant that is `count`, and says so, if that is one of kCounts: rows of a few packs have
/// loops of their own.
template <int... kCounts, class Visit>
__device__ bool visit_count(int count, const Visit& visit) {
  return ((count == kCounts && (visit(std::integral_constant<int, kCounts>()), true)) || ...);
}

/// Asks for elements that lie one after the other, once a line of the cache.
template <class T>
__device__ void ask_for_stretch(const T* from, int count) {
  constexpr int kLineBytes = 128, kOfLine = kLineBytes / static_cast<int>(sizeof(T));
  for (int i = thread_of_block() * kOfLine; i < count; i += threads_of_block() * kOfLine) ask_early(from + i);
}

/// Bundles of step.rows_of_bundle stretches of `length` elements, of which there are step.tiles: take(elements, how
/// many, number of the first). Results of a sink that maps take the places of their elements.
template <class Sink, class Element, class Take>
__device__ void walk_bundles(const Arguments& step, int length, const Take& take) {
  const int most = step.rows_of_bundle;
  const Index hop = static_cast<Index>(gridDim.y) * most;
  const auto rows_at = [&](Index row) {
    const Index left = step.tiles - row;
    return left >= most ? most : left > 0 ? static_cast<int>(left) : 0;
  };
  Ring<Element> ring(step, step.tiles * length);
  const auto block = cg::this_thread_block();
  const bool single = step.places == 1;
  const int ahead = single ? 1 : step.places - 1;
  Index row = static_cast<Index>(blockIdx.y) * most;
  if (has_few_blocks())
    ask_for_stretch(reinterpret_cast<const Element*>(step.in) + row * length, rows_at(row) * length);
  await_launch_before(hop, ahead);
  for (int place = 0; place < ahead; ++place, row += hop) ring.bring(place, row * length, rows_at(row) * length);
  row -= ahead * hop;
  for (int place = 0; row < step.tiles; row += hop, place = place + 1 < step.places ? place + 1 : 0) {
    const int rows = rows_at(row);
    Element* const elements = ring.await(place, row * length);
    const auto bring = [&] {
      const Index later = row + ahead * hop;
      ring.bring(place > 0 ? place - 1 : step.places - 1, later * length, rows_at(later) * length);
    };
    if (!Sink::kMaps && !single) bring();
    take(elements, rows, row);
    if constexpr (Sink::kMaps) ring.send(elements, row * length, rows * length);
    if (single) block.sync();            // all are done with the only place
    if (Sink::kMaps || single) bring();  // where results of the bundle before have left by now
  }
  ring.await_sent();
}

}  // namespace ndfold::cuda
