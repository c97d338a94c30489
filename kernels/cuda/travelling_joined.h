// Few columns of rows that follow one another, as one long row that travels: lanes lie along the memory, and each pack
// of a lane holds the same columns.
#pragma once
#include "kernels/cuda/travelling_tiles.h"

namespace ndfold::cuda {

/// A part is packs of a line, from a line of memory on wherever the tensor's line begins in one, and whole rows long.
/// What a line has before its first pack and after its last one is cut off packs of the lanes that have these columns.
template <class Source, int kThreads>
class TravellingJoined {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;
  static constexpr int kLine = static_cast<int>(kTravellingLineBytes / sizeof(T));  // elements
  static constexpr unsigned kAll = (1u << kSize) - 1;                               // of a pack

 public:
  static constexpr int kStates = kSize, kAcross = kWarp;  // no lanes of a warp meet
  static constexpr bool kHasEnds = true, kHasRuns = false, kIsJoined = true, kPasses = true;

  __device__ TravellingJoined(const Arguments& step, Index)
      : step_(step),
        columns_(static_cast<int>(step.lane_axis.size)),
        lanes_(joined_lanes(kThreads, columns_, kSize)),
        elements_(static_cast<int>(step.reduced) * columns_),
        begin_(static_cast<int>(blockIdx.x * step.part * columns_ / kSize)),
        part_(static_cast<int>(step.part * columns_ / kSize)),
        of_part_(count_until(begin_ + part_, thread_of_block(), begin_ + thread_of_block())) {}

  __device__ Index part_bytes() const { return static_cast<Index>(part_) * kSize * Index{sizeof(T)}; }
  __device__ int lanes() const { return lanes_; }

  /// Where parts have no room for what lies between a line of memory and a row, they begin where its packs do.
  __device__ TilePlace place(Index tile) const {
    const Offsets base = offsets(step_, step_.tile, tile);
    const auto address = reinterpret_cast<std::uintptr_t>(reinterpret_cast<const T*>(step_.in) + base.in);
    const int skew = static_cast<int>(address / sizeof(T) % std::uintptr_t{kLine});
    const bool has_room = static_cast<Index>(gridDim.x) * part_ * kSize >= static_cast<Index>(elements_) + skew;
    return {base.in, base.out, has_room ? skew : skew % kSize};
  }

  /// Of the input or of the output. The first lanes' first packs may lie before the line.
  template <bool kIn, class Element>
  __device__ TravellingPacks<Element> packs(Element* base, const TilePlace& place) const {
    const int lane = thread_of_block(), from = first_of(lane, place), end = end_of(place);
    const Index first = static_cast<Index>(from) * kSize - place.extra;
    const bool is_whole = end == begin_ + part_ && from == begin_ + lane;
    return {base + (kIn ? place.in : place.out) + first, static_cast<Index>(lanes_) * kSize,
            is_whole ? of_part_ : count_until(end, lane, from)};
  }

  /// What is cut off a pack of the lane: at either end.
  __device__ CutOff end(const TilePlace& place) const {
    const int lane = thread_of_block(), first = first_pack(place) - 1, last = last_pack(place);
    const int before = first * kSize - place.extra, after = last * kSize - place.extra;
    if (blockIdx.x == 0 && before > -kSize && before < 0 && lane == first) return {before, kAll & kAll << -before};
    const bool is_mine = last >= begin_ && (last < begin_ + part_ || blockIdx.x + 1 == gridDim.x);
    if (is_mine && after < elements_ && lane == (last - begin_) % lanes_) return {after, ~(~0u << (elements_ - after))};
    return {};
  }

  /// Which pack is a lane's first, and how many it has from its pack `from` on.
  __device__ int first_of(int lane, const TilePlace& place) const {
    const int from = begin_ + lane;
    return from < first_pack(place) ? from + lanes_ : from;
  }
  __device__ int count(int lane, int from, const TilePlace& place) const {
    return count_until(end_of(place), lane, from);
  }

 private:
  __device__ int end_of(const TilePlace& place) const {
    const int last = last_pack(place);
    return begin_ + part_ < last ? begin_ + part_ : last;
  }
  __device__ int count_until(int end, int lane, int from) const {
    return lane < lanes_ && end > from
               ? static_cast<int>(static_cast<unsigned>(end - from - 1) / static_cast<unsigned>(lanes_)) + 1
               : 0;
  }
  // Whole packs, numbered from a line of memory on.
  __device__ static int first_pack(const TilePlace& place) { return (place.extra + kSize - 1) / kSize; }
  __device__ int last_pack(const TilePlace& place) const { return (place.extra + elements_) / kSize; }

  const Arguments& step_;
  int columns_, lanes_;  // lanes: those that have packs
  int elements_, begin_, part_;
  int of_part_;  // a lane's packs, where none is cut off
};

}  // namespace ndfold::cuda
