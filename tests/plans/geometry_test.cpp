// How many blocks share a multiprocessor, where elements wait, and what a launch may not exceed.
#include "plans/build/geometry.h"

#include "plans/build/steps.h"
#include "tests/plans/columns_step.h"

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
