// Tiles that travel: where the one of a turn lies, and which packs of it are a lane's, of rows and of columns. Packs of
// one are elements at any stride.
#pragma once
#include <ndfold/travelling.h>

#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// `extra`, of rows: elements between a line of memory and the row's begin, where parts begin at lines; of columns:
/// packs side by side.
struct TilePlace {
  Index in, out;
  int extra;
};
static_assert(sizeof(TilePlace) == kPlaceBytes);

/// A lane's packs of a tile: `count` of them, `hop` elements apart.
template <class T>
struct TravellingPacks {
  static constexpr bool kIsWhole = true;
  T* first;
  Index hop;
  int count;
  /// One after the other, from pack i on.
  struct Walk {
    T* now;
    Index hop;
    __device__ T* next() {
      T* const at = now;
      now += hop;
      return at;
    }
  };
  __device__ Walk from(int i) const { return {first + i * hop, hop}; }
};

/// Where a run begins, in packs from the tile's first.
struct BeginOfRun {
  int in, out;
};
static_assert(sizeof(BeginOfRun) == kRunBytes);

/// A lane's packs of a tile along several axes: every kHop-th, numbered through runs of `of_run` packs. Places of runs
/// stand in shared memory: found pack by pack they cost a fifth of the bandwidth.
template <class T, bool kIn, int kSize, int kHop>
struct TravellingPacksOfRuns {
  static constexpr bool kIsWhole = true;
  const BeginOfRun* runs;
  T* base;
  Index stride;  // of elements one by one
  int first, count, first_run, of_run;
  Divider by;
  __device__ T* at(int i) const {
    const int pack = first + i * kHop, run = of_run == 1 ? pack : static_cast<int>(narrow_quotient(pack, by));
    const BeginOfRun& begin = runs[run - first_run];
    const Index within = pack - run * of_run;
    return base + ((kIn ? begin.in : begin.out) + (kSize == 1 ? within * stride : within)) * kSize;
  }
  struct Walk {
    const TravellingPacksOfRuns& packs;
    int i;
    __device__ T* next() { return packs.at(i++); }
  };
  __device__ Walk from(int i) const { return {*this, i}; }
};

/// The places of a block's runs, `count` of them from `first` on, as far as there are so many of `all`.
template <int kSize>
__device__ BeginOfRun* find_runs(const Arguments& step, Index bytes_before, Index first, Index count, Index all) {
  auto* const runs = reinterpret_cast<BeginOfRun*>(shared_memory() + bytes_before);
  for (Index run = thread_of_block(); run < count && first + run < all; run += threads_of_block()) {
    const Offsets begin = offsets(step, step.walk, first + run);
    runs[run] = {static_cast<int>(begin.in / kSize), static_cast<int>(begin.out / kSize)};
  }
  return runs;
}

/// Where a lane has elements of a tile's ends that are no whole packs: of `at` and what follows those whose bit is set.
struct CutOff {
  int at = 0;
  unsigned which = 0;
};

/// The same, loaded: at most kCount.
template <class T, int kCount>
struct EndOfTile {
  CutOff cut;
  T elements[kCount] = {};

  /// Calls work(c, element at + c).
  template <class Work>
  __device__ void each(const Work& work) const {
#pragma unroll
    for (int c = 0; c < kCount; ++c)
      if ((cut.which >> c & 1) != 0) work(c, elements[c]);
  }
};

/// Between elements along lanes: of packs they are neighbours.
template <bool kIn, int kSize>
__device__ Index stride_of(const AxisNumbers& axis) {
  return kSize > 1 ? 1 : kIn ? axis.in : axis.out;
}

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

/// Rows: a part is packs of one line, from a line of memory on wherever the row begins in one. What a row has before
/// its first pack and after its last one are single elements of the first and of the last part.
template <class Source, int kThreads>
class TravellingRows {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;
  static constexpr int kLine = static_cast<int>(kTravellingLineBytes / sizeof(T));  // elements

 public:
  static constexpr int kStates = 1, kAcross = 1;  // columns of a lane, and lanes side by side
  static constexpr Index kBytes = sizeof(T);      // of one reduced index
  static constexpr bool kHasEnds = true, kIsJoined = false;
  static constexpr bool kHasRuns = false;  // whose places stand in shared memory
  static constexpr bool kPasses = true;    // a tile may be longer than the ring

  __device__ TravellingRows(const Arguments& step, Index)
      : step_(step),
        elements_(static_cast<int>(step.reduced)),
        begin_(static_cast<int>(blockIdx.x * step.part / kSize)),
        part_(static_cast<int>(step.part / kSize)) {}

  /// Where parts have no room for what lies between a line of memory and a row, they begin where its packs do.
  __device__ TilePlace place(Index tile) const {
    const Offsets base = offsets(step_, step_.tile, tile);
    const auto address = reinterpret_cast<std::uintptr_t>(reinterpret_cast<const T*>(step_.in) + base.in);
    const bool side_by_side = kSize > 1 || step_.lane_axis.in == 1;
    const int skew = side_by_side ? static_cast<int>(address / sizeof(T) % std::uintptr_t{kLine}) : 0;
    return {base.in, base.out, step_.parts * step_.part >= step_.reduced + skew ? skew : skew % kSize};
  }

  /// Of the input or of the output. The first lanes' first packs may lie before the row.
  template <bool kIn, class Element>
  __device__ TravellingPacks<Element> packs(Element* base, const TilePlace& place) const {
    const int from = first_of(thread_of_block(), place);
    const Index stride = stride_of<kIn, kSize>(step_.lane_axis), first = static_cast<Index>(from) * kSize - place.extra;
    return {base + (kIn ? place.in : place.out) + first * stride, kThreads * kSize * stride,
            count(thread_of_block(), from, place)};
  }

