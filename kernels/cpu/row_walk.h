// Walks the reduced elements of one output, leaf by leaf. Dense runs are folded where they lie; strided ones and other
// element types pass through a buffer in L1: no input is ever copied whole.
#pragma once
#include "kernels/cpu/element_types.h"
#include "kernels/cpu/leaf.h"
#include "kernels/cpu/odometer.h"

#include <algorithm>

namespace ndfold::simd {

/// Types that are only ever read where they lie.
template <class T>
inline constexpr bool kNeverStaged = kIs16BitFloat<T>;
template <class T, bool kFloating>
inline constexpr bool kNeverStaged<Word<T, kFloating>> = true;

/// Leaves of type T: where they lie, or staged.
template <class T, Loading kLoading>
class RowWalk {
  static constexpr int kPrefetchedLines = 8;

 public:
  /// Elements [begin, end) of the reduced axes, row-major, of the output whose first element is at `base`. Leaves that
  /// are folded where they lie have at most `limit` elements.
  RowWalk(const Arguments& step, const std::byte* base, Index begin, Index end, Index limit = kChunk)
      : base_(base),
        type_(step.input),
        run_(inner(step.reduced)),
        left_(end - begin),
        position_(begin < run_.size ? begin : begin % run_.size),
        outer_(outer(step.reduced), begin < run_.size ? 0 : begin / run_.size),
        direct_(kNeverStaged<T> || (run_.in == 1 && lies_as<T, kLoading>(type_))),
        limit_(direct_ ? limit : kChunk),
        is_far_(direct_ && is_looked_at_again(step)),
        is_waited_for_(direct_ && is_waited_for(step)) {}

  bool next(Leaf<T>& leaf) {
    leaf.count = 0;
    leaf.elements = 0;
    leaf.is_far = is_far_, leaf.is_waited_for = is_waited_for_;
    while (left_ > 0 && leaf.elements < limit_ && leaf.count < Leaf<T>::kSegments) {
      const Index n = std::min({run_.size - position_, left_, limit_ - leaf.elements});
      const std::byte* from = advance(base_, type_, outer_.in() + position_ * run_.in);
      leaf.segments[leaf.count++] = {
          .start = direct_ ? reinterpret_cast<const T*>(from) : staged(from, n, leaf.elements),
          .length = n,
          .index = outer_.out() + position_ * run_.out,
          .weight = run_.out};
      leaf.elements += n;
      left_ -= n;
      if ((position_ += n) == run_.size) position_ = 0, outer_.next(), prefetch();
    }
    return leaf.elements > 0;
  }

 private:
  // The next run starts on another page: ask for its first lines while this leaf is folded.
  [[gnu::always_inline]] void prefetch() const {  // or GCC takes it for pure, and drops it
    if (left_ == 0) return;
    const std::byte* next = advance(base_, type_, outer_.in());
    for (int line = 0; line < kPrefetchedLines; ++line) __builtin_prefetch(next + line * 64);
  }

  const T* staged(const std::byte* from, Index n, Index at) {
    if constexpr (kNeverStaged<T>)
      return nullptr;
    else if constexpr (kLoading == Loading::truth)
      load_truth(type_, from, run_.in, n, buffer_ + at);
    else
      load_run(type_, from, run_.in, n, buffer_ + at);
    return buffer_ + at;
  }

  const std::byte* base_;
  DType type_;
  Axis run_;
  Index left_, position_;
  Odometer outer_;
  bool direct_;
  Index limit_;
  bool is_far_, is_waited_for_;
  alignas(64) T buffer_[kNeverStaged<T> ? 1 : kChunk];
};

}  // namespace ndfold::simd
