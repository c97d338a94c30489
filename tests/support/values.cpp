// What each kind of data holds.
#include "tests/support/values.h"

namespace ndfold::test {
namespace {

Real factor(DType type, std::uint64_t random, Index i, Index n) {
  const Real sign = !is_unsigned_integer(type) && type != DType::boolean && random % 2 == 1 ? -1 : 1;
  const bool rare = n <= 8 || i % (n / 8) == 0;
  if (!rare) return sign;
  return is_floating(type) && random % 4 >= 2 ? sign / 2 : sign * 2;
}

}  // namespace

std::uint64_t hash(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

Real uniform(std::uint64_t number) { return static_cast<Real>(hash(number) >> 11) * 0x1p-53L; }

Real any_bits(DType type, std::uint64_t random) {
  std::uint64_t cell = 0;
  std::memcpy(&cell, &random, size_bytes(type));
  return load(type, &cell);
}

Real floating_value(Values values, DType type, Index i, std::uint64_t seed) {
  const Real u = uniform(seed + static_cast<std::uint64_t>(i));
  const Real decades = type == DType::f16 ? 2 : 6;
  const Real large = (i % 2 == 0 ? 1000 : -1000) * uniform(seed + static_cast<std::uint64_t>(i / 2));
  switch (values) {
    case Values::positive: return 1 - u;
    case Values::cancelling: return i % 4 < 2 ? large : u;
    case Values::decades: return std::pow(Real(10), decades * (2 * u - 1));
    case Values::shifted: return 1000 + 2 * u - 1;
    case Values::ascending: return static_cast<Real>(i) * 0x1p-10L;
    default: return 16 * u - 8;
  }
}

Real value(Values values, DType type, Index i, Index n, std::uint64_t seed) {
  const std::uint64_t random = hash(seed ^ 0x5eed) + hash(seed + static_cast<std::uint64_t>(i));
  const bool negative = is_floating(type) || is_signed_integer(type);
  if (values == Values::factors) return factor(type, random, i, n);
  if (values == Values::ties) return static_cast<Real>(random % 3);
  if (values == Values::bits && !is_floating(type)) return any_bits(type, random);
  if (values == Values::whole || !is_floating(type)) return static_cast<Real>(random % 31) - (negative ? 15 : 0);
  return floating_value(values, type, i, seed * 0x10001);
}

void fill(Array& array, Values values, std::uint64_t seed) {
  const auto places = array.elements();
  const auto n = static_cast<Index>(places.size());
  for (Index i = 0; i < n; ++i)
    array.set(places[static_cast<std::size_t>(i)], value(values, array.desc().dtype, i, n, seed));
}

void fill_with(Array& array, Real same) {
  for (const Index place : array.elements()) array.set(place, same);
}

void fill_with(Array& array, const Row& row) {
  const auto places = array.elements();
  for (std::size_t i = 0; i < places.size(); ++i) array.set(places[i], row[i % row.size()]);
}

Row specials(DType type) {
  const FloatFormat format = format_of(type);
  return {kNaN, kInfinity, -kInfinity, 0, -0.0L, format.smallest(), -format.smallest(), format.smallest_normal()};
}

}  // namespace ndfold::test
