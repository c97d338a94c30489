// How many blocks share a multiprocessor, where elements wait, and what a launch may not exceed.
#include "plans/build/geometry.h"

#include "plans/build/steps.h"
#include "tests/plans/columns_step.h"
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

namespace ndfold {
namespace {

const DeviceFacts kH200 = DeviceFacts::h200();

TEST(Geometry, SharedMemoryDecidesHowManyBlocksAreResident) {
  for (const auto& [reduced, blocks] : {std::pair<Index, Index>{512, 3}, {864, 2}, {1784, 1}}) {
    Step step = columns_step(reduced, 4096);
    settle(step, Residency::shared, kH200);
    EXPECT_EQ(step.launch.shared_bytes, reduced * 128);
    EXPECT_EQ(resident_blocks(step, kH200), blocks) << reduced;
    EXPECT_LE(step.launch.shared_bytes, shared_bytes_for(blocks, kH200));
  }
}

TEST(Geometry, WhatDoesNotFitIsReadAgain) {
  Step step = columns_step(1785, 4096);
  settle(step, Residency::shared, kH200);
  EXPECT_EQ(step.kernel.residency, Residency::none);
  EXPECT_EQ(step.launch.shared_bytes, 0);
  EXPECT_EQ(tile_bytes(columns_step(10, 3)), 10 * 3 * 4) << "a panel is no wider than the axis";
}

TEST(Geometry, PlainReductionsNeverWait) {
  Step step = columns_step(64, 4096);
  step.kernel.sink = SinkKind::store;
  settle(step, Residency::shared, kH200);
  EXPECT_EQ(step.kernel.residency, Residency::none);
}

TEST(Geometry, RegistersHoldWhatTheirLanesLoad) {
  Step step;
  step.kernel.sink = SinkKind::softmax;
  step.kernel.scope = Scope::lanes;
  step.kernel.tuning = {.threads = 256, .lanes_per_row = 8, .vector_bytes = 16, .unroll = 4};
  step.part = 64;
  step.launch.block = 256;
  EXPECT_EQ(tiles_of_block(step), 64) << "32 groups of lanes, two rows of 256 bytes each";
  settle(step, Residency::registers, kH200);
  EXPECT_EQ(step.kernel.residency, Residency::registers);
  step.part = 129;
  settle(step, Residency::registers, kH200);
  EXPECT_EQ(step.kernel.residency, Residency::none);
}

// A kernel that takes all rows of a column in a lane walks one axis: along several blocks share rows, and are small
// where those are few.
TEST(Geometry, FewRowsOfSeveralAxesHaveSmallBlocks) {
  const auto launch = [](ViewDesc view, AxisSet axes) {
    Request request = test::reduce_of(ReduceOp::sum, std::move(view), std::move(axes), kH200);
    request.options.strategy = "columns_in_block";
    return test::plan(request).schedule.steps.front().launch;
  };
  const Launch of_two = launch(dense(DType::f32, {546, 4, 40, 4, 96}), {1, 3});
  EXPECT_EQ(of_two.block, 32);
  EXPECT_EQ(of_two.grid[1], 546 * 40);
  EXPECT_EQ(launch(dense(DType::bf16, {349, 3, 64, 5, 2000}), {1, 3}).block, 256) << "as many packs";
  const Launch of_one = launch(dense(DType::f32, {21840, 16, 96}), {1});
  EXPECT_EQ(of_one.block, 256);
  EXPECT_EQ(of_one.grid[1], 21840 / 8) << "lines side by side";
}

// Lanes that take all rows of their columns are too few where columns are: then lanes of a block share them, but not
// where blocks had a narrow line each, or large states to bring together.
TEST(Geometry, FewRowsAreSharedWhereLanesAreFew) {
  const auto sharers = [](ReduceOp op, const std::vector<Index>& sizes, DType type = DType::f32) {
    const AxisSet axes{sizes.size() == 2 ? 0 : 1};
    Request request = test::reduce_of(op, dense(type, sizes), axes, kH200);
    request.options.strategy = "columns_in_block";
    return test::plan(request).schedule.steps.front().kernel.tuning.lanes_per_row;
  };
  EXPECT_EQ(sharers(ReduceOp::sum, {32, 16384}), 2);
  EXPECT_EQ(sharers(ReduceOp::sum, {32, 16383}), 4) << "packs begin elsewhere in each row";
  EXPECT_EQ(sharers(ReduceOp::sum, {20, 1024}), 16);
  EXPECT_EQ(sharers(ReduceOp::sum, {32, 1 << 18}), 1) << "lanes enough";
  EXPECT_EQ(sharers(ReduceOp::sum, {8, 1024}), 1) << "one batch of loads";
  EXPECT_GT(sharers(ReduceOp::sum, {16, 32, 1000}), 1);
  EXPECT_EQ(sharers(ReduceOp::sum, {512, 12, 64}), 1) << "a narrow line each";
  EXPECT_GT(sharers(ReduceOp::sum, {12, 16383}, DType::bf16), 1);
  EXPECT_EQ(sharers(ReduceOp::argmax, {20, 16384}), 1);
  EXPECT_GT(sharers(ReduceOp::argmax, {32, 16384}), 1);
  EXPECT_EQ(sharers(ReduceOp::var, {32, 16384}), 1) << "three numbers a column";
  EXPECT_GT(sharers(ReduceOp::var, {20, 16383}), 1) << "elements one by one";
}

TEST(Geometry, GpuGridsAreCutAndCpuTasksAreNot) {
  Step step = columns_step(4, 4);
  step.launch.grid = {Index{1} << 40, Index{1} << 40, 1};
  Schedule gpu{.steps = {step}}, host = gpu;
  fit_to_device(gpu, kH200);
  fit_to_device(host, DeviceFacts::host());
  EXPECT_EQ(gpu.steps[0].launch.grid[0], (Index{1} << 31) - 1);
  EXPECT_EQ(gpu.steps[0].launch.grid[1], 65535);
  EXPECT_EQ(host.steps[0], step);
}

}  // namespace
}  // namespace ndfold
