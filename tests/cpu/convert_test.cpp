// Runs of elements in and out of arithmetic types: every dtype with every arithmetic type, rounded once.
#include "kernels/cpu/convert.h"

#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace ndfold::test {
namespace {

constexpr DType kElements[] = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,  DType::i16,    DType::i32,
                               DType::i64, DType::u8,   DType::u16, DType::u32, DType::u64, DType::boolean};

// The elements of a type worth trying, as bytes: every one of 8 and 16 bits, many of the others, a bool of each byte.
std::vector<std::byte> elements_of(DType type) {
  const std::size_t width = size_bytes(type);
  const std::uint64_t count = width <= 2 ? std::uint64_t{1} << (8 * width) : 3000;
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t bits = width <= 2 ? i : hash(i);
    if (width > 2 && i < 256) bits = i < 128 ? i : ~std::uint64_t{0} - (i - 128);
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

// As a conversion in C++ has it, to a type that holds the value or wraps modulo 2^bits.
template <class A>
A as(Real value) {
  if constexpr (std::is_floating_point_v<A>) {
    A result;
    store(simd::kTypeOf<A>, &result, value);
    return result;
  } else {
    return static_cast<A>(to_bits(value));
  }
}

template <class A>
bool same(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    if (a != a) return b != b;
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return a == b;
  }
}

template <class A>
void expect_loads(DType type) {
  SCOPED_TRACE(std::string(name(type)) + " as " + std::string(name(simd::kTypeOf<A>)));
  const auto bytes = elements_of(type);
  const auto width = static_cast<Index>(size_bytes(type));
  const Index n = static_cast<Index>(bytes.size()) / width;
  int wrong = 0;
  for (const Index stride : {1, 2, 3, -1, 0}) {
    const Index m = stride > 1 ? n / stride : n;
    const Index first = stride < 0 ? n - 1 : 0;
    std::vector<A> got(static_cast<std::size_t>(m));
    simd::load_run(type, bytes.data() + first * width, stride, m, got.data());
    for (Index i = 0; i < m; ++i) {
      const Real value = load(type, bytes.data() + (first + i * stride) * width);
      wrong += !same(got[static_cast<std::size_t>(i)], as<A>(value));
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(convert, floats_load_every_type) {
  for (const DType type : kElements) {
    expect_loads<float>(type);
    expect_loads<double>(type);
  }
}

TEST(convert, integers_load_what_they_hold) {
  for (const DType type : kElements)
    if (!is_floating(type)) expect_loads<std::uint64_t>(type), expect_loads<std::int64_t>(type);
  expect_loads<std::int8_t>(DType::i8), expect_loads<std::uint8_t>(DType::u8),
      expect_loads<std::uint8_t>(DType::boolean);
  expect_loads<std::int16_t>(DType::i16), expect_loads<std::uint16_t>(DType::u16);
  expect_loads<std::int32_t>(DType::i32), expect_loads<std::uint32_t>(DType::u32);
}

TEST(convert, truth_is_not_zero) {
  for (const DType type : kElements) {
    const auto bytes = elements_of(type);
    const auto width = static_cast<Index>(size_bytes(type));
    const Index n = static_cast<Index>(bytes.size()) / width;
    for (const Index stride : {1, 2}) {
      std::vector<std::uint8_t> got(static_cast<std::size_t>(n / stride), 77);
      simd::load_truth(type, bytes.data(), stride, n / stride, got.data());
      int wrong = 0;
      for (Index i = 0; i < n / stride; ++i) {
        const Real value = load(type, bytes.data() + i * stride * width);
        wrong += got[static_cast<std::size_t>(i)] != (value != 0 ? 1 : 0);  // -0 is 0, NaN is not
      }
      EXPECT_EQ(wrong, 0) << name(type);
    }
  }
}

// Stores, and compares the bytes with what the support's exact conversion makes of the same value.
template <class A>
int wrong_stores(DType type, const std::vector<A>& values) {
  const auto width = static_cast<Index>(size_bytes(type));
  const auto n = static_cast<Index>(values.size());
  int wrong = 0;
  for (const Index stride : {1, 2, -1}) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(2 * n * width), std::byte{0xee});
    const Index first = stride < 0 ? n - 1 : 0;
    simd::store_run(type, bytes.data() + first * width, stride, n, values.data());
    for (Index i = 0; i < n; ++i) {
      const Real value = static_cast<Real>(values[static_cast<std::size_t>(i)]);
      const std::byte* at = bytes.data() + (first + i * stride) * width;
      std::byte expected[8];
      store(type, expected, value);
      if (std::isnan(value) && is_floating(type))
        wrong += !std::isnan(load(type, at));
      else
        wrong += std::memcmp(at, expected, static_cast<std::size_t>(width)) != 0;
    }
    if (stride == 2)
      for (Index i = 0; i < n; ++i) wrong += bytes[static_cast<std::size_t>((2 * i + 1) * width)] != std::byte{0xee};
  }
  return wrong;
}

// Around every number of a 16-bit format, and around every middle of two: where a second rounding would show.
std::vector<double> near_16_bits(DType type) {
  std::vector<double> values;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits), next = static_cast<std::uint16_t>(bits + 1);
    const auto value = static_cast<double>(decode16(format_of(type), half));
    const auto above = static_cast<double>(decode16(format_of(type), next));
    const double middle = value + (above - value) / 2;
    for (const double x : {value, middle})
      for (const double off : {0., 0x1p-52, -0x1p-52, 0x1p-40, -0x1p-40, 0x1p-26, -0x1p-26, 0x1p-24, -0x1p-24})
        values.push_back(x + x * off);
  }
  return values;
}

