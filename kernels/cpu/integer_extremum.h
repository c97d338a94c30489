// The largest or smallest integer of a run.
#pragma once
#include "kernels/cpu/helped_reads.h"
#include "kernels/folds/extremum.h"

#include <concepts>

namespace ndfold::simd {

/// max and min of integers.
template <class NumberFold>
inline constexpr bool kIsIntegerExtremum = false;
template <std::integral T>
inline constexpr bool kIsIntegerExtremum<Max<T>> = true;
template <std::integral T>
inline constexpr bool kIsIntegerExtremum<Min<T>> = true;

template <class NumberFold, class V>
[[gnu::always_inline]] inline V nearer(V a, V b) {
  using T = std::decay_t<decltype(a[0])>;
  if constexpr (std::is_same_v<NumberFold, Max<T>>)
    return a > b ? a : b;
  else
    return a < b ? a : b;
}

template <class NumberFold, class V>
[[gnu::always_inline]] inline auto extremum_of_lanes(V lanes) {
  constexpr int kCount = sizeof(V) / sizeof(lanes[0]);
  if constexpr (kCount == 1)
    return lanes[0];
  else
    return extremum_of_lanes<NumberFold>(
        nearer<NumberFold>(lanes_of<0, kCount / 2>(lanes), lanes_of<kCount / 2, kCount / 2>(lanes)));
}

/// The extremum of n > 0 elements. An end that fills no vector is taken with some that came before: none counts twice.
template <class NumberFold, int kBytes = kRegisterBytes, class T>
[[gnu::always_inline]] inline T extremum_of_run(const T* x, Index n, bool again = false) {
  constexpr Index kWidth = kBytes / static_cast<Index>(sizeof(T));
  if constexpr (kWidth == 1) {
    return x[0];
  } else {
    if (n < kWidth) return extremum_of_run<NumberFold, kBytes / 2>(x, n);
    using V = Integers<T, kBytes>;
    V best = load_integers<V>(x), other = best;
    prefetch(x);
    for (Index i = kWidth; i + 2 * kWidth <= n; i += 2 * kWidth) {
      best = nearer<NumberFold>(best, load_integers<V>(x + i));
      other = nearer<NumberFold>(other, load_integers<V>(x + i + kWidth));
      help_reading<kBytes>(x + i, again);
      help_reading<kBytes>(x + i + kWidth, again);
    }
    if (n >= 2 * kWidth) best = nearer<NumberFold>(best, load_integers<V>(x + n - 2 * kWidth));
    best = nearer<NumberFold>(best, load_integers<V>(x + n - kWidth));
    return extremum_of_lanes<NumberFold>(nearer<NumberFold>(best, other));
  }
}

}  // namespace ndfold::simd
