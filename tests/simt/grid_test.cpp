// Groups of co-resident blocks that take several tiles each: one grid barrier, then counters. Many orders of threads.
#include "tests/simt/forced.h"

namespace simt {
namespace {

struct Case {
  const char* strategy;
  Sizes sizes;
  AxisSet axes;
  int multiprocessors;
};

const Case kCases[] = {{"rows_in_grid", {7, 6000}, {1}, 2},        // 2 parts, 2 groups, 4 turns
                       {"rows_in_grid", {5, 8000}, {1}, 2},        // 3 parts, 1 group, 5 turns
                       {"rows_in_grid", {1, 9000}, {1}, 3},        // one turn
                       {"columns_in_grid", {200, 300}, {0}, 2},    // panels of two widths
                       {"columns_in_grid", {3, 140, 40}, {1}, 2},  // and of two outer outputs
                       {"split", {3, 9000}, {1}, 3},
                       {"split", {600, 90}, {0}, 3}};

TEST(grid, groups_take_turns) {
  Tally tally;
  for (const Case& item : kCases)
    for (const std::uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << item.strategy << ' ' << ::testing::PrintToString(item.sizes) << ' ' << seed);
      Array in(lay_out(DType::f32, item.sizes, seed == 2 ? Layout::padded : Layout::row_major),
               static_cast<Index>(seed));
      Array out(dense(DType::f32, item.sizes));
      fill(in, Values::mixed);
      const DeviceFacts device = tight(item.multiprocessors);
      run_forced(SoftmaxSpec{.axes = item.axes}, in, out, device, item.strategy, tally, seed);
      Array sum(dense(DType::f32, output_sizes(item.sizes, item.axes)));
      run_forced(ReduceSpec{.op = ReduceOp::sum, .axes = item.axes}, in, sum, device, item.strategy, tally, seed);
    }
  EXPECT_EQ(tally.strategies["rows_in_grid"], 9);
  EXPECT_EQ(tally.strategies["columns_in_grid"], 6);
  EXPECT_EQ(tally.strategies["split"], 12);
}

// The same bits in whatever order threads run, and whatever the workspace held before.
TEST(grid, order_changes_no_bit) {
  for (const Case& item : kCases) {
    Array in(dense(DType::f32, item.sizes)), first(dense(DType::f32, item.sizes)), again(dense(DType::f32, item.sizes));
    fill(in, Values::cancelling);
    const PlanOptions plan{.device = tight(item.multiprocessors), .strategy = item.strategy};
    const SoftmaxSpec spec{.axes = item.axes};
    EXPECT_EQ(simulate(spec, in, first, plan, {.seed = 5}).failure, "");
    EXPECT_EQ(simulate(spec, in, again, plan, {.seed = 77}).failure, "");
    EXPECT_TRUE(first == again) << item.strategy;
  }
}

}  // namespace
}  // namespace simt
