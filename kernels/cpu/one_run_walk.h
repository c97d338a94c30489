// Walks the elements of one dense run, leaf by leaf. Memory waits for whatever is done between two leaves, so nothing
// is but to count what is left: leaves of 4096 f32 took 190 instructions beside their 384 with a RowWalk.
#pragma once
#include "kernels/cpu/row_walk.h"

namespace ndfold::simd {

template <class T>
class OneRunWalk {
 public:
  /// Whether all that is reduced into an output is one dense run, folded where it lies.
  template <Loading kLoading>
  static bool suits(const Arguments& step) {
    const bool is_run = step.reduced.rank <= 1 && inner(step.reduced).in == 1;
    return is_run && (kNeverStaged<T> || lies_as<T, kLoading>(step.input));
  }

  /// Elements [begin, end) of the run at `base`, at most `limit` to a leaf.
  OneRunWalk(const Arguments& step, const std::byte* base, Index begin, Index end, Index limit)
      : next_(reinterpret_cast<const T*>(base) + begin),
        left_(end - begin),
        limit_(limit),
        weight_(inner(step.reduced).out),
        index_(begin * weight_),
        is_far_(is_looked_at_again(step)),
        is_waited_for_(is_waited_for(step)) {}

  bool next(Leaf<T>& leaf) {
    const Index n = std::min(left_, limit_);
    leaf.count = 1;
    leaf.elements = n;
    leaf.is_far = is_far_, leaf.is_waited_for = is_waited_for_;
    leaf.segments[0] = {.start = next_, .length = n, .index = index_, .weight = weight_};
    next_ += n, left_ -= n, index_ += n * weight_;
    return n > 0;
  }

 private:
  const T* next_;
  Index left_, limit_, weight_, index_;
  bool is_far_, is_waited_for_;
};

}  // namespace ndfold::simd
