// Rows that travel: where the one of a turn lies, and which packs of it are a lane's.
#pragma once
#include <ndfold/travelling.h>

#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// `skew`: packs between a line of memory and the row's begin, where parts begin at lines.
struct RowPlace {
  Index in, out;
  int skew;
};
static_assert(sizeof(RowPlace) == kPlaceBytes);

/// A lane's packs of a row: `count` of them, kThreads apart.
template <class T>
struct TravellingPacks {
  T* at;
  int count;
};

/// A part is packs of one row, from a line of memory on wherever the row begins in one.
template <class Source, int kThreads>
class TravellingRows {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;
  static constexpr int kLine = static_cast<int>(kTravellingLineBytes) / kVectorBytes;  // packs
  static constexpr int kTurns = static_cast<int>(kTurnsOfPlaces), kAtOnce = kTurns / 4;
  static_assert(kAtOnce >= kMostPlacesOfRing);

 public:
  __device__ TravellingRows(const Arguments& step, Index places)
      : step_(step),
        places_(reinterpret_cast<RowPlace*>(shared_memory() + places)),
        packs_(static_cast<int>(step.reduced / kSize)),
        begin_(static_cast<int>(blockIdx.x * step.part / kSize)),
        part_(static_cast<int>(step.part / kSize)),
        turns_(static_cast<int>((step.tiles - blockIdx.y + gridDim.y - 1) / gridDim.y)),
        has_room_(step.parts * part_ >= packs_ + kLine - 1) {}

  /// Rows of this group.
  __device__ int turns() const { return turns_; }

  /// Finds where the first rows lie, which others may ask after a barrier.
  __device__ void find_first() const {
    if (thread_of_block() < 3 * kAtOnce) find(thread_of_block());
  }
  /// And later ones, once nobody asks for a row of two turns earlier any more.
  __device__ void find_later(int turn) const {
    const int lane = thread_of_block() - kWarp;  // of a warp that has nothing else to do
    if (turn % kAtOnce == 0 && turn > 0 && lane >= 0 && lane < kAtOnce) find(turn + 2 * kAtOnce + lane);
  }

  __device__ TravellingPacks<const T> in(int turn) const {
    const RowPlace place = read_state(places_ + turn % kTurns);
    return packs(reinterpret_cast<const T*>(step_.in) + place.in, place.skew);
  }
  template <class Out>
  __device__ TravellingPacks<Out> out(int turn) const {
    const RowPlace place = read_state(places_ + turn % kTurns);
    return packs(reinterpret_cast<Out*>(step_.out) + place.out, place.skew);
  }

 private:
  __device__ void find(int turn) const {
    if (turn >= turns_) return;
    const Offsets base = offsets(step_, step_.tile, blockIdx.y + static_cast<Index>(turn) * gridDim.y);
    const auto address = reinterpret_cast<std::uintptr_t>(reinterpret_cast<const T*>(step_.in) + base.in);
    const int skew = has_room_ ? static_cast<int>(address / kVectorBytes % std::uintptr_t{kLine}) : 0;
    places_[turn % kTurns] = {base.in, base.out, skew};
  }

  // The first lanes' first packs may lie before the row.
  template <class Element>
  __device__ TravellingPacks<Element> packs(Element* row, int skew) const {
    const int end = (begin_ + part_ < packs_ + skew ? begin_ + part_ : packs_ + skew) - skew;
    int from = begin_ + thread_of_block() - skew;
    if (from < 0) from += kThreads;
    const int count = end > from ? static_cast<int>(static_cast<unsigned>(end - from - 1) / unsigned{kThreads}) + 1 : 0;
    return {row + static_cast<Index>(from) * kSize, count};
  }

  const Arguments& step_;
  RowPlace* places_;
  int packs_, begin_, part_, turns_;
  bool has_room_;  // for what lies before a row; else rows begin alike, and parts where they do
};

}  // namespace ndfold::cuda
