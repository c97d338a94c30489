// Elements a few places apart: all of them, in their order, and none beside them is read or written.
#include "kernels/cpu/near_strides.h"

#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace ndfold::test {
namespace {

template <class T>
class near_strides : public ::testing::Test {};
using Words = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(near_strides, Words);

// Both arrays end where the last element does: a sanitizer faults whoever goes further.
TYPED_TEST(near_strides, brings_together) {
  for (const Index stride : {-9, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 64})
    for (const Index n : {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 1000}) {
      const Index span = n == 0 ? 0 : (n - 1) * std::abs(stride) + 1;
      std::vector<TypeParam> from(static_cast<std::size_t>(span)), to(static_cast<std::size_t>(n)), want = to;
      for (Index i = 0; i < span; ++i)
        from[static_cast<std::size_t>(i)] = static_cast<TypeParam>(hash(static_cast<std::uint64_t>(i)));
      const Index first = stride < 0 ? span - 1 : 0;
      for (Index i = 0; i < n; ++i)
        want[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(n == 0 ? 0 : first + i * stride)];
      simd::gather_words(
          reinterpret_cast<const std::byte*>(from.data()) + std::max<Index>(first, 0) * Index{sizeof(TypeParam)},
          stride, n, to.data());
      ASSERT_EQ(to, want) << "stride " << stride << ", " << n;
    }
}

}  // namespace
}  // namespace ndfold::test
