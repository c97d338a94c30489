// Where an integer stands first, in runs of every length and type, wherever others that are the same stand.
#include "kernels/cpu/find_integer.h"

#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::test {
namespace {

// The run ends where its memory does: a sanitizer faults whoever reads further.
template <class T>
void expect_found() {
  constexpr T kWanted = static_cast<T>(77);
  for (std::size_t n = 1; n < 300; ++n)
    for (const std::size_t first : {std::size_t{0}, n / 3, n / 2, n - 1}) {
      std::vector<T> x(n);
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = static_cast<T>(hash(n + i));
        if (x[i] == kWanted && i < first) x[i] = static_cast<T>(78);
      }
      x[first] = kWanted, x[n - 1] = kWanted;
      ASSERT_EQ(simd::find_integer(x.data(), static_cast<Index>(n), kWanted), static_cast<Index>(first)) << n;
    }
}

TEST(find_integer, runs_of_every_length) {
  expect_found<std::int8_t>(), expect_found<std::uint8_t>();
  expect_found<std::int16_t>(), expect_found<std::uint16_t>();
  expect_found<std::int32_t>(), expect_found<std::uint32_t>();
  expect_found<std::int64_t>(), expect_found<std::uint64_t>();
}

}  // namespace
}  // namespace ndfold::test
