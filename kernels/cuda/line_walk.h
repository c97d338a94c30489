// One line of elements in packs: which packs cover it, which of them are whole, where they lie. The elements are
// neighbours, or `in` apart and each a pack of its own.
#pragma once
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// One pack: its first element may lie before the line.
template <class T>
struct Place {
  const T* in;
  Index out;  ///< offset in the output, or number within the reduced axes
  int low, high;
};

__device__ inline Index min_of(Index a, Index b) { return a < b ? a : b; }
__device__ inline Index max_of(Index a, Index b) { return a > b ? a : b; }

/// Elements [begin, end) of a line from `base` on. All packs are whole but perhaps the first and the last.
template <class Source>
class LineWalk {
  using T = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  using P = Pack<T, kSize>;

  __device__ LineWalk(const Arguments& step, const T* base, Index begin, Index end)
      : LineWalk(step.lane_axis, base, 0, begin, end) {}

  /// `out`: of element 0, where the line is one of several.
  __device__ LineWalk(const AxisNumbers& axis, const T* base, Index out, Index begin, Index end)
      : phase_(phase_of<kSize>(base)), weight_(axis.out), line_(base - phase_), out_(out) {
    if constexpr (kSize == 1) in_ = axis.in;
    if (begin >= end) return;
    constexpr std::uint64_t kPack = kSize;  // unsigned: divisions are shifts
    const auto from = static_cast<std::uint64_t>(begin + phase_), to = static_cast<std::uint64_t>(end + phase_ - 1);
    first_ = static_cast<Index>(from / kPack);
    last_ = static_cast<Index>(to / kPack) + 1;
    low_ = static_cast<int>(from % kPack);
    high_ = static_cast<int>(to % kPack) + 1;
  }

  /// Packs first() … last() - 1 cover the elements.
  __device__ Index first() const { return first_; }
  __device__ Index last() const { return last_; }
  /// Those of them that are whole: perhaps none.
  __device__ Index first_whole() const { return first_ + (low_ != 0); }
  __device__ Index last_whole() const { return last_ - (high_ != kSize && last_ > first_); }
  /// Of the two ends: whether it cuts a pack that the other end did not.
  __device__ bool cuts(int end) const { return end == 0 ? low_ != 0 : high_ != kSize && last_ > first_ + (low_ != 0); }
  __device__ Index cut_pack(int end) const { return end == 0 ? first_ : last_ - 1; }

  /// Whether no pack is cut but at the ends of all.
  __device__ static constexpr bool is_whole() { return true; }
  /// The first packs of a line that has more, and the rest of it.
  __device__ LineWalk front(Index packs) const {
    LineWalk line = *this;
    line.last_ = first_ + packs;
    line.high_ = kSize;
    return line;
  }
  __device__ LineWalk back(Index packs) const {
    LineWalk line = *this;
    line.first_ = first_ + packs;
    line.low_ = 0;
    return line;
  }
  __device__ Index weight() const { return weight_; }
  /// Elements between packs that are `packs` apart.
  __device__ Index pitch(Index packs) const {
    if constexpr (kSize == 1)
      return packs * in_;
    else
      return packs * kSize;
  }
  __device__ const T* element(Index pack) const { return line_ + pitch(pack); }
  __device__ static P load(const T* from) { return *reinterpret_cast<const P*>(from); }
  /// Of the pack's first element: its place in the output, or its number within the reduced axes.
  __device__ Index out(Index pack) const { return out_ + (pack * kSize - phase_) * weight_; }
  __device__ Place<T> place(Index pack) const {
    return {element(pack), out(pack), pack == first_ ? low_ : 0, pack == last_ - 1 ? high_ : kSize};
  }

 private:
  int phase_;
  Index weight_, in_ = 1;
  const T* line_;
  Index out_;
  Index first_ = 0, last_ = 0;
  int low_ = 0, high_ = kSize;
};

}  // namespace ndfold::cuda
