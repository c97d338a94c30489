// The words folds are written in, for scalars. kernels/cpu/lanes.h says the same for SIMD lanes, and CUDA code for its own.
#pragma once
#include "kernels/folds/host_device.h"

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

namespace ndfold {

template <class V>
struct Number {  // what a value is made of, and what comparing two gives
  using Scalar = V;
  using Mask = bool;
};
template <class V>
using ScalarOf = typename Number<V>::Scalar;

template <class V>
  requires std::is_arithmetic_v<V>
ND_HD constexpr V splat(V value) {
  return value;
}

ND_HD constexpr bool both(bool a, bool b) { return a && b; }

template <class V>
  requires std::is_arithmetic_v<V>
ND_HD constexpr V select(bool mask, V yes, V no) {
  return mask ? yes : no;
}

template <class V>
  requires std::is_arithmetic_v<V>
ND_HD constexpr bool less(V a, V b) {
  return a < b;
}

template <class V>
  requires std::is_arithmetic_v<V>
ND_HD constexpr bool equal(V a, V b) {
  return a == b;
}

/// IEEE 754-2019 maximum and minimum: NaN wins, and +0 is above -0.
template <class V>
  requires std::is_arithmetic_v<V>
ND_HD constexpr V maximum(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if (a != a) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  } else {
    return a > b ? a : b;
  }
}

template <class V>
  requires std::is_arithmetic_v<V>
ND_HD constexpr V minimum(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if (a != a) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  } else {
    return a < b ? a : b;
  }
}

/// Some maximum that may lose a NaN: for pivots, where a NaN comes back with the sum.
template <std::floating_point V>
ND_HD constexpr V any_maximum(V a, V b) {
  return a > b ? a : b;
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
  return a == std::numeric_limits<V>::infinity() || a == -std::numeric_limits<V>::infinity();
}

template <class V>
inline constexpr ScalarOf<V> kInfinity = std::numeric_limits<ScalarOf<V>>::infinity();

}  // namespace ndfold