  /// Which element of a row's ends is the lane's, if any.
  __device__ CutOff end(const TilePlace& place) const {
    const int lane = thread_of_block(), tail = last_pack(place) * kSize - place.extra + lane - kSize;
    if (lane < kSize) return {lane, blockIdx.x == 0 && lane < first_pack(place) * kSize - place.extra};
    return {tail, lane < 2 * kSize && blockIdx.x + 1 == gridDim.x && tail < elements_};
  }

  /// Which pack is a lane's first, and how many it has from its pack `from` on.
  __device__ int first_of(int lane, const TilePlace& place) const {
    const int from = begin_ + lane;
    return from < first_pack(place) ? from + kThreads : from;
  }
  __device__ int count(int, int from, const TilePlace& place) const {
    const int last = last_pack(place);
    return count_until<kThreads>(begin_ + part_ < last ? begin_ + part_ : last, from);
  }

 private:
  // Whole packs, numbered from a line of memory on.
  __device__ static int first_pack(const TilePlace& place) { return (place.extra + kSize - 1) / kSize; }
  __device__ int last_pack(const TilePlace& place) const { return (place.extra + elements_) / kSize; }

  const Arguments& step_;
  int elements_, begin_, part_;
};

/// Rows that are runs of whole packs: a part is some of the packs of all runs.
template <class Source, int kThreads>
class TravellingRuns {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  static constexpr int kStates = 1, kAcross = 1;
  static constexpr Index kBytes = sizeof(T);
  static constexpr bool kHasEnds = false, kIsJoined = false, kHasRuns = true, kPasses = true;

  __device__ TravellingRuns(const Arguments& step, Index bytes_before) : step_(step) {
    const auto begin = static_cast<int>(blockIdx.x * step.part), left = static_cast<int>(step.reduced) - begin;
    const auto part = static_cast<int>(step.part);
    first_ = begin / kSize + thread_of_block();
    count_ = count_until<kThreads>((begin + (left < part ? left : part)) / kSize, first_);
    first_run_ = static_cast<int>(narrow_quotient(begin / kSize, step.by_packs));
    const Index size = step.packs_of_run * kSize;
    runs_ = find_runs<kSize>(step, bytes_before, first_run_, runs_of_part(step.part, size),
                             quotient(step.reduced, step.lane_axis.by));
  }

  __device__ TilePlace place(Index tile) const {
    const Offsets base = offsets(step_, step_.tile, tile);
    return {base.in, base.out, 0};
  }

  template <bool kIn, class Element>
  __device__ TravellingPacksOfRuns<Element, kIn, kSize, kThreads> packs(Element* base, const TilePlace& place) const {
    const int of_run = static_cast<int>(step_.packs_of_run);
    return {runs_,
            base + (kIn ? place.in : place.out),
            stride_of<kIn, kSize>(step_.lane_axis),
            first_,
            count_,
            first_run_,
            of_run,
            step_.by_packs};
  }

 private:
  const Arguments& step_;
  const BeginOfRun* runs_;
  int first_, count_, first_run_;
};

/// Columns: a part is rows of a panel, of which a lane has a pack of every n-th.
template <class Source, int kThreads>
class TravellingColumns {
  static constexpr int kSize = Source::kSize;

 public:
  static constexpr int kPanel = travelling_columns(sizeof(typename Source::Element));
  static constexpr int kStates = kSize, kAcross = kPanel / kSize;
  static constexpr Index kBytes = kTravellingLineBytes;
  static constexpr bool kHasEnds = false, kIsJoined = false, kHasRuns = !kIsInLine<Source>, kPasses = false;

  __device__ TravellingColumns(const Arguments& step, Index bytes_before)
      : step_(step), begin_(static_cast<int>(blockIdx.x * step.part)) {
    if constexpr (kHasRuns) rows_ = find_runs<kSize>(step, bytes_before, begin_, step.part, step.reduced);
    const int left = static_cast<int>(step.reduced) - begin_, part = static_cast<int>(step.part);
    count_ = count_until<kSlots>(left < part ? left : part, slot());
  }

  __device__ TilePlace place(Index tile) const {
    const AxisNumbers& axis = step_.lane_axis;
    const Index outer = quotient(tile, step_.by_panels);
    const Index start = (tile - outer * step_.panels) * kPanel, left = (axis.size - start) / kSize;
    const Offsets base = offsets(step_, step_.tile, outer);
    return {base.in + start * stride_of<true, kSize>(axis), base.out + start * stride_of<false, kSize>(axis),
            static_cast<int>(left < kAcross ? left : kAcross)};
  }

  template <bool kIn, class Element>
  __device__ auto packs(Element* base, const TilePlace& place) const {
    const int lane = thread_of_block() % kAcross, count = lane < place.extra ? count_ : 0, row = begin_ + slot();
    const Index column = lane * kSize * stride_of<kIn, kSize>(step_.lane_axis);
    Element* const from = base + (kIn ? place.in : place.out) + column;
    if constexpr (kHasRuns) {
      return TravellingPacksOfRuns<Element, kIn, kSize, kSlots>{rows_, from, 0, row, count, begin_, 1, {}};
    } else {
      const AxisNumbers& rows = step_.walk.near[0];
      const Index stride = kIn ? rows.in : rows.out;
      return TravellingPacks<Element>{from + row * stride, kSlots * stride, count};
    }
  }

 private:
  static constexpr int kSlots = kThreads / kAcross;
  __device__ static int slot() { return thread_of_block() / kAcross; }

  const Arguments& step_;
  const BeginOfRun* rows_ = nullptr;
  int begin_, count_;
};

}  // namespace ndfold::cuda
