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

  __device__ static bool serves(const Arguments& step) { return step.walk_rank == 0 && step.lane_axis.in == 1; }

  __device__ LineWalk(const Arguments& step, const T* base, Index begin, Index end)
      : phase_(phase_of<kSize>(base)), weight_(step.lane_axis.out), line_(base - phase_) {
    if (begin >= end) return;
    first_ = (begin + phase_) / kSize;
    last_ = (end + phase_ - 1) / kSize + 1;
    low_ = static_cast<int>(begin + phase_ - first_ * kSize);
    high_ = static_cast<int>(end + phase_ - (last_ - 1) * kSize);
  }

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
