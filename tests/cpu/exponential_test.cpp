// exp on lanes: every float there is, doubles by sample, against long double; docs/numerics.md cites the bounds.
#include "kernels/cpu/exponential.h"

#include "tests/support/convert.h"
#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <vector>

namespace ndfold::test {
namespace {

using namespace folds;

using simd::Lanes;

constexpr double kMostFloatUlps = 1.30;  // of all results that are normal numbers
constexpr Real kMostDoubleUlps = 1.2;

template <class T>
std::vector<T> exponentials(std::vector<T> x) {
  constexpr std::size_t kWidth = Lanes<T>::kCount;
  const std::size_t n = x.size();
  x.resize((n + kWidth - 1) / kWidth * kWidth);
  for (std::size_t i = 0; i < x.size(); i += kWidth)
    simd::store(x.data() + i, simd::exponential(simd::load<Lanes<T>>(x.data() + i)));
  x.resize(n);
  return x;
}

template <class T>
T exponential_of(T x) {
  return exponentials(std::vector<T>{x}).front();
}

// Units in the last place of the exact result. A double's exp stands for the exact one: its own error is 2^-29 of them.
double float_ulps(float got, double want) {
  const int exponent = std::max(std::ilogb(want), -126) - 23;
  return std::fabs(got - want) * std::ldexp(1., -exponent);
}

struct Sweep {
  double worst = 0;
  float at = 0;
  std::uint64_t wrong = 0;  // where no rounding is allowed: 0, inf and NaN
  float first_wrong = 0;

  void judge(float x, float got) {
    constexpr double kSmallestNormal = 0x1p-126, kOverflow = 0x1.ffffffp127;
    const double want = std::exp(static_cast<double>(x));
    bool right = true;
    if (std::isnan(want))
      right = std::isnan(got);
    else if (want < kSmallestNormal)  // within a rounding of the smallest normal number either answer is near enough
      right = got == 0 || (got == 0x1p-126f && want > kSmallestNormal * (1 - 0x1p-20));
    else if (want >= kOverflow || (x > 88 && std::isinf(got)))  // right up to 88, says its header
      right = got == std::numeric_limits<float>::infinity();
    else if (const double ulps = float_ulps(got, want); ulps > worst)
      worst = ulps, at = x;
    if (!right && wrong++ == 0) first_wrong = x;
  }
};

TEST(exponential, of_every_float) {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
  constexpr std::uint32_t kBlock = 1 << 10;
  Sweep sweep;
  std::vector<float> x(kBlock), got(kBlock);
  // Far from 0 there is nothing to measure: results are 0, 1 or inf there, and every 257th bit pattern must do. A
  // sanitizer looks at memory, not at numbers.
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::uint64_t kStride = 61;
#else
  constexpr std::uint64_t kStride = 1;
#endif
  const auto is_close = [](std::uint64_t bits) {
    return (bits & 0x7fffffff) >= 0x2f000000 && (bits & 0x7fffffff) < 0x43000000;
  };
  for (std::uint64_t first = 0; first < kAll;) {
    const bool close = is_close(first);
    const std::uint64_t stride = close ? kStride : 257;
    std::size_t n = 0;
    for (; n < kBlock && first < kAll && is_close(first) == close; first += stride)
      x[n++] = std::bit_cast<float>(static_cast<std::uint32_t>(first));
    constexpr std::size_t kWidth = Lanes<float>::kCount;
    for (std::size_t i = 0; i < n; i += kWidth)
      simd::store(got.data() + i, simd::exponential(simd::load<Lanes<float>>(x.data() + i)));
    for (std::size_t i = 0; i < n; ++i) sweep.judge(x[i], got[i]);
  }
  RecordProperty("worst_ulps", std::to_string(sweep.worst));
  std::printf("worst error %.4f ulp, at %a\n", sweep.worst, static_cast<double>(sweep.at));
  EXPECT_LE(sweep.worst, kMostFloatUlps) << "at " << sweep.at;
  EXPECT_GT(sweep.worst, 0.5) << "nothing was measured";
  EXPECT_EQ(sweep.wrong, 0u) << "first at " << sweep.first_wrong;
}

template <class T>
void expect_special_values() {
  using Limits = std::numeric_limits<T>;
  EXPECT_EQ(exponential_of(-Limits::infinity()), T(0));
  EXPECT_EQ(exponential_of(Limits::infinity()), Limits::infinity());
  EXPECT_EQ(exponential_of(Limits::lowest()), T(0));
  EXPECT_EQ(exponential_of(Limits::max()), Limits::infinity());
  EXPECT_EQ(exponential_of(T(0)), T(1));
  EXPECT_EQ(exponential_of(-T(0)), T(1));
  EXPECT_EQ(exponential_of(Limits::denorm_min()), T(1));
  EXPECT_TRUE(std::isnan(exponential_of(Limits::quiet_NaN())));
  EXPECT_TRUE(std::isnan(exponential_of(-Limits::quiet_NaN())));
  const T log_of_smallest = std::log(Limits::min());
  EXPECT_EQ(exponential_of(log_of_smallest * T(1.001)), T(0));
  EXPECT_GT(exponential_of(log_of_smallest * T(0.999)), T(0));
}

TEST(exponential, special_floats) { expect_special_values<float>(); }
TEST(exponential, special_doubles) { expect_special_values<double>(); }

// A lane's result does not depend on its neighbours or on its place.
TEST(exponential, lanes_are_independent) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNone = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> odd = {kNone, -kInf, kInf, -200, 200, -1e-40f, 3, -3};
  for (const float x : {-1.5f, 0.f, -80.f, 1.f})
    for (std::size_t place = 0; place < odd.size(); ++place) {
      auto row = odd;
      row[place] = x;
      EXPECT_EQ(exponentials(row)[place], exponential_of(x));
    }
}

Real double_ulps(double got, Real want) {
  const int exponent = std::max(std::ilogb(want), -1022) - 52;
  return std::fabs(got - want) * std::ldexp(Real(1), -exponent);
}

TEST(exponential, of_many_doubles) {
  constexpr std::size_t kEach = 200000;
  std::vector<double> x;
  for (const double reach : {1., 30., 708.})
    for (std::size_t i = 0; i < kEach; ++i) x.push_back(-reach * static_cast<double>(uniform(hash(i) + x.size())));
  for (std::size_t i = 0; i < kEach; ++i) x.push_back(700 * static_cast<double>(uniform(i)));
  for (int exponent = -1074; exponent < 9; ++exponent)
    for (const double sign : {-1., 1.}) x.push_back(sign * std::ldexp(1., exponent));
  const auto got = exponentials(x);
  Real worst = 0;
  double at = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const Real ulps = double_ulps(got[i], std::exp(Real(x[i]))); ulps > worst) worst = ulps, at = x[i];
  std::printf("worst error %.4Lf ulp, at %a\n", worst, at);
  EXPECT_LE(worst, kMostDoubleUlps) << "at " << at;
}

}  // namespace
}  // namespace ndfold::test
