// Stored elements to long double and back, exactly and independently of the library: round to nearest, ties to even.
#pragma once
#include <ndfold/dtype.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ndfold::test {

using Real = long double;  // 64-bit significand: holds every element type exactly

inline constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
inline constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

struct FloatFormat {
  int significand;   ///< bits, the hidden one included
  int min_exponent;  ///< of the smallest normal number
  int max_exponent;

  Real unit_roundoff() const { return std::ldexp(Real(1), -significand); }
  Real smallest_normal() const { return std::ldexp(Real(1), min_exponent); }
  Real smallest() const { return std::ldexp(Real(1), min_exponent - significand + 1); }
  Real largest() const { return std::ldexp(2 - std::ldexp(Real(1), 1 - significand), max_exponent); }
};

constexpr FloatFormat format_of(DType type) {
  switch (type) {
    case DType::f16: return {.significand = 11, .min_exponent = -14, .max_exponent = 15};
    case DType::bf16: return {.significand = 8, .min_exponent = -126, .max_exponent = 127};
    case DType::f32: return {.significand = 24, .min_exponent = -126, .max_exponent = 127};
    default: return {.significand = 53, .min_exponent = -1022, .max_exponent = 1023};
  }
}

Real round_to(FloatFormat format, Real value);

/// The 16 bits of a format whose sign, exponent and fraction fill 16 bits.
std::uint16_t encode16(FloatFormat format, Real value);

Real decode16(FloatFormat format, std::uint16_t bits);

/// The element at `address`; a bool is 1 when its byte is not 0.
Real load(DType type, const void* address);

/// A whole number in [-2^63, 2^64) as 64 bits, modulo 2^64.
std::uint64_t to_bits(Real whole);

/// Floats are rounded; integers keep their low bits; a bool byte is 0 or 1.
void store(DType type, void* address, Real value);

/// What a reader of a `type` element sees after `value` was stored in it.
Real stored(DType type, Real value);

}  // namespace ndfold::test
