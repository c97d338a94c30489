// Runs folded in bundles give what each run gives alone: any length, one behind the other or far apart, any element.
#include "kernels/cpu/bundle.h"

#include "kernels/cpu/arg_lanes.h"
#include "kernels/cpu/fold_groups.h"
#include "kernels/folds/norms.h"
#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::test {
namespace {

using namespace folds;

template <class T>
bool same(T a, T b) {
  return a != a ? b != b : a == b && std::signbit(a) == std::signbit(b);
}

template <template <class> class F, class A, class T>
typename F<A>::State expected_of(const T* x, Index n) {
  const F<A> fold;
  auto state = fold.identity();
  for (Index i = 0; i < n; ++i) state = fold.combine(state, fold.map(static_cast<A>(x[i]), i));
  return state;
}

// Two groups of runs of n elements at a pitch, some of which are listed; `value(i)` is element i of the memory they lie
// in.
template <class A, class T>
struct Runs {
  static constexpr Index kWidth = simd::kLanes<simd::LanesOf<A>>, kGroups = 2, kOffset = 3;
  std::vector<T> memory;
  std::vector<const T*> runs;
  bool are_waited_for = false;

  template <class Value>
  Runs(Index pitch, const Value& value) : memory(static_cast<std::size_t>(pitch * kWidth * kGroups + kOffset)) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<T>(value(i));
    for (Index r = 0; r < kWidth * kGroups; ++r) runs.push_back(memory.data() + r * pitch);
  }

  template <template <class> class F>
  std::vector<typename F<A>::State> folded(Index n, Index pitched = kGroups) const {
    return folded_by<F<simd::LanesOf<A>>, typename F<A>::State>(n, pitched);
  }

  template <class LaneFold, class Number>
  std::vector<Number> folded_by(Index n, Index pitched) const {
    typename LaneFold::State states[kGroups];
    const Index offset = kOffset, pitch = runs[1] - runs[0];
    simd::fold_groups(LaneFold(),
                      simd::Bundle<T>{runs[0],
                                      pitch,
                                      pitched,
                                      runs.data() + pitched * kWidth,
                                      (kGroups - pitched) * kWidth,
                                      kGroups,
                                      n,
                                      {.ahead = n},
                                      &offset,
                                      1,
                                      are_waited_for},
                      states);
    std::vector<Number> all(static_cast<std::size_t>(kWidth * kGroups));
    for (Index g = 0; g < kGroups; ++g) simd::spread<A>(states[g], all.data() + g * kWidth);
    return all;
  }
  const T* run(std::size_t r) const { return runs[r] + kOffset; }
};

const std::vector<Index> kLengths = {1,  2,  3,  4,  5,  6,   7,   8,   9,   12,  15,  16,
                                     17, 31, 32, 33, 64, 100, 127, 128, 129, 300, 1024};

// Small whole numbers: every order of additions is exact.
template <class A, class T>
void expect_sums() {
  for (const Index n : kLengths)
    for (const Index gap : {0, 1, 5}) {
      const Runs<A, T> runs(n + gap, [](std::size_t i) { return static_cast<float>(hash(i) % 17) - 8; });
      const auto sums = runs.template folded<Sum>(n);
      const auto squares = runs.template folded<SumOfSquares>(n, gap == 1 ? 0 : 1);
      for (std::size_t r = 0; r < sums.size(); ++r) {
        ASSERT_EQ(sums[r], (expected_of<Sum, A>(runs.run(r), n))) << "run " << r << " of " << n << " and " << gap;
        ASSERT_EQ(squares[r], (expected_of<SumOfSquares, A>(runs.run(r), n)));
      }
    }
}

TEST(bundle, sums_of_floats) { expect_sums<float, float>(); }
TEST(bundle, sums_of_doubles) { expect_sums<double, double>(); }
TEST(bundle, sums_of_halves) { expect_sums<float, simd::Half>(); }
TEST(bundle, sums_of_brain_halves) { expect_sums<float, simd::BrainHalf>(); }

// Sums that round: one behind the other, apart and listed, which are folded by other code.
template <class A>
void expect_same_bits() {
  for (const Index n : kLengths) {
    const auto value = [n](Index gap) {
      return [n, gap](std::size_t i) {  // element j of run r, wherever that lies
        const auto at = i < 3 ? 0 : static_cast<Index>(i) - 3, run = at / (n + gap), j = at % (n + gap);
        return A(hash(static_cast<std::uint64_t>(run * 10000 + j)) % 100000) / 77;
      };
    };
    const Runs<A, A> close(n, value(0)), apart(n + 5, value(5));
    const auto sums = close.template folded<Sum>(n);
    EXPECT_EQ(sums, apart.template folded<Sum>(n)) << n;
    EXPECT_EQ(sums, close.template folded<Sum>(n, 0)) << n;
    EXPECT_EQ(close.template folded<SumOfSquares>(n), apart.template folded<SumOfSquares>(n, 1)) << n;
  }
}

