// Walks runs of the lane axis in packs: which pack a lane takes, which of its elements belong to the walk, where they
// lie. A pack is aligned in memory wherever its run begins, so the ends of a run are packs with fewer elements.
#pragma once
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// One pack: its first element may lie before the run.
template <class T>
struct Place {
  const T* in;
  Index out;    ///< offset in the output, or number within the reduced axes
  Index value;  ///< offset in the values
  int low, high;
};

__device__ inline Index min_of(Index a, Index b) { return a < b ? a : b; }
__device__ inline Index max_of(Index a, Index b) { return a > b ? a : b; }

__device__ inline unsigned bits_between(int low, int high) { return ((1u << high) - 1) & ~((1u << low) - 1); }

/// Elements between the last multiple of a pack and `from`.
template <int kSize, class T>
__device__ int phase_of(const T* from) {
  if constexpr (kSize == 1)
    return 0;
  else
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(from) / sizeof(T) % kSize);
}

/// Elements [begin, end), row-major, of the walked axes and the lane axis, from `base` on.
template <class Source>
class RunWalk {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  static constexpr bool kAligned = false;  ///< place() gives aligned packs

  /// A pack among whole ones: its run, and its number in the run. Steps cost no division.
  struct Cursor {
    int run, pack;
  };

  __device__ RunWalk(const Arguments& step, const T* base, Index begin, Index end)
      : step_(step), base_(base), begin_(begin), end_(end) {
    if (begin >= end) return;
    first_ = pack_of(begin);
    last_ = pack_of(end - 1) + 1;
    whole_ = step.whole_runs && begin % kSize == 0 && end % kSize == 0;
    steps_ = whole_ && last_ >> 30 == 0;
  }

  /// Packs `lanes` apart from `pack` on, kUnroll of them: whether one has to be looked up by place().
  template <int kUnroll>
  __device__ bool cuts(Index, int) const {
    return !steps_;
  }
  /// Packs from `pack` on.
  __device__ int left(Index pack) const { return static_cast<int>(last_ - pack); }
  __device__ Cursor cursor(Index pack) const {
    const int run = static_cast<int>(quotient(pack, step_.by_packs));
    return {run, static_cast<int>(pack) - run * static_cast<int>(step_.packs_of_run)};
  }
  /// A bit an element of the pack that belongs.
  __device__ unsigned here(Index pack) const {
    const auto at = place(pack);
    return at.low < at.high ? bits_between(at.low, at.high) : 0;
  }
  /// How far `lanes` packs are; for advance().
  __device__ Cursor stride(int lanes) const { return cursor(lanes); }
  __device__ void advance(Cursor& at, const Cursor& by) const {
    at.run += by.run;
    at.pack += by.pack;
    if (at.pack >= step_.packs_of_run) {
      at.pack -= static_cast<int>(step_.packs_of_run);
      ++at.run;
    }
  }
  __device__ const Pack<T, kSize>* vector(const Cursor& at) const {
    return reinterpret_cast<const Pack<T, kSize>*>(base_ + offsets(step_, step_.walk, at.run).in) + at.pack;
  }
  /// Of the pack's first element: its place in the output, or its number within the reduced axes.
  __device__ Index out(const Cursor& at) const {
    return offsets(step_, step_.walk, at.run).out + at.pack * step_.lane_axis.out * kSize;
  }

  /// Packs first() … last() - 1 cover the elements.
  __device__ Index first() const { return first_; }
  __device__ Index last() const { return last_; }

  __device__ Place<T> place(Index pack) const {
    const Index run = step_.walk.rank == 0 ? 0 : quotient(pack, step_.by_packs);
    const Offsets start = offsets(step_, step_.walk, run);
    const AxisNumbers& axis = step_.lane_axis;
    const T* from = base_ + start.in;
    Index at = (pack - run * step_.packs_of_run) * kSize;  // of element 0, within the run
    Index low = 0, high = kSize;
    if (!whole_) {
      at -= phase_of<kSize>(from);
      const Index number = run * axis.size + at;  // of element 0, within the walk
      low = max_of(max_of(-at, begin_ - number), 0);
      high = min_of(min_of(axis.size - at, end_ - number), kSize);
    }
    return {from + at * axis.in, start.out + at * axis.out, start.value + at * axis.value, static_cast<int>(low),
            static_cast<int>(high)};
  }

 private:
  __device__ Index pack_of(Index element) const {
    if (step_.walk.rank == 0) return (element + phase_of<kSize>(base_)) / kSize;
    const Index run = quotient(element, step_.lane_axis.by);
    const T* from = base_ + offsets(step_, step_.walk, run).in;
    return run * step_.packs_of_run + (element - run * step_.lane_axis.size + phase_of<kSize>(from)) / kSize;
  }

  const Arguments& step_;
  const T* base_;
  Index begin_, end_;
  Index first_ = 0, last_ = 0;
  bool whole_ = false;  // no pack is cut
  bool steps_ = false;  // nor are there too many for a Cursor
};

}  // namespace ndfold::cuda
