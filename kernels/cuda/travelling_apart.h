// Rows, and rows that are joined, that travel and whose results begin elsewhere in a pack than their elements: lanes of
// a warp pass elements on, so that whole packs are stored.
#pragma once
#include "kernels/cuda/shifted_stores.h"
#include "kernels/cuda/travelling_joined.h"
#include "kernels/cuda/travelling_tiles.h"

namespace ndfold::cuda {

/// A lane's results. All lanes of a warp store as many, some of them nothing.
template <class Out, int kSize>
struct TravellingResultsApart : TravellingPacks<Out> {
  static constexpr bool kIsWhole = false;
  int of_warp;                     ///< packs of any of its lanes at most
  const Out *stop, *stop_of_next;  ///< where the lane's packs end, and those of the next, which begin a pack later
  int shift;
  bool preceded;  ///< the lane before has packs that begin a pack earlier

  __device__ void store(const Pack<Out, kSize>& results, Out* to) const {
    store_shifted(results.at, to, shift, to < stop, preceded, to + kSize < stop_of_next);
  }
};

/// Tiles of rows, or of those that are joined.
template <class Tiles, class Source>
class TravellingApart : public Tiles {
  static constexpr int kSize = Source::kSize;

 public:
  using Tiles::Tiles;

  template <bool kIn, class Element>
  __device__ auto packs(Element* base, const TilePlace& place) const {
    const auto mine = Tiles::template packs<kIn>(base, place);
    if constexpr (kIn) {
      return mine;
    } else {
      const int lane = thread_of_block(), near = lane_of_warp(), from = Tiles::first_of(lane, place);
      const int next = Tiles::first_of(lane + 1, place);
      const bool preceded = near > 0 && Tiles::first_of(lane - 1, place) + 1 == from;
      const bool followed = near + 1 < kWarp && from + 1 == next;
      return TravellingResultsApart<Element, kSize>{
          mine,
          meet_lanes(mine.count, 1, kWarp, [](int a, int b) { return a < b ? b : a; }),
          mine.first + mine.count * mine.hop,
          followed ? mine.first + kSize + Tiles::count(lane + 1, next, place) * mine.hop : nullptr,
          phase_of<kSize>(mine.first),
          preceded};
    }
  }
};

template <class Source, int kThreads>
using TravellingRowsApart = TravellingApart<TravellingRows<Source, kThreads>, Source>;
template <class Source, int kThreads>
using TravellingJoinedApart = TravellingApart<TravellingJoined<Source, kThreads>, Source>;

}  // namespace ndfold::cuda
