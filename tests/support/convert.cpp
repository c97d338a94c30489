// Conversions of elements, by whole numbers and long double alone.
#include "tests/support/convert.h"

namespace ndfold::test {
namespace {

template <class T>
Real load_as(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return static_cast<Real>(value);
}

template <class T>
void store_as(void* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

}  // namespace

Real round_to(FloatFormat format, Real value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.min_exponent) - (format.significand - 1);
  const Real rounded = std::ldexp(std::rint(std::ldexp(value, -exponent)), exponent);
  return std::fabs(rounded) > format.largest() ? std::copysign(kInfinity, value) : rounded;
}

std::uint16_t encode16(FloatFormat format, Real value) {
  const int fraction = format.significand - 1;
  const int ones = (1 << (15 - fraction)) - 1;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | ones << fraction | 1 << (fraction - 1));
  const Real size = std::fabs(round_to(format, value));
  if (std::isinf(size)) return static_cast<std::uint16_t>(sign | ones << fraction);
  if (size < format.smallest_normal())
    return static_cast<std::uint16_t>(sign | static_cast<int>(size / format.smallest()));
  const int exponent = std::ilogb(size);
  const int hidden_and_fraction = static_cast<int>(std::ldexp(size, fraction - exponent));
  return static_cast<std::uint16_t>(sign | (((exponent - format.min_exponent) << fraction) + hidden_and_fraction));
}

Real decode16(FloatFormat format, std::uint16_t bits) {
  const int fraction = format.significand - 1;
  const int ones = (1 << (15 - fraction)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction;
  const int low = bits & ((1 << fraction) - 1);
  const Real sign = bits & 0x8000 ? -1 : 1;
  if (exponent == ones) return low != 0 ? std::copysign(kNaN, sign) : sign * kInfinity;
  if (exponent == 0) return sign * (static_cast<Real>(low) * format.smallest());
  return sign * std::ldexp(static_cast<Real>(low + (1 << fraction)), exponent - 1 + format.min_exponent - fraction);
}

Real load(DType type, const void* address) {
  switch (type) {
    case DType::f16:
    case DType::bf16: return decode16(format_of(type), static_cast<std::uint16_t>(load_as<std::uint16_t>(address)));
    case DType::f32: return load_as<float>(address);
    case DType::f64: return load_as<double>(address);
    case DType::i8: return load_as<std::int8_t>(address);
    case DType::i16: return load_as<std::int16_t>(address);
    case DType::i32: return load_as<std::int32_t>(address);
    case DType::i64: return load_as<std::int64_t>(address);
    case DType::u8: return load_as<std::uint8_t>(address);
    case DType::u16: return load_as<std::uint16_t>(address);
    case DType::u32: return load_as<std::uint32_t>(address);
    case DType::u64: return load_as<std::uint64_t>(address);
    case DType::boolean: return load_as<std::uint8_t>(address) != 0 ? 1 : 0;
    case DType::best: break;
  }
  return kNaN;
}

std::uint64_t to_bits(Real whole) {
  return whole < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)) : static_cast<std::uint64_t>(whole);
}

void store(DType type, void* address, Real value) {
  if (type == DType::f16 || type == DType::bf16) return store_as(address, encode16(format_of(type), value));
  if (type == DType::f32) return store_as(address, static_cast<float>(round_to(format_of(type), value)));
  if (type == DType::f64) return store_as(address, static_cast<double>(round_to(format_of(type), value)));
  if (type == DType::boolean) return store_as(address, static_cast<std::uint8_t>(value != 0));
  const std::uint64_t bits = to_bits(value);
  std::memcpy(address, &bits, size_bytes(type));  // little-endian, as every machine that ndfold builds on
}

Real stored(DType type, Real value) {
  std::uint64_t cell = 0;
  store(type, &cell, value);
  return load(type, &cell);
}

}  // namespace ndfold::test
