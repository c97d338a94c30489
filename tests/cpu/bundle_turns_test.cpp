// Groups of a bundle that are read in turns give what each gives alone, bit by bit.
#include "kernels/cpu/bundle_turns.h"

#include "kernels/cpu/arg_lanes.h"
#include "kernels/cpu/fold_groups.h"
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/moments.h"
#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ndfold::test {
namespace {

using namespace folds;

// 9 groups of runs of n elements at a pitch.
template <class LaneFold, class T, class Value>
void expect_as_alone(const LaneFold& fold, const Value& value) {
  constexpr Index kWidth = simd::kLanes<typename LaneFold::Value>, kGroups = 9, kOffset = 3;
  for (const Index n : {1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 64, 100, 128, 129, 300, 1024})
    for (const Index gap : {1, 5}) {
      const Index pitch = n + gap;
      std::vector<T> x(static_cast<std::size_t>(pitch * kWidth * kGroups + kOffset));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(value(i));
      const simd::Bundle<T> bundle{x.data(), pitch, kGroups, nullptr, 0, kGroups, n, {}, &kOffset, 1};
      typename LaneFold::State alone[kGroups], turns[kGroups];
      simd::fold_groups(fold, bundle, alone);
      const bool is_long = n >= simd::kLongRunVectors * kWidth;
      const auto in_turns = [&](auto may_be_long) {
        const simd::Taking<LaneFold> take{fold, turns, true};
        ASSERT_EQ((simd::fold_pitched_groups_in_turns<may_be_long()>(take, bundle, 1, kOffset)), kGroups);
        turns[0] = alone[0];
      };
      if constexpr (!simd::AsksPlaces<LaneFold>)
        is_long ? in_turns(std::true_type()) : in_turns(std::false_type());
      else
        in_turns(std::false_type());
      ASSERT_EQ(std::memcmp(alone, turns, sizeof alone), 0) << "runs of " << n << ", gaps of " << gap;
    }
}

template <template <class> class F, class A, class T = A, class Value>
void expect_fold_as_alone(const Value& value) {
  expect_as_alone<F<simd::LanesOf<A>>, T>(F<simd::LanesOf<A>>(), value);
}

float number(std::size_t i) { return static_cast<float>(hash(i) % 2001) / 7 - 100; }

// NaNs, zeros of both signs and infinities, often none of them for long.
float odd(std::size_t i) {
  using L = std::numeric_limits<float>;
  constexpr float kOdd[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), 0.f, -0.f};
  return hash(i / 900) % 3 != 0 || hash(i) % 20 != 0 ? -1 - static_cast<float>(hash(i) % 5) : kOdd[hash(i) / 20 % 5];
}

TEST(bundle_turns, sums) {
  expect_fold_as_alone<Sum, float>(number);
  expect_fold_as_alone<Sum, double>(number);
  expect_fold_as_alone<Sum, float, simd::Half>(number);
  expect_fold_as_alone<SumOfSquares, float>(number);
}

TEST(bundle_turns, extrema) {
  expect_fold_as_alone<Max, float>(odd);
  expect_fold_as_alone<Min, double>(odd);
  expect_fold_as_alone<Max, float, simd::BrainHalf>(odd);
}

TEST(bundle_turns, places) {
  expect_as_alone<simd::ArgLanes<ArgMax<simd::LanesOf<float>>>, float>({}, odd);
  expect_as_alone<simd::ArgLanes<ArgMin<simd::LanesOf<double>>>, double>({}, odd);
}

TEST(bundle_turns, moments) {
  expect_fold_as_alone<Variance, float>(number);
  expect_fold_as_alone<Variance, double>(number);
}

}  // namespace
}  // namespace ndfold::test
