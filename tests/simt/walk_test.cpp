// The arithmetic of addresses, at sizes that no simulator can hold: division, offsets, packs of runs.
#include "kernels/cuda/bind.h"
#include "kernels/cuda/run_walk.h"
#include "tests/support/values.h"

#include <gtest/gtest.h>

namespace ndfold::cuda {
namespace {

constexpr Index kLargest = std::numeric_limits<Index>::max();

TEST(divider, is_exact) {
  std::vector<Index> numbers = {0, 1, 2, 3, 5, 6, 7, 9, 10, 31, 32, 33, 641, 6700417, kLargest, kLargest - 1};
  for (int bit = 2; bit < 63; ++bit)
    for (const Index near : {-1, 0, 1}) numbers.push_back((Index{1} << bit) + near);
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    numbers.push_back(static_cast<Index>(test::hash(seed) >> (1 + seed % 60)));
  for (const Index divisor : numbers) {
    if (divisor < 1) continue;
    const Divider by = divide_by(divisor);
    for (const Index n : numbers) {
      ASSERT_EQ(quotient(n, by), n / divisor) << n << " / " << divisor;
      const Index multiple = n / divisor * divisor;  // where a quotient begins, and just before
      ASSERT_EQ(quotient(multiple, by), multiple / divisor);
      if (multiple > 0) {
        ASSERT_EQ(quotient(multiple - 1, by), (multiple - 1) / divisor);
      }
    }
  }
}

AxisNumbers axis(Index size, Index in, Index out) {
  return {.size = size, .in = in, .out = out, .value = 0, .by = divide_by(size)};
}

TEST(odometer, counts_beyond_32_bits) {
  Arguments step;
  step.walk.rank = 3;
  step.walk.near[2] = axis(70000, -3, 7);
  step.walk.near[1] = axis(90001, 1 << 20, 0);
  step.walk.near[0] = axis(3, 5, Index{1} << 40);
  const Index total = Index{70000} * 90001 * 3;
  for (const Index linear : {Index{0}, Index{2}, Index{3}, Index{1} << 32, (Index{1} << 34) - 1, total - 1}) {
    const Index a = linear / 3 / 90001, b = linear / 3 % 90001, c = linear % 3;
    const Offsets found = offsets(step, step.walk, linear);
    EXPECT_EQ(found.in, a * -3 + b * (1 << 20) + c * 5) << linear;
    EXPECT_EQ(found.out, a * 7 + c * (Index{1} << 40)) << linear;
  }
}

// A row beyond 2^31 elements: every pack lies where it should, and the ends are the row's.
TEST(run_walk, covers_a_part_of_a_giant_row) {
  using Source = Elements<float, float, 4>;
  for (const std::uintptr_t misaligned : {0u, 1u, 3u}) {
    Arguments step;
    step.lane_axis = axis(Index{5} << 30, 1, 1);
    step.packs_of_run = (step.lane_axis.size + 6) / 4;
    step.by_packs = divide_by(step.packs_of_run);
    const auto* base = reinterpret_cast<const float*>((std::uintptr_t{1} << 40) + misaligned * sizeof(float));
    const Index begin = (Index{1} << 32) + 5, end = begin + 30;
    const RunWalk<Source> walk(step, base, begin, end);
    Index next = begin;
    EXPECT_LE(walk.last() - walk.first(), 10);
    for (Index pack = walk.first(); pack < walk.last(); ++pack) {
      const auto place = walk.place(pack);
      if (place.low >= place.high) continue;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place.in) % 16, 0u);
      EXPECT_EQ(place.in + place.low, base + next);
      EXPECT_EQ(place.out + place.low, next);
      next += place.high - place.low;
    }
    EXPECT_EQ(next, end);
  }
}

// Every element of a part of many runs is in exactly one pack, whatever the runs' alignment.
TEST(run_walk, takes_each_element_of_many_runs_once) {
  using Source = Elements<std::int16_t, std::int16_t, 8>;
  for (const Index run : {1, 3, 8, 9, 17})
    for (const Index pitch : {0, 1, 17, 24})
      for (const Index begin : {Index{0}, Index{2}, run, 2 * run + 1}) {
        Arguments step;
        step.lane_axis = axis(run, 1, 100);
        step.walk.rank = 1;
        step.walk.near[0] = axis(7, pitch, 1);
        step.packs_of_run = (run + 14) / 8;
        step.by_packs = divide_by(step.packs_of_run);
        const Index end = 6 * run;
        const auto* base = reinterpret_cast<const std::int16_t*>((std::uintptr_t{1} << 40) + 6);
        const RunWalk<Source> walk(step, base, begin, end);
        Index next = begin;
        for (Index pack = walk.first(); pack < walk.last(); ++pack) {
          const auto place = walk.place(pack);
          for (int i = place.low; i < place.high; ++i, ++next) {
            ASSERT_EQ(place.in + i, base + next / run * pitch + next % run);
            ASSERT_EQ(place.out + i * 100, next / run + next % run * 100);
          }
        }
        ASSERT_EQ(next, end) << run << ' ' << pitch << ' ' << begin;
      }
}

}  // namespace
}  // namespace ndfold::cuda
