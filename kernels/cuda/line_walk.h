// Walks one contiguous line in packs: what RunWalk does when there is nothing to walk around it, in a few instructions
// a pack.
#pragma once
#include "kernels/cuda/run_walk.h"

namespace ndfold::cuda {

/// Elements [begin, end) of neighbours from `base` on. All packs are whole but perhaps the first and the last.
template <class Source>
class LineWalk {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  static constexpr bool kAligned = true;

  __device__ LineWalk(const Arguments& step, const T* base, Index begin, Index end)
      : phase_(phase_of<kSize>(base)), weight_(step.lane_axis.out), line_(base - phase_) {
    if (begin >= end) return;
    first_ = (begin + phase_) / kSize;
    last_ = (end + phase_ - 1) / kSize + 1;
    low_ = static_cast<int>(begin + phase_ - first_ * kSize);
    high_ = static_cast<int>(end + phase_ - (last_ - 1) * kSize);
  }

  /// Packs `lanes` apart from `pack` on, kUnroll of them: whether an end of the line cuts one of them.
  template <int kUnroll>
  __device__ bool cuts(Index pack, int lanes) const {
    if (low_ == 0 && high_ == kSize) return false;
    bool cut = low_ != 0 && pack == first_;
    const int last = left(pack) - 1;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) cut = cut || (high_ != kSize && u * lanes == last);
    return cut;
  }
  /// Packs from `pack` on, or more than a batch has.
  __device__ int left(Index pack) const { return static_cast<int>(min_of(last_ - pack, Index{1} << 30)); }
  /// A bit an element of the pack that belongs.
  __device__ unsigned here(Index pack) const {
    return bits_between(pack == first_ ? low_ : 0, pack == last_ - 1 ? high_ : kSize);
  }
  using Cursor = Index;
  __device__ Cursor cursor(Index pack) const { return pack; }
  __device__ Cursor stride(int lanes) const { return lanes; }
  __device__ void advance(Cursor& at, const Cursor& by) const { at += by; }
  __device__ const Pack<T, kSize>* vector(const Cursor& at) const {
    return reinterpret_cast<const Pack<T, kSize>*>(line_) + at;
  }
  __device__ Index out(const Cursor& at) const { return (at * kSize - phase_) * weight_; }

  __device__ Index first() const { return first_; }
  __device__ Index last() const { return last_; }

  __device__ Place<T> place(Index pack) const {
    const Index at = pack * kSize;
    return {line_ + at, (at - phase_) * weight_, 0, pack == first_ ? low_ : 0, pack == last_ - 1 ? high_ : kSize};
  }

 private:
  int phase_;
  Index weight_;
  const T* line_;
  Index first_ = 0, last_ = 0;
  int low_ = 0, high_ = 0;
};

}  // namespace ndfold::cuda
