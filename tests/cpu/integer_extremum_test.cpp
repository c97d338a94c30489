// The extrema of runs of integers of every length and type.
#include "kernels/cpu/integer_extremum.h"

#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace ndfold::test {
namespace {

template <class T>
void expect_extrema() {
  for (std::size_t n = 1; n < 400; ++n) {
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(hash(n + i));
    const auto size = static_cast<Index>(n);
    ASSERT_EQ(simd::extremum_of_run<folds::Max<T>>(x.data(), size), *std::max_element(x.begin(), x.end()));
    ASSERT_EQ(simd::extremum_of_run<folds::Min<T>>(x.data(), size), *std::min_element(x.begin(), x.end()));
  }
}

TEST(integer_extremum, runs_of_every_length) {
  expect_extrema<std::int8_t>(), expect_extrema<std::uint8_t>();
  expect_extrema<std::int16_t>(), expect_extrema<std::uint16_t>();
  expect_extrema<std::int32_t>(), expect_extrema<std::uint32_t>();
  expect_extrema<std::int64_t>(), expect_extrema<std::uint64_t>();
}

}  // namespace
}  // namespace ndfold::test