TEST(bundle, same_bits_wherever_runs_lie) { expect_same_bits<float>(), expect_same_bits<double>(); }

// NaN, zeros of both signs and infinities among ordinary values, or little else.
template <class A>
void expect_extrema(std::uint64_t odd_share) {
  using L = std::numeric_limits<A>;
  const A odd[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), A(0), -A(0), A(-0.5)};
  for (const Index n : kLengths)
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Runs<A, A> runs(n + static_cast<Index>(seed % 2), [&](std::size_t i) {
        const std::uint64_t bits = hash(seed * 100000 + i);
        const std::uint64_t first = seed % 3 == 0 ? 0 : 1;  // often without a NaN
        return bits % 100 < odd_share ? odd[first + bits / 100 % (6 - first)] : -A(1 + bits % 5);
      });
      runs.are_waited_for = seed % 4 > 1;
      const auto largest = runs.template folded<Max>(n, static_cast<Index>(seed % 3));
      const auto smallest = runs.template folded<Min>(n, static_cast<Index>(2 - seed % 3));
      for (std::size_t r = 0; r < largest.size(); ++r) {
        ASSERT_TRUE(same(largest[r], (expected_of<Max, A>(runs.run(r), n)))) << "run " << r << " of " << n;
        ASSERT_TRUE(same(smallest[r], (expected_of<Min, A>(runs.run(r), n)))) << "run " << r << " of " << n;
      }
    }
}

TEST(bundle, extrema) {
  for (const std::uint64_t odd_share : {1, 30, 100})
    expect_extrema<float>(odd_share), expect_extrema<double>(odd_share);
}

// Few values, so that many tie; in some seeds NaNs among them.
template <template <class> class F, class A>
void expect_places() {
  for (const Index n : kLengths)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Runs<A, A> runs(n + static_cast<Index>(seed % 2), [&](std::size_t i) {
        const std::uint64_t bits = hash(seed * 100000 + i);
        if (seed % 3 == 0 && bits % 50 == 0) return std::numeric_limits<A>::quiet_NaN();
        return seed % 4 == 1 ? -std::numeric_limits<A>::infinity() : A(bits / 64 % 5) - 2;
      });
      runs.are_waited_for = seed % 4 > 1;
      const Index pitched = static_cast<Index>(seed % 3);
      using Lanes = simd::ArgLanes<F<simd::LanesOf<A>>>;
      const auto best = runs.template folded_by<Lanes, simd::ValueAndPlace<A>>(n, pitched);
      for (std::size_t r = 0; r < best.size(); ++r) {
        const auto expected = expected_of<F, A>(runs.run(r), n);
        ASSERT_EQ(static_cast<Index>(best[r].place), expected.index) << "run " << r << " of " << n << ", seed " << seed;
        ASSERT_TRUE(F<A>::same(best[r].value, expected.value)) << "run " << r << " of " << n;
      }
    }
}

TEST(bundle, places_of_extrema) {
  expect_places<ArgMax, float>(), expect_places<ArgMax, double>();
  expect_places<ArgMin, float>(), expect_places<ArgMin, double>();
}

TEST(bundle, moments_of_each_run) {
  for (const Index n : kLengths)
    for (const Index gap : {0, 2}) {
      const Runs<double, double> runs(n + gap,
                                      [](std::size_t i) { return 1e3 + static_cast<double>(hash(i) % 1000) / 64; });
      const auto moments = runs.folded<Variance>(n, gap == 0 ? 2 : 1);
      for (std::size_t r = 0; r < moments.size(); ++r) {
        double mean = 0, variance = 0;
        for (Index i = 0; i < n; ++i) mean += runs.run(r)[i] / static_cast<double>(n);
        for (Index i = 0; i < n; ++i)
          variance += (runs.run(r)[i] - mean) * (runs.run(r)[i] - mean) / static_cast<double>(n);
        ASSERT_EQ(moments[r].count, static_cast<double>(n));
        ASSERT_NEAR(moments[r].mean, mean, 1e-9);
        ASSERT_NEAR(moments[r].variance, variance, 1e-9) << "run " << r << " of " << n;
      }
    }
}

}  // namespace
}  // namespace ndfold::test
