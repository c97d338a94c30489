// Runs that come are those of the outputs after the first few, each once, and in the order of memory within a group.
#include "kernels/cpu/coming_runs.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <set>

namespace ndfold::test {
namespace {

constexpr Index kGroupElements = (256 << 10) / 4;

cpu::Arguments step_of(const std::vector<Axis>& kept, const std::vector<Axis>& reduced) {
  cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
  step.input = DType::f32;
  return step;
}

std::vector<Index> runs_that_come(const cpu::Arguments& step, Index first, Index last) {
  simd::ComingRuns runs(step, first, last);
  std::vector<Index> all;
  while (runs.any()) all.push_back(runs.next());
  return all;
}

TEST(coming_runs, are_each_once_and_stretches_of_memory) {
  for (const Index outputs : {32, 33, 7}) {
    const std::vector<Axis> kept = {{.size = 9, .in = 64 * outputs * 128}, {.size = outputs, .in = 128}};
    const std::vector<Axis> reduced = {{.size = 64, .in = outputs * 128}, {.size = 128, .in = 1}};
    const Index group = std::min(kGroupElements / (64 * 128), outputs);
    const auto all = runs_that_come(step_of(kept, reduced), 0, 9 * outputs);
    std::set<Index> wanted;
    for (Index o = group; o < 9 * outputs; ++o)
      for (Index r = 0; r < 64; ++r) wanted.insert((o / outputs * 64 + r) * outputs * 128 + o % outputs * 128);
    const std::set<Index> found(all.begin(), all.end());
    EXPECT_EQ(found.size(), all.size());
    EXPECT_EQ(wanted.size(), all.size() + 2 * 64);
    for (const Index at : found) EXPECT_TRUE(wanted.contains(at)) << at;
    Index neighbours = 0;
    for (std::size_t i = 1; i < all.size(); ++i) neighbours += all[i] == all[i - 1] + 128;
    EXPECT_GT(neighbours, static_cast<Index>(all.size()) / 2);
  }
}

TEST(coming_runs, are_none_of_long_runs_far_outputs_and_few_blocks) {
  const std::vector<Axis> kept = {{.size = 512, .in = 128}}, far = {{.size = 512, .in = 1 << 20}};
  const std::vector<Axis> reduced = {{.size = 16, .in = 1 << 16}, {.size = 128, .in = 1}};
  const std::vector<Axis> long_runs = {{.size = 16, .in = 1 << 20}, {.size = 2048, .in = 1}};
  EXPECT_FALSE(runs_that_come(step_of(kept, reduced), 0, 512).empty());
  EXPECT_TRUE(runs_that_come(step_of(kept, reduced), 0, 3).empty());
  EXPECT_TRUE(runs_that_come(step_of(kept, reduced), 5, 5).empty());
  EXPECT_TRUE(runs_that_come(step_of(far, reduced), 0, 512).empty());
  EXPECT_TRUE(runs_that_come(step_of(kept, long_runs), 0, 512).empty());
  EXPECT_TRUE(runs_that_come(step_of(kept, {{.size = 128, .in = 1}}), 0, 512).empty());
}

}  // namespace
}  // namespace ndfold::test
