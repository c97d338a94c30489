// The words folds are written in, for numbers. kernels/cpu/lanes.h says the same for SIMD lanes, and CUDA code for its
// own packs.
#pragma once
#include "kernels/folds/host_device.h"

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

namespace ndfold::folds {

/// What a value is made of, and how to make one of equal parts. Lanes specialize it.
template <class V>
struct Number {
  using Scalar = V;
  ND_HD static constexpr V splat(V value) { return value; }
};
template <class V>
using ScalarOf = typename Number<V>::Scalar;

template <class V>
ND_HD constexpr V splat(ScalarOf<V> value) {
  return Number<V>::splat(value);
}

template <class V>
inline constexpr ScalarOf<V> kInfinity = std::numeric_limits<ScalarOf<V>>::infinity();

template <class V>
concept Arithmetic = std::is_arithmetic_v<V>;

template <Arithmetic V>
ND_HD constexpr V select(bool mask, V yes, V no) {
  return mask ? yes : no;
}

template <Arithmetic V>
ND_HD constexpr bool less(V a, V b) {
  return a < b;
}

template <Arithmetic V>
ND_HD constexpr bool equal(V a, V b) {
  return a == b;
}

#ifdef __CUDA_ARCH__
/// One instruction each since sm_80: NaN wins, and +0 is above -0 (PTX ISA, max and min).
ND_HD inline float max_of_lanes(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}
ND_HD inline float min_of_lanes(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}
#endif

/// IEEE 754-2019 maximum: NaN wins, and +0 is above -0.
template <Arithmetic V>
ND_HD V maximum(V a, V b) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<V, float>) return max_of_lanes(a, b);
#endif
  if constexpr (std::is_floating_point_v<V>) {
    if (a != a) return a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

/// IEEE 754-2019 minimum: NaN wins, and -0 is below +0.
template <Arithmetic V>
ND_HD V minimum(V a, V b) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<V, float>) return min_of_lanes(a, b);
#endif
  if constexpr (std::is_floating_point_v<V>) {
    if (a != a) return a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

/// Some maximum that may lose a NaN: for pivots, where a NaN comes back with the sum.
template <std::floating_point V>
ND_HD V any_maximum(V a, V b) {
#ifdef __CUDA_ARCH__
  return std::fmax(a, b);
#else
  return a > b ? a : b;
#endif
}

template <std::floating_point V>
ND_HD V absolute(V a) {
  return std::fabs(a);
}

template <std::floating_point V>
ND_HD V exponential(V a) {
  return std::exp(a);
}

template <std::floating_point V>
ND_HD bool is_infinite(V a) {
  return a == kInfinity<V> || a == -kInfinity<V>;
}

}  // namespace ndfold::folds
