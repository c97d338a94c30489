// Element types as a GPU reads and writes them, and the way to the types that arithmetic is done in.
#pragma once
#include <ndfold/dtype.h>

#include "kernels/folds/host_device.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace ndfold::cuda {

struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Boolean {
  std::uint8_t byte;
};

template <class T>
inline constexpr bool kIs16BitFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

ND_HD inline float to_float(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

ND_HD inline float to_float(Half x) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
#else
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16, size = x.bits & 0x7fff;
  if (size >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | size << 13);
  const float scaled = std::bit_cast<float>(size << 13) * 0x1p112f;  // exact, subnormals too
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
#endif
}

/// To nearest, ties to even.
ND_HD inline BFloat16 to_bfloat16(float value) {
#ifdef __CUDA_ARCH__
  BFloat16 brain;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(brain.bits) : "f"(value));
  return brain;
#else
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
#endif
}

ND_HD inline Half to_half(float value) {
#ifdef __CUDA_ARCH__
  Half half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(value));
  return half;
#else
  constexpr std::uint32_t kOverflow = 0x477ff000;        // 65520, halfway between the largest half and 2^16
  constexpr std::uint32_t kSmallestNormal = 0x38800000;  // 2^-14
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), size = bits & 0x7fffffff;
  const auto with_sign = [&](std::uint32_t low) {
    return Half{static_cast<std::uint16_t>((bits >> 16 & 0x8000) | low)};
  };
  if (value != value) return with_sign(0x7e00);
  if (size >= kOverflow) return with_sign(0x7c00);
  if (size < kSmallestNormal)  // the last bit of 1/2 is worth 2^-24: the sum rounds where a subnormal half does
    return with_sign(std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) -
                     std::bit_cast<std::uint32_t>(0.5f));
  return with_sign((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
#endif
}

/// A float that, rounded to 16 bits, gives what the double would: its last bit remembers that something was cut off.
ND_HD inline float rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  const float infinity = std::numeric_limits<float>::infinity();
  if (back == value || value != value || nearest == infinity || nearest == -infinity) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

/// -x, of elements as they are.
template <class T>
ND_HD T negated(T element) {
  if constexpr (kIs16BitFloat<T>)
    return {static_cast<std::uint16_t>(element.bits ^ 0x8000)};
  else
    return static_cast<T>(-element);
}

/// Integers become a wider unsigned type modulo 2^64.
template <class A, class T>
ND_HD A from_element(T element) {
  if constexpr (std::is_same_v<T, Boolean>)
    return static_cast<A>(element.byte != 0);
  else if constexpr (kIs16BitFloat<T>)
    return static_cast<A>(to_float(element));
  else
    return static_cast<A>(element);
}

/// Whether an element is not 0; NaN is not.
template <class T>
ND_HD bool is_nonzero(T element) {
  if constexpr (std::is_same_v<T, Boolean>)
    return element.byte != 0;
  else if constexpr (kIs16BitFloat<T>)
    return (element.bits & 0x7fff) != 0;
  else
    return element != T(0);
}

/// Rounded once; integers wrap; bool is "≠ 0".
template <class T, class A>
ND_HD T to_element(A value) {
  if constexpr (std::is_same_v<T, Boolean>)
    return Boolean{static_cast<std::uint8_t>(value != A(0))};
  else if constexpr (kIs16BitFloat<T>) {
    float narrow;
    if constexpr (std::is_same_v<A, double>)
      narrow = rounded_to_odd(value);
    else
      narrow = static_cast<float>(value);
    if constexpr (std::is_same_v<T, Half>)
      return to_half(narrow);
    else
      return to_bfloat16(narrow);
  } else if constexpr (std::is_floating_point_v<A> && std::is_integral_v<T>)
    return T();  // no plan writes floating results as integers (plans/typing.cpp)
  else
    return static_cast<T>(value);
}

/// Where memory is shared, elements are stored by this: that a call's struct is stored at once GCC reports to nobody,
/// so the simulator would not see who wrote.
template <class T, class A>
ND_HD void store_element(T& to, A value) {
  const T element = to_element<T>(value);
  to = element;
}

template <class T>
constexpr DType dtype_of() {
  DType found = std::is_same_v<T, Half>       ? DType::f16
                : std::is_same_v<T, BFloat16> ? DType::bf16
                : std::is_same_v<T, Boolean>  ? DType::boolean
                                              : DType::best;
  for (int type = 1; type < kDTypeCount; ++type) {
    const DType dtype = static_cast<DType>(type);
    const bool alike = std::is_floating_point_v<T> ? is_floating(dtype)
                       : std::is_signed_v<T>       ? is_signed_integer(dtype)
                                                   : std::is_unsigned_v<T> && is_unsigned_integer(dtype);
    if (alike && size_bytes(dtype) == sizeof(T)) found = dtype;
  }
  return found;
}

template <class T>
inline constexpr DType kDTypeOf = dtype_of<T>();

/// Calls work(T()) with the type behind a dtype.
template <class Work>
ND_HD void visit_element(DType type, Work&& work) {
  switch (type) {
    case DType::f16: return work(Half());
    case DType::bf16: return work(BFloat16());
    case DType::f32: return work(float());
    case DType::f64: return work(double());
    case DType::i8: return work(std::int8_t());
    case DType::i16: return work(std::int16_t());
    case DType::i32: return work(std::int32_t());
    case DType::i64: return work(std::int64_t());
    case DType::u8: return work(std::uint8_t());
    case DType::u16: return work(std::uint16_t());
    case DType::u32: return work(std::uint32_t());
    case DType::u64: return work(std::uint64_t());
    case DType::boolean: return work(Boolean());
    case DType::best: return;
  }
}

}  // namespace ndfold::cuda
