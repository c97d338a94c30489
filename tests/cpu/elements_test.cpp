// Elements come in and results leave two vectors at a time as they do one by one: rounded to nearest, ties to even,
// whether they pass the caches or not.
#include "kernels/cpu/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace ndfold::test {
namespace {

template <class A>
using LanesOf = simd::Lanes<A>;
using simd::NumberOf;

constexpr float kInf = std::numeric_limits<float>::infinity();

// Both sides of what rounds up, and exactly between; of a NaN nothing that could be rounded away.
std::vector<float> numbers() {
  std::vector<float> all = {0, -0.f, 1, -1, kInf, -kInf, 65504, 65519, 65520, 6e-8f, 2.9e-8f, 3e-39f, 1e-45f, -1e-41f};
  for (const std::uint32_t upper : {0x3f80u, 0x3f81u, 0xbf7fu, 0x0001u, 0x7f7fu, 0x7f7eu, 0x477fu, 0x3880u, 0xb87fu})
    for (const std::uint32_t lower : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      all.push_back(std::bit_cast<float>(upper << 16 | lower));
  for (const std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7fff0000u, 0xffff0000u, 0x7fa10000u})
    all.push_back(std::bit_cast<float>(nan));
  return all;
}

template <class T>
std::uint64_t bits(T x) {
  std::uint64_t all = 0;
  std::memcpy(&all, &x, sizeof x);
  return all;
}

template <class T>
void expect_the_same(T got, NumberOf<T> from) {
  const T want = static_cast<T>(from);
  if (from != from)
    EXPECT_TRUE(got != got) << bits(got);
  else
    EXPECT_EQ(bits(got), bits(want)) << "of " << from;
}

template <bool kStreams, class T>
void expect_results() {
  using A = NumberOf<T>;
  constexpr std::size_t kWidth = simd::kLanes<LanesOf<A>>;
  const std::vector<float> some = numbers();
  for (std::size_t start = 0; start < some.size(); ++start) {
    A from[2 * kWidth];
    for (std::size_t i = 0; i < 2 * kWidth; ++i) from[i] = some[(start + i) % some.size()];
    alignas(64) T one[kWidth], two[2 * kWidth];
    LanesOf<A> lanes[2];
    simd::load_two(from, lanes);
    simd::put<kStreams>(one, lanes[0]);
    simd::put_two<kStreams>(two, lanes[0], lanes[1]);
    simd::finish_streaming();
    for (std::size_t i = 0; i < kWidth; ++i) expect_the_same(one[i], from[i]);
    for (std::size_t i = 0; i < 2 * kWidth; ++i) expect_the_same(two[i], from[i]);
  }
}

// Every element of 16 bits, wherever it lies.
template <class T>
void expect_numbers() {
  using A = NumberOf<T>;
  constexpr std::size_t kWidth = simd::kLanes<LanesOf<A>>;
  std::vector<T> all((1 << 16) + 2 * kWidth);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::bit_cast<T>(static_cast<std::uint16_t>(i * 40503));
  for (std::size_t i = 0; i < 1 << 16; i += 2 * kWidth - 1) {
    LanesOf<A> lanes[2];
    A numbers[2 * kWidth];
    simd::load_two(all.data() + i, lanes);
    simd::store(numbers, lanes[0]), simd::store(numbers + kWidth, lanes[1]);
    for (std::size_t k = 0; k < 2 * kWidth; ++k) {
      const A want = static_cast<A>(all[i + k]);
      ASSERT_TRUE(numbers[k] == want || (want != want && numbers[k] != numbers[k])) << i + k;
    }
  }
}

template <class T>
void expect_all() {
  expect_results<false, T>();
  expect_results<true, T>();
  if constexpr (sizeof(T) == 2) expect_numbers<T>();
}

TEST(elements, floats) { expect_all<float>(); }
TEST(elements, doubles) { expect_all<double>(); }
TEST(elements, halves) {
  if constexpr (simd::kHasElementLanes<simd::Half>) expect_all<simd::Half>();
}
TEST(elements, brain_halves) {
  if constexpr (simd::kHasElementLanes<simd::Bfloat16>) expect_all<simd::Bfloat16>();
}

}  // namespace
}  // namespace ndfold::test
