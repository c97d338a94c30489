// The ends of streamed runs: neighbours that share a line wait here until it is whole, so that no line is fetched.
#pragma once
#include "kernels/cpu/softmax_looks.h"

namespace ndfold::simd {

template <class T>
class StreamedLine {
  static constexpr Index kWidth = kLanes<LanesOf<NumberOf<T>>>;

 public:
  /// Elements of a run of n at `to` that come before its first whole line: where to put them, until `add`.
  Index begin(T* to, Index n) {
    if (to != at_ + count_) flush();
    if (count_ == 0) {
      const Index skipped = (kWidth - unaligned_elements(to)) % kWidth;
      if (skipped == 0) return 0;
      at_ = to - skipped;
      first_ = count_ = skipped;
    }
    return std::min(kWidth - count_, n);
  }
  T* next() { return line_ + count_; }
  void add(Index n) {
    count_ += n;
    if (count_ == kWidth) flush();
  }
  /// The n elements at `to`, a line's address, that end a run: put them at next().
  void end(T* to) {
    at_ = to;
    first_ = count_ = 0;
  }
  void flush() {
    if (first_ == 0 && count_ == kWidth)
      stream_line(at_, line_);
    else
      for (Index i = first_; i < count_; ++i) at_[i] = line_[i];
    first_ = count_ = 0;
    at_ = nullptr;
  }

 private:
  T* at_ = nullptr;
  Index first_ = 0, count_ = 0;
  alignas(64) T line_[kWidth] = {};
};

}  // namespace ndfold::simd
