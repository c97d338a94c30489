// Tiles that travel: where the one of a turn lies, and which packs of it are a lane's, of rows and of columns.
#pragma once
#include <ndfold/travelling.h>

#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// `extra`, of rows: packs between a line of memory and the row's begin, where parts begin at lines; of columns: packs
/// side by side.
struct TilePlace {
  Index in, out;
  int extra;
};
static_assert(sizeof(TilePlace) == kPlaceBytes);

/// A lane's packs of a tile: `count` of them, `hop` elements apart.
template <class T>
struct TravellingPacks {
  T* at;
  Index hop;
  int count;
};

/// Numbers from, from + kHop, ... below `end`.
template <int kHop>
__device__ int count_until(int end, int from) {
  return end > from ? static_cast<int>(static_cast<unsigned>(end - from - 1) / unsigned{kHop}) + 1 : 0;
}

/// Places of a few turns, which few threads find some barriers before all ask.
class TilePlaces {
  static constexpr int kTurns = static_cast<int>(kTurnsOfPlaces), kAtOnce = kTurns / 4;
  static_assert(kAtOnce >= kMostPlacesOfRing);

 public:
  __device__ TilePlaces(const Arguments& step, Index bytes_before)
      : places_(reinterpret_cast<TilePlace*>(shared_memory() + bytes_before)),
        turns_(static_cast<int>((step.tiles - blockIdx.y + gridDim.y - 1) / gridDim.y)) {}

  /// Tiles of this group.
  __device__ int turns() const { return turns_; }

  /// Finds where the first tiles lie, which others may ask after a barrier.
  template <class Tiles>
  __device__ void find_first(const Tiles& tiles) const {
    if (thread_of_block() < 3 * kAtOnce) find(tiles, thread_of_block());
  }
  /// And later ones, once nobody asks for a tile of two turns earlier any more.
  template <class Tiles>
  __device__ void find_later(const Tiles& tiles, int turn) const {
    const int lane = thread_of_block() - kWarp;  // of a warp that has nothing else to do
    if (turn % kAtOnce == 0 && turn > 0 && lane >= 0 && lane < kAtOnce) find(tiles, turn + 2 * kAtOnce + lane);
  }

  __device__ TilePlace of(int turn) const { return read_state(places_ + turn % kTurns); }

 private:
  template <class Tiles>
  __device__ void find(const Tiles& tiles, int turn) const {
    if (turn < turns_) places_[turn % kTurns] = tiles.place(blockIdx.y + static_cast<Index>(turn) * gridDim.y);
  }

  TilePlace* places_;
  int turns_;
};

/// Rows: a part is packs of one line, from a line of memory on wherever the row begins in one.
template <class Source, int kThreads>
class TravellingRows {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;
  static constexpr int kLine = static_cast<int>(kTravellingLineBytes) / kVectorBytes;  // packs

 public:
  static constexpr int kStates = 1, kAcross = 1;  // columns of a lane, and lanes side by side
  static constexpr Index kBytes = sizeof(T);      // of one reduced index

  __device__ explicit TravellingRows(const Arguments& step)
      : step_(step),
        packs_(static_cast<int>(step.reduced / kSize)),
        begin_(static_cast<int>(blockIdx.x * step.part / kSize)),
        part_(static_cast<int>(step.part / kSize)),
        has_room_(step.parts * part_ >= packs_ + kLine - 1) {}

  __device__ TilePlace place(Index tile) const {
    const Offsets base = offsets(step_, step_.tile, tile);
    const auto address = reinterpret_cast<std::uintptr_t>(reinterpret_cast<const T*>(step_.in) + base.in);
    return {base.in, base.out, has_room_ ? static_cast<int>(address / kVectorBytes % std::uintptr_t{kLine}) : 0};
  }

  /// Of the input or of the output. The first lanes' first packs may lie before the row.
  template <bool kIn, class Element>
  __device__ TravellingPacks<Element> packs(Element* base, const TilePlace& place) const {
    const int skew = place.extra, end = (begin_ + part_ < packs_ + skew ? begin_ + part_ : packs_ + skew) - skew;
    int from = begin_ + thread_of_block() - skew;
    if (from < 0) from += kThreads;
    return {base + (kIn ? place.in : place.out) + static_cast<Index>(from) * kSize, kThreads * kSize,
            count_until<kThreads>(end, from)};
  }

 private:
  const Arguments& step_;
  int packs_, begin_, part_;
  bool has_room_;  // for what lies before a row; else rows begin alike, and parts where they do
};

/// Columns: a part is rows of a panel, of which a lane has a pack of every n-th.
template <class Source, int kThreads>
class TravellingColumns {
  static constexpr int kSize = Source::kSize;

 public:
  static constexpr int kStates = kSize, kAcross = kTravellingColumns / kSize;
  static constexpr Index kBytes = kTravellingLineBytes;

  __device__ explicit TravellingColumns(const Arguments& step)
      : step_(step), begin_(static_cast<int>(blockIdx.x * step.part)) {
    const int left = static_cast<int>(step.reduced) - begin_, part = static_cast<int>(step.part);
    count_ = count_until<kSlots>(left < part ? left : part, slot());
  }

  __device__ TilePlace place(Index tile) const {
    const AxisNumbers& axis = step_.lane_axis;
    const Index outer = quotient(tile, step_.by_panels);
    const Index start = (tile - outer * step_.panels) * kTravellingColumns, left = (axis.size - start) / kSize;
    const Offsets base = offsets(step_, step_.tile, outer);
    return {base.in + start, base.out + start, static_cast<int>(left < kAcross ? left : kAcross)};
  }

  template <bool kIn, class Element>
  __device__ TravellingPacks<Element> packs(Element* base, const TilePlace& place) const {
    const AxisNumbers& rows = step_.walk.near[0];
    const Index stride = kIn ? rows.in : rows.out;
    const int lane = thread_of_block() % kAcross;
    return {base + (kIn ? place.in : place.out) + lane * kSize + (begin_ + slot()) * stride, kSlots * stride,
            lane < place.extra ? count_ : 0};
  }

 private:
  static constexpr int kSlots = kThreads / kAcross;
  __device__ static int slot() { return thread_of_block() / kAcross; }

  const Arguments& step_;
  int begin_, count_;
};

}  // namespace ndfold::cuda
