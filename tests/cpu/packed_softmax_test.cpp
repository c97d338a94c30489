// Short rows that share vectors: right, the same bits wherever their results go and whoever takes which rows, and
// nothing else is written.
#include "kernels/cpu/packed_rows.h"
#include "tests/cpu/dense_softmax_rows.h"

#include <cstring>

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

// Folded so, a row comes to the same whoever takes it, and some are not finite.
TEST(packed_softmax, logsumexp) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNone = std::numeric_limits<float>::quiet_NaN();
  constexpr Index kWidth = simd::kLanes<simd::LanesOf<float>>;
  for (const Index length : {2, 3, 4, 5, 7, 8, 9, 10, 17, 18, 20, 33}) {
    const Index rows = kEnough / length + 40;
    EXPECT_EQ(simd::folds_packed_rows<float>(rows, length),
              simd::kExpandsLanes<float> && (length - 1) / kWidth < 4 &&
                  (length + kWidth - 1) / kWidth * kWidth * 5 >= 8 * length);
    DenseSoftmaxRows<float> some(rows, length, 0.75);
    const auto row = [&](Index r) { return some.in.begin() + r * length; };
    for (Index r = 3; r < rows; r += 7) std::for_each(row(r), row(r + 1), [](float& x) { x -= 200; });
    row(1)[1] = kInf, row(2)[0] = kNone, row(5)[0] = -kInf, row(6)[0] = kInf, row(6)[1] = kNone;
    std::fill(row(4), row(5), -kInf);
    const std::vector<Axis> kept = {{.size = rows, .in = length, .out = 1}};
    const std::vector<Axis> reduced = {{.size = length, .in = 1, .out = 0}};
    const auto folded = [&](Index at_a_time) {
      std::vector<float> out(static_cast<std::size_t>(rows));
      cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
      step.in = reinterpret_cast<const std::byte*>(some.in.data());
      step.out = reinterpret_cast<std::byte*>(out.data());
      step.input = step.output = DType::f32;
      step.part = length, step.scale = some.scale, step.count = length;
      for (Index r = 0; r < rows; r += at_a_time)
        simd::fold_dense_rows<simd::LogSumExp, float>(step, r, std::min(rows, r + at_a_time));
      return out;
    };
    const auto together = folded(rows);
    for (const Index cut : {Index{1}, kWidth - 1, Index{100}})
      EXPECT_EQ(std::memcmp(together.data(), folded(cut).data(), together.size() * sizeof(float)), 0) << length;
    for (Index r = 0; r < rows; ++r) {
      const float is = together[static_cast<std::size_t>(r)];
      if (r == 1) {
        EXPECT_EQ(is, kInf) << length;
      } else if (r == 2 || r == 6) {
        EXPECT_TRUE(std::isnan(is)) << length;
      } else if (r == 4) {
        EXPECT_EQ(is, -kInf) << length;
      } else {
        double sum = 0;
        const double first = some.scale * *std::max_element(row(r), row(r + 1));
        for (auto x = row(r); x != row(r + 1); ++x) sum += std::exp(some.scale * *x - first);
        ASSERT_NEAR(is, first + std::log(sum), 1e-5 + 2e-7 * std::abs(first)) << "row " << r << " of " << length;
      }
    }
  }
}

}  // namespace
}  // namespace ndfold::test
