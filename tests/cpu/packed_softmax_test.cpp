// Short rows that share vectors: right, the same bits wherever their results go and whoever takes which rows, and
// nothing else is written.
#include "kernels/cpu/packed_softmax.h"

#include "tests/cpu/dense_softmax_rows.h"

namespace ndfold::test {
namespace {

constexpr Index kEnough = 8192;  // elements: fewer are not taken so

template <class T>
void expect_softmax(double bound) {
  for (const Index length : {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72, 80, 97, 112, 128})
    for (const Index further : {0, 1, 13})
      DenseSoftmaxRows<T>((kEnough + length - 1) / length + further, length, 0.75).expect_right(bound);
}

TEST(packed_softmax, of_floats) { expect_softmax<float>(3e-6); }
TEST(packed_softmax, of_doubles) { expect_softmax<double>(1e-6); }
TEST(packed_softmax, of_halves) { expect_softmax<simd::Half>(2e-3); }
TEST(packed_softmax, of_bfloats) { expect_softmax<simd::Bfloat16>(2e-2); }

bool is_packed(Index rows, Index length, double scale, bool past_caches) {
  cpu::Arguments step;
  step.scale = scale, step.past_caches = past_caches;
  return simd::are_packed_rows<float, MapKind::softmax>(rows, length, step);
}

TEST(packed_softmax, few_rows_and_negative_scales_are_not_taken_so) {
  constexpr Index kWidth = simd::kLanes<simd::LanesOf<float>>;
  constexpr bool kCan = simd::kExpandsLanes<float>;
  EXPECT_FALSE(is_packed(100, 7, 1, true));
  EXPECT_FALSE(is_packed(10000, 7, -1, true));
  EXPECT_EQ(is_packed(10000, 7, 1, false), kCan);
  EXPECT_FALSE(is_packed(10000, 4 * kWidth + 1, 1, false)) << "nothing is streamed";
  EXPECT_EQ(is_packed(10000, 4 * kWidth + 1, 1, true), kCan && kWidth < 16);
  EXPECT_FALSE(is_packed(10000, 5 * kWidth - 1, 1, true)) << "the last vector is nearly full";
  EXPECT_EQ(is_packed(10000, 64, 1, true), kCan);
  EXPECT_FALSE(is_packed(10000, 65, 1, true));
}

TEST(packed_softmax, what_is_not_finite_stays_in_its_row) {
  for (const Index length : {3, 8, 13, 20, 50}) expect_what_is_not_finite_to_stay(4000, length);
}

}  // namespace
}  // namespace ndfold::test
