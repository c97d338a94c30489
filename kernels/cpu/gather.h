// Elements at a stride, brought together. Backwards and every other one go by lanes, and lines are asked for early:
// what is gathered next mostly begins where this ends.
#pragma once
#include "kernels/cpu/leaf.h"

namespace ndfold::simd {

template <class V>
struct Falling {
  constexpr int operator()(int i) const { return kLanes<V> - 1 - i; }
};
template <class V>
struct EveryOther {
  constexpr int operator()(int i) const { return 2 * i; }
};

/// to[i] = x[i · stride].
template <class T>
[[gnu::noinline]] void gather(const T* x, Index stride, Index n, T* to) {
  using V = LanesOf<T>;
  constexpr Index kWidth = kLanes<V>;
  Index i = 0, end = n;
  if constexpr (IsLanes<V>) {
    if (stride == -1)
      for (; end >= kWidth; end -= kWidth) {  // upwards in memory
        const T* from = x - end + 1;
        prefetch(from);
        const V here = load<V>(from);
        store(to + end - kWidth, shuffled(here, here, Falling<V>()));
      }
    if (stride == 2)
      for (; i + kWidth < n; i += kWidth) {  // the last element has no other behind it
        prefetch(x + 2 * i), prefetch(x + 2 * i + kWidth);
        store(to + i, shuffled(load<V>(x + 2 * i), load<V>(x + 2 * i + kWidth), EveryOther<V>()));
      }
  }
  for (; i < end; ++i) to[i] = x[i * stride];
}

}  // namespace ndfold::simd