TEST(convert, doubles_round_once_to_16_bits) {
  for (const DType type : {DType::f16, DType::bf16}) EXPECT_EQ(wrong_stores(type, near_16_bits(type)), 0) << name(type);
}

TEST(convert, floats_round_to_nearest_even) {
  for (const DType type : {DType::f16, DType::bf16}) {
    std::vector<float> values;
    for (const double x : near_16_bits(type)) values.push_back(static_cast<float>(x));
    EXPECT_EQ(wrong_stores(type, values), 0) << name(type);
  }
}

std::vector<double> many_doubles() {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values = {0, -0., 1, -1, kNone, kInf, -kInf, 65504, 65519.99, 65520, 1e300, 5e-324, 1e-40};
  for (std::uint64_t i = 0; i < 20000; ++i) values.push_back(std::bit_cast<double>(hash(i)));
  for (int exponent = -160; exponent < 140; ++exponent)
    for (const double sign : {-1., 1.})
      for (const double significand : {1., 1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-52, 1 + 3 * 0x1p-24, 2 - 0x1p-52})
        values.push_back(sign * std::ldexp(significand, exponent));
  return values;
}

TEST(convert, floating_results_are_rounded_once) {
  const auto doubles = many_doubles();
  std::vector<float> floats;
  for (const double x : doubles) floats.push_back(static_cast<float>(x));
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    EXPECT_EQ(wrong_stores(type, doubles), 0) << name(type);
    EXPECT_EQ(wrong_stores(type, floats), 0) << name(type);
  }
  EXPECT_EQ(wrong_stores(DType::boolean, doubles), 0);
}

template <class A>
void expect_stores() {
  std::vector<A> values = {0, 1, std::numeric_limits<A>::max(), std::numeric_limits<A>::lowest()};
  for (std::uint64_t i = 0; i < 3000; ++i) values.push_back(static_cast<A>(i % 2 == 0 ? hash(i) : i));
  for (const DType type : kElements)
    EXPECT_EQ(wrong_stores(type, values), 0) << name(simd::kTypeOf<A>) << " as " << name(type);
}

TEST(convert, integers_wrap) {
  expect_stores<std::int8_t>(), expect_stores<std::int16_t>(), expect_stores<std::int32_t>(),
      expect_stores<std::int64_t>();
  expect_stores<std::uint8_t>(), expect_stores<std::uint16_t>(), expect_stores<std::uint32_t>(),
      expect_stores<std::uint64_t>();
}

TEST(convert, bool_results) {
  const bool values[] = {true, false, true};
  for (const DType type : {DType::boolean, DType::u8}) {
    std::byte bytes[3] = {std::byte{9}, std::byte{9}, std::byte{9}};
    simd::store_run(type, bytes, 1, 3, values);
    EXPECT_TRUE(bytes[0] == std::byte{1} && bytes[1] == std::byte{0} && bytes[2] == std::byte{1}) << name(type);
  }
}

TEST(convert, of_nothing_touches_nothing) {
  for (const DType type : kElements) {
    simd::load_run<float>(type, nullptr, 1, 0, nullptr);
    simd::store_run<double>(type, nullptr, 1, 0, nullptr);
    simd::load_truth(type, nullptr, 1, 0, nullptr);
  }
}

TEST(convert, advance_counts_elements) {
  std::byte bytes[64] = {};
  EXPECT_EQ(simd::advance(bytes, DType::f64, 3), bytes + 24);
  EXPECT_EQ(simd::advance(static_cast<const std::byte*>(bytes + 32), DType::i16, -4), bytes + 24);
}

}  // namespace
}  // namespace ndfold::test
