// How a GPU's blocks and lanes share a reduction's columns.
#include "plans/build/fit_columns.h"

#include "tests/plans/problems.h"

#include <gtest/gtest.h>

namespace ndfold {
namespace {

Step in_block(ReduceOp op, ViewDesc view, AxisSet axes) {
  Request request = test::reduce_of(op, std::move(view), std::move(axes), DeviceFacts::h200());
  request.options.strategy = "columns_in_block";
  return test::plan(request).schedule.steps.front();
}

// A kernel that takes all rows of a column in a lane walks one axis: along several blocks share rows, and are small
// where those are few.
TEST(FitColumns, FewRowsOfSeveralAxesHaveSmallBlocks) {
  const auto launch = [](ViewDesc view, AxisSet axes) {
    return in_block(ReduceOp::sum, std::move(view), std::move(axes)).launch;
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
TEST(FitColumns, FewRowsAreSharedWhereLanesAreFew) {
  const auto sharers = [](ReduceOp op, const std::vector<Index>& sizes, DType type = DType::f32) {
    return in_block(op, dense(type, sizes), {sizes.size() == 2 ? 0 : 1}).kernel.tuning.lanes_per_row;
  };
  EXPECT_EQ(sharers(ReduceOp::sum, {32, 16384}), 2);
  EXPECT_EQ(sharers(ReduceOp::sum, {32, 16383}), 4) << "packs begin elsewhere in each row";
  EXPECT_EQ(sharers(ReduceOp::sum, {20, 1024}), 4) << "a warp";
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

// Where rows begin within a line of memory wide panels read less twice, unless most of their lanes were idle, or states
// met slowly.
TEST(FitColumns, RaggedPanelsAreWide) {
  const auto panel = [](ReduceOp op, const std::vector<Index>& sizes, DType type = DType::f32) {
    Request request = test::reduce_of(op, dense(type, sizes), {0}, DeviceFacts::h200());
    request.options.strategy = "split";
    const Step step = test::plan(request).schedule.steps.front();
    return step.kernel.tuning.panel_bytes / static_cast<Index>(size_bytes(type));
  };
  EXPECT_EQ(panel(ReduceOp::sum, {223696, 300}), 128);
  EXPECT_EQ(panel(ReduceOp::sum, {262144, 256}), 64) << "whole lines";
  EXPECT_EQ(panel(ReduceOp::sum, {508400, 132}), 64) << "two panels of 33 packs";
  EXPECT_EQ(panel(ReduceOp::sum, {8192, 300}), 64) << "little";
  EXPECT_EQ(panel(ReduceOp::var, {223696, 300}), 64);
  EXPECT_EQ(panel(ReduceOp::sum, {261123, 257}), 31 * 4) << "begin anywhere in a pack";
  EXPECT_EQ(panel(ReduceOp::sum, {116306, 577}), 63 * 4);
  EXPECT_EQ(panel(ReduceOp::argmax, {131072, 513}), 15 * 4);
  EXPECT_EQ(panel(ReduceOp::sum, {16380, 4097}), 31 * 4) << "many panels";
}

// Panels as narrow as leaves lanes of a warp whole batches of eight rows, or of two looks at many rows narrower.
TEST(FitColumns, SmallPanelsAreAsNarrowAsAWarpAllows) {
  const auto expect = [](ReduceOp op, const std::vector<Index>& sizes, int axis, int block, Index panels) {
    const Launch launch = in_block(op, dense(DType::f32, sizes), {axis}).launch;
    EXPECT_EQ(launch.block, block);
    EXPECT_EQ(launch.grid[1], panels);
  };
  expect(ReduceOp::sum, {64, 64}, 0, 32, 4);
  expect(ReduceOp::argmax, {256, 256}, 0, 64, 32);
  expect(ReduceOp::argmax, {1024, 256}, 0, 128, 64);
  expect(ReduceOp::sum, {1024, 256}, 0, 256, 32);
  expect(ReduceOp::sum, {8, 64, 256}, 1, 32, 128);
  expect(ReduceOp::sum, {32, 1024}, 0, 32, 32);
}

}  // namespace
}  // namespace ndfold
