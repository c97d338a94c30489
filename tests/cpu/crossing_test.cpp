// Squares that are transposed in registers: every run's elements in their lane and back, nothing beyond a run touched.
#include "kernels/cpu/crossing.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::test {
namespace {

template <class T>
float number(T x) {
  return static_cast<float>(x);
}

// Memory that ends where the last run does: a sanitizer sees what reads beyond.
template <class T>
struct Field {
  Index stride;
  int count, length;
  std::vector<T> all;
  Index first;

  Field(Index apart, int runs, int n) : stride(apart), count(runs), length(n) {
    const Index span = (runs - 1) * (apart < 0 ? -apart : apart) + n;
    all.assign(static_cast<std::size_t>(span), T(-77.f));
    first = apart < 0 ? (runs - 1) * -apart : 0;
  }
  T* at(int run) { return all.data() + first + run * stride; }
  Index places() const { return static_cast<Index>(all.size()); }
};

template <class T>
void expect_across_and_back() {
  using A = simd::NumberOf<T>;
  using V = simd::LanesOf<A>;
  constexpr int kWidth = simd::kLanes<V>;
  for (int length = 1; length <= kWidth; ++length)
    for (int count = 1; count <= kWidth; ++count)
      for (const Index stride : {Index{length}, Index{length + 1}, Index{37}, Index{-length}, Index{-40}}) {
        Field<T> from(stride, count, length), to(stride, count, length);
        for (int i = 0; i < count; ++i)
          for (int j = 0; j < length; ++j) from.at(i)[j] = T(static_cast<float>((i * 16 + j) % 125));
        std::vector<A> square(static_cast<std::size_t>(kWidth * kWidth), A(-1));
        const simd::Runs<const T> runs{from.at(0), stride, count, length};
        const V most =
            simd::load_across(runs, simd::splat<V>(A(2)), simd::splat<V>(A(-5)), square.data(), Index{kWidth});
        for (int i = 0; i < count; ++i) {
          A largest = -5;
          for (int j = 0; j < length; ++j) {
            const A want = static_cast<A>(2 * number(from.at(i)[j]));
            ASSERT_EQ(square[static_cast<std::size_t>(j * kWidth + i)], want) << length << " of " << count;
            largest = std::max(largest, want);
          }
          ASSERT_EQ(simd::lane(most, i), largest);
        }
        for (A& one : square) one /= 2;
        simd::store_across<false>(simd::Runs<T>{to.at(0), stride, count, length}, square.data(), Index{kWidth});
        for (Index place = 0; place < to.places(); ++place)
          ASSERT_EQ(number(to.all[static_cast<std::size_t>(place)]), number(from.all[static_cast<std::size_t>(place)]))
              << length << " of " << count << " stride " << stride;
      }
}

template <class T>
void expect_streams() {
  using A = simd::NumberOf<T>;
  constexpr int kWidth = simd::Runs<T>::kMost;
  struct alignas(64) Lines {
    T all[4 * kWidth * kWidth];
  };
  for (int length = 1; length <= kWidth; ++length)
    for (const Index stride : {Index{length}, Index{kWidth}, Index{3 * kWidth}}) {
      Lines plain = {}, streamed = {};
      std::vector<A> square(static_cast<std::size_t>(kWidth * kWidth));
      for (std::size_t i = 0; i < square.size(); ++i) square[i] = static_cast<A>(i % 100);
      const simd::Runs<T> runs{streamed.all, stride, kWidth, length};
      if (!simd::fills_lanes(runs)) continue;
      simd::store_across<false>(simd::Runs<T>{plain.all, stride, kWidth, length}, square.data(), Index{kWidth});
      simd::store_across<true>(runs, square.data(), Index{kWidth});
      simd::finish_streaming();
      for (int i = 0; i < 4 * kWidth * kWidth; ++i) ASSERT_EQ(number(plain.all[i]), number(streamed.all[i]));
    }
}

TEST(crossing, every_length_and_count_and_stride) {
  expect_across_and_back<float>(), expect_across_and_back<double>();
  if constexpr (simd::kHasElementLanes<simd::Half>)
    expect_across_and_back<simd::Half>(), expect_across_and_back<simd::Bfloat16>();
}

TEST(crossing, streams_what_it_stores) {
  expect_streams<float>(), expect_streams<double>();
  if constexpr (simd::kHasElementLanes<simd::Half>) expect_streams<simd::Half>(), expect_streams<simd::Bfloat16>();
}

TEST(crossing, does_not_stream_parts_of_lanes) {
  constexpr int kWidth = simd::Runs<float>::kMost;
  alignas(64) float all[4 * kWidth * kWidth] = {};
  EXPECT_TRUE(simd::fills_lanes(simd::Runs<float>{all, kWidth, kWidth, kWidth}));
  EXPECT_FALSE(simd::fills_lanes(simd::Runs<float>{all + 1, kWidth, kWidth, kWidth}));
  EXPECT_FALSE(simd::fills_lanes(simd::Runs<float>{all, kWidth + 1, kWidth, kWidth}));
  EXPECT_FALSE(simd::fills_lanes(simd::Runs<float>{all, 2 * kWidth, kWidth, kWidth - 1}));
}

}  // namespace
}  // namespace ndfold::test
