// Vectors that lie between lines fill them.
#include "kernels/cpu/stream.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

template <class A>
void expect_joined() {
  using V = simd::Lanes<A>;
  constexpr int kWidth = simd::kLanes<V>;
  A all[2 * kWidth];
  for (int i = 0; i < 2 * kWidth; ++i) all[i] = static_cast<A>(i);
  const V a = simd::load<V>(all), b = simd::load<V>(all + kWidth);
  for (int count = 0; count <= kWidth; ++count) {
    const V joined = simd::Joining<A>(count)(a, b);
    for (int i = 0; i < kWidth; ++i) EXPECT_EQ(simd::lane(joined, i), static_cast<A>(kWidth - count + i)) << count;
  }
}

TEST(joining, takes_the_end_of_one_vector_and_the_start_of_the_next) {
  expect_joined<float>();
  expect_joined<double>();
}

}  // namespace
}  // namespace ndfold::test
