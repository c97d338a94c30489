// A core's scratch, on its stack: what it folds side by side at a time has to fit.
#pragma once
#include "kernels/cpu/lanes.h"

#include <algorithm>

namespace ndfold::simd {

inline constexpr Index kScratchBytes = 128 << 10;

/// Memory for arrays, one after the other.
class Scratch {
 public:
  template <class T>
  T* take(Index count) {
    T* array = reinterpret_cast<T*>(bytes_ + used_);
    used_ += (count * static_cast<Index>(sizeof(T)) + 63) / 64 * 64;
    return array;
  }

 private:
  alignas(64) std::byte bytes_[kScratchBytes];
  Index used_ = 0;
};

/// Columns whose states for `levels` of a tree, a leaf and some values fit the scratch; whole lane groups.
template <class State, class V>
Index columns_that_fit(Index levels, Index values) {
  const Index group = (levels + 1) * static_cast<Index>(sizeof(State)) + values * static_cast<Index>(sizeof(V));
  return std::max<Index>(1, (kScratchBytes - 64 * (levels + 4)) / group) * kLanes<V>;
}

/// `columns` in as few strips as may be, none wider than `most`, all about as wide.
template <class V>
Index strip_width(Index columns, Index most) {
  const Index groups = (columns + kLanes<V> - 1) / kLanes<V>, fit = std::max<Index>(1, most / kLanes<V>);
  if (groups <= fit) return groups * kLanes<V>;
  const Index strips = (groups + fit - 1) / fit;
  return (groups + strips - 1) / strips * kLanes<V>;
}

}  // namespace ndfold::simd
