// Raised powers are right wherever a tame sum lets them be; their logarithms and states too. And a row's results do not
// depend on whether others are tame.
#include "kernels/cpu/raised_power.h"

#include "tests/cpu/dense_softmax_rows.h"

#include <cmath>

namespace ndfold::test {
namespace {

using simd::Lanes;
using simd::TameSums;
using V = Lanes<float>;

constexpr double kRaise = 0x1p32, kUnit = 0x1p-24;
constexpr Index kWidth = simd::kLanes<V>;

float first(V lanes) { return simd::lane(lanes, 0); }
float raised(float x, float scale = 1) { return first(simd::RaisedPower(folds::splat<V>(scale))(folds::splat<V>(x))); }
bool is_tame(float sum, double alpha = 1) { return simd::are_all(TameSums(alpha)(folds::splat<V>(sum))); }

TEST(raised_power, of_many_floats) {
  double worst = 0;
  for (const float scale : {1.f, -1.f, 0.75f})
    for (int i = -109 * 4096; i < 60 * 4096; ++i) {
      const float x = static_cast<float>(i) / 4096 / scale;
      const double want = kRaise * std::exp(static_cast<double>(x * scale));
      if (want < 0x1p-125) continue;
      worst = std::max(worst, std::abs(raised(x, scale) / want - 1) / kUnit - 0.05 * std::abs(x * scale));
    }
  RecordProperty("worst_units", std::to_string(worst));
  EXPECT_LE(worst, 4);  // two units in the last place, and what log 2 is off by
}

TEST(raised_power, no_sum_with_what_is_not_finite_is_tame) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kMost = std::numeric_limits<float>::max();
  for (const float x : {-kInf, -kMost, -1e30f, -1e6f, -200.f}) EXPECT_EQ(raised(x), 0) << x;
  for (const float x : {kInf, kMost, 1e30f, 1e6f, 200.f, 89.f, 61.f}) EXPECT_FALSE(is_tame(raised(x))) << x;
  for (const float sign : {1.f, -1.f})
    EXPECT_FALSE(is_tame(raised(std::copysign(std::numeric_limits<float>::quiet_NaN(), sign))));
  EXPECT_FALSE(is_tame(0)) << "of -inf only";
  EXPECT_TRUE(is_tame(raised(-20)) && is_tame(raised(0)) && is_tame(raised(58)));
  EXPECT_FALSE(is_tame(raised(0), 1e-6)) << "alpha over the sum might be no normal number";
}

TEST(raised_power, logarithms_and_states) {
  for (double log = -22; log < 59; log += 0.0437) {
    const V sum = folds::splat<V>(static_cast<float>(kRaise * std::exp(log)));
    const double want = std::log(static_cast<double>(first(sum)) / kRaise);
    const auto logarithm = TameSums::logarithm(sum);
    EXPECT_NEAR(first(logarithm.shift) + static_cast<double>(first(logarithm.rest)), want, 2 * kUnit) << log;
    const auto state = TameSums::state(sum);
    EXPECT_NEAR(first(state.max) + std::log(static_cast<double>(first(state.sum))), want, 4 * kUnit) << log;
  }
}

// Some rows, or stretches of many, are far from 0, have a NaN or an infinity, or nothing else.
template <class IsSpoilt>
void expect_rows_not_to_depend_on_others(Index length, const IsSpoilt& is_spoilt) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const DenseSoftmaxRows<float> some(24000 / length + 2 * kWidth + 5, length, 0.75);
  DenseSoftmaxRows<float> spoilt = some;
  for (Index r = 0; r < some.rows; ++r) {
    if (!is_spoilt(r)) continue;
    const auto row = spoilt.in.begin() + r * length;
    for (auto x = row; x != row + length; ++x) *x += r % 2 == 0 ? 300.f : -300.f;
    if (r % 25 == 1) row[1] = kInf;
    if (r % 25 == 2) row[0] = std::numeric_limits<float>::quiet_NaN();
    if (r % 25 == 3) std::fill(row, row + length, -kInf);
  }
  for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax}) {
    const auto results = some.softmax(sink, false, 0, 100000), others = spoilt.softmax(sink, false, 0, 100000);
    for (Index r = 0; r < some.rows; ++r)
      for (Index i = r * length; i < (r + 1) * length; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (!is_spoilt(r)) {
          ASSERT_EQ(results[at], others[at]) << "row " << r << " of " << length;
        } else if (const double want = spoilt.expected(sink, at); !std::isnan(others[at])) {
          ASSERT_NEAR(others[at], want, 1e-5 * (1 + std::abs(want))) << "row " << r << " of " << length;
        } else {
          ASSERT_TRUE(r % 25 >= 1 && r % 25 <= 3) << "row " << r << " of " << length;
        }
      }
  }
}

TEST(raised_power, a_row_does_not_depend_on_others) {
  for (const Index length : {2, 3, 7, 16, 17, 50, 64, 65, 100, 300, 600, 1500}) {
    expect_rows_not_to_depend_on_others(length, [](Index r) { return r % 3 == 0; });
    expect_rows_not_to_depend_on_others(length, [=](Index r) { return r * length / 3000 % 2 == 1; });
  }
}

TEST(raised_power, no_probability_is_more_than_one) {
  for (const Index length : {2, 4, 7, 16, 17, 64, 100, 600}) {
    DenseSoftmaxRows<float> some(8192 / length + 40, length, 0.75);
    some.alpha = 1;
    for (Index r = 0; r < some.rows; ++r) some.in[static_cast<std::size_t>(r * length)] += 25;
    const auto largest = [&](SinkKind sink) {
      const auto results = some.softmax(sink, false, 0, 100000);
      return *std::max_element(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(some.in.size()));
    };
    EXPECT_LE(largest(SinkKind::log_softmax), 0) << length;
    EXPECT_LE(largest(SinkKind::softmax), 1) << length;
  }
}

}  // namespace
}  // namespace ndfold::test
