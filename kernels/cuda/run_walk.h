// Walks runs of the lane axis in packs. A pack is aligned in memory wherever its run begins, so the ends of a run may
// be packs with fewer elements. Packs are numbered through: every run has as many as the one that needs most.
#pragma once
#include "kernels/cuda/line_walk.h"
#include "kernels/cuda/odometer.h"

namespace ndfold::cuda {

/// A pack among whole ones: where its run begins or, of `place`'s offsets, the pack itself; and its number in the run.
struct RunCursor {
  WalkPlace place;
  int pack;
};

/// Elements [begin, end), row-major, of the walked axes and the lane axis, from `base` on.
template <class Source>
class RunWalk {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  __device__ RunWalk(const Arguments& step, const T* base, Index begin, Index end)
      : step_(step), base_(base), begin_(begin), end_(end) {
    if (begin >= end) return;
    first_run_ = run_of(begin);
    last_run_ = run_of(end - 1) + 1;
    const Index size = step.lane_axis.size;
    whole_ = step.whole_runs && first_run_ * size == begin && last_run_ * size == end;
    const Index last_begin = (last_run_ - 1) * size;
    first_ = first_run_ * step.packs_of_run + (begin - first_run_ * size) / kSize;
    last_ = (last_run_ - 1) * step.packs_of_run + min_of((end - last_begin + 2 * kSize - 2) / kSize, step.packs_of_run);
  }

  __device__ Index first_run() const { return first_run_; }
  __device__ Index last_run() const { return last_run_; }
  /// Whether no pack is cut, and a cursor reaches them all.
  __device__ bool is_whole() const { return whole_ && last_ >> 30 == 0 && is_walked_by_digits(step_); }
  /// Whether a run is enough for `lanes` lanes.
  __device__ bool is_long(int lanes) const {
    return step_.packs_of_run > lanes && (kSize == 1 || step_.lane_axis.in == 1);
  }

  __device__ RunCursor cursor(Index pack) const {
    const Index run = quotient(pack, step_.by_packs), in_run = pack - run * step_.packs_of_run;
    RunCursor at{walk_place(step_, run), static_cast<int>(in_run)};
    at.place.in += in_run * kSize * (kSize == 1 ? step_.lane_axis.in : 1);
    at.place.out += in_run * (step_.lane_axis.out * kSize);
    return at;
  }
  __device__ void advance(RunCursor& at, const RunCursor& by) const {
    at.pack += by.pack;
    const bool carry = at.pack >= static_cast<int>(step_.packs_of_run);
    if (carry) at.pack -= static_cast<int>(step_.packs_of_run);
    advance_walk(step_, at.place, by.place, carry);
  }
  __device__ const T* element(const RunCursor& at) const { return base_ + at.place.in; }

  /// What belongs to the walk of one run.
  __device__ LineWalk<Source> line(Index run) const {
    const Offsets start = offsets(step_, step_.walk, run);
    const Index size = step_.lane_axis.size, before = run * size;
    return {step_.lane_axis, base_ + start.in, start.out, max_of(begin_ - before, 0), min_of(end_ - before, size)};
  }
  /// Of a pack of a line: lanes take the packs of a walk in turn, whatever the phase of a tile's first run.
  __device__ Index number(Index run, const LineWalk<Source>& line) const {
    return run == first_run_ ? -line.first() : run * step_.packs_of_run - first_;
  }

  /// Packs first() … last() - 1 cover the elements.
  __device__ Index first() const { return first_; }
  __device__ Index last() const { return last_; }

  /// Any pack; it may be empty.
  __device__ Place<T> place(Index pack) const {
    const Index run = quotient(pack, step_.by_packs);
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
    return {from + at * axis.in, start.out + at * axis.out, static_cast<int>(low), static_cast<int>(high)};
  }

 private:
  __device__ Index run_of(Index element) const {
    return step_.walk.rank == 0 ? 0 : quotient(element, step_.lane_axis.by);
  }

  const Arguments& step_;
  const T* base_;
  Index begin_, end_;
  Index first_run_ = 0, last_run_ = 0;
  Index first_ = 0, last_ = 0;
  bool whole_ = false;  // no pack is cut
};

}  // namespace ndfold::cuda
