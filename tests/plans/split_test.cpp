// How a fold is shared: parts that leave no multiprocessor waiting, who merges their states, and what maps elements.
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

std::vector<Step> split(Request request) {
  request.options.device = DeviceFacts::h200();
  request.options.device.launches_overlap = true;
  request.options.strategy = "split";
  return plan(request).schedule.steps;
}

Index blocks_of(const Step& step) { return step.launch.grid[0] * step.launch.grid[1]; }

// Of 132 multiprocessors; two blocks of one are as fast as one.
TEST(Split, LeavesNoMultiprocessorWaiting) {
  const auto even = split(softmax_of({16384, 16384}, {0}));  // 256 tiles
  ASSERT_EQ(even.size(), 2U);
  EXPECT_EQ(blocks_of(even[0]), 256);

  const auto uneven = split(softmax_of({16384, 16383}, {0}));  // 133 tiles
  ASSERT_EQ(uneven.size(), 3U);
  EXPECT_GE(blocks_of(uneven[0]), 4 * 133);

  const auto little = split(softmax_of({300, 16383}, {0}));
  ASSERT_EQ(little.size(), 2U) << "a launch more takes longer than some wait";
  EXPECT_EQ(blocks_of(little[0]), 133);
}

// Of little each multiprocessor has a block, and of one tile no more than whose states a warp reads at once.
TEST(Split, FewBlocksMeetOverLittle) {
  const auto blocks = [](Dims sizes, int axis) {
    return blocks_of(split(reduce_of(ReduceOp::sum, dense(DType::f32, std::move(sizes)), {axis}))[0]);
  };
  EXPECT_EQ(blocks({8192, 127}, 0), 128);
  EXPECT_EQ(blocks({2048, 511}, 0), 9 * 14) << "nine panels";
  EXPECT_EQ(blocks({1, 1 << 20}, 1), 132);
  EXPECT_GT(blocks({131072, 65}, 0), 250);
}

// 545 tiles that leave some waiting: but six parts of a tile would have 11 rows a lane, and 16 states to meet over.
TEST(Split, PartsHaveRowsEnoughForTheirMeeting) {
  const auto steps = split(reduce_of(ReduceOp::var, dense(DType::f32, {1056, 34848}), {0}));
  EXPECT_LE(blocks_of(steps[0]), 2 * 545);
}

// Rows that take turns: the last few have the bus for themselves. 196 of short runs are all there at once, and too few.
TEST(Split, RowsThatTakeTurnsStayWhole) {
  const auto chosen = [](Dims sizes, AxisSet axes) {
    const ViewDesc in = dense(DType::f32, std::move(sizes));
    return plan(reduce_of(ReduceOp::argmax, in, std::move(axes), DeviceFacts::h200())).strategy;
  };
  EXPECT_EQ(chosen({535, 50257}, {1}), "rows_in_block");
  EXPECT_EQ(chosen({700, 100000}, {1}), "rows_in_block");
  EXPECT_EQ(chosen({33, Index{1} << 20}, {1}), "split");
  EXPECT_EQ(chosen({208, 196, 501}, {0, 2}), "split");
}

TEST(Split, FewStatesOfManyOutputsAreMergedByLanes) {
  const auto many = split(softmax_of({16384, 16383}, {0}));
  ASSERT_EQ(many.size(), 3U);
  EXPECT_EQ(many[1].kernel.scope, Scope::lanes);
  EXPECT_LE(blocks_of(many[1]), 16383 / 8);

  const auto few = split(reduce_of(ReduceOp::sum, dense(DType::f32, {8, Index{1} << 24}), {1}));
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[1].kernel.scope, Scope::block);
}

// Blocks that meet take rows of runs by a kernel for any layout; those that leave states have one for runs.
TEST(Split, RunsOfAnArgmaxAreMergedByASecondLaunch) {
  EXPECT_EQ(split(reduce_of(ReduceOp::argmax, dense(DType::f32, {3000, 33, 397}), {0, 2})).size(), 2U);
  EXPECT_EQ(split(reduce_of(ReduceOp::argmax, dense(DType::f32, {33, Index{1} << 20}), {1})).size(), 1U);
  EXPECT_EQ(split(reduce_of(ReduceOp::argmax, dense(DType::f32, {30, 33, 397}), {0, 2})).size(), 1U);
}

TEST(Split, MapsGoAlongMemoryOnAGpuAndByPartsOnACpu) {
  EXPECT_EQ(split(softmax_of({Index{1} << 26, 2}, {0})).back().parts, 1);
  Request request = softmax_of({Index{1} << 22, 2}, {0}, fixed_host());
  request.options.strategy = "split";
  EXPECT_GT(plan(request).schedule.steps.back().parts, 1);
}

}  // namespace
}  // namespace ndfold::test
