// How many blocks share a multiprocessor, where elements wait, and what a launch may not exceed.
#include "plans/build/geometry.h"

#include "plans/build/steps.h"

#include <gtest/gtest.h>

namespace ndfold {
namespace {

const DeviceFacts kH200 = DeviceFacts::h200();

Step columns_step(Index reduced, Index kept) {
  Step step;
  step.kernel.body = Body::columns;
  step.kernel.sink = SinkKind::softmax;
  step.kernel.tuning = {.threads = 256, .unroll = 4, .panel_bytes = 128};
  step.kept = {{.size = kept, .in = 1, .out = 1}};
  step.reduced = {{.size = reduced, .in = kept, .out = kept}};
  step.part = reduced;
  step.launch.block = 256;
  return step;
}

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

// Columns, panels and threads of a plan whose columns wait in registers; no panel where they do not.
struct KeptPanel {
  Index columns = 0, panels = 0;
  int threads = 0;
  friend bool operator==(const KeptPanel&, const KeptPanel&) = default;
};

KeptPanel kept_panel(Index reduced, Index kept, int unroll, DType type = DType::f32) {
  Step step = columns_step(reduced, kept);
  step.kernel.input = step.kernel.output = type;
  step.launch.block = unroll > 8 ? 512 : 256;
  step.kernel.tuning = {.threads = step.launch.block, .unroll = unroll, .panel_bytes = 4096};
  const Step before = step;
  if (!keep_columns(step, kH200)) {
    EXPECT_EQ(step, before);
    return {};
  }
  EXPECT_EQ(step.kernel.residency, Residency::registers);
  EXPECT_EQ(step.launch.shared_bytes, 0);
  return {panel_elements(step), step.launch.grid[1], step.launch.block};
}

TEST(Geometry, ColumnsWaitInRegistersInPanelsAsWideAsTheirRowsLeaveRoomFor) {
  constexpr Index kMany = Index{1} << 24;
  EXPECT_EQ(kept_panel(3, kMany, 4), (KeptPanel{1024, kMany / 1024, 256}));
  EXPECT_EQ(kept_panel(8, kMany, 4), (KeptPanel{512, kMany / 512, 256}));
  EXPECT_EQ(kept_panel(8, kMany, 4, DType::bf16), (KeptPanel{1024, kMany / 1024, 256}));
  EXPECT_EQ(kept_panel(32, kMany, 8), (KeptPanel{256, kMany / 256, 256}));
  EXPECT_EQ(kept_panel(100, kMany, 16), (KeptPanel{128, kMany / 128, 448})) << "no more threads than rows need";
  EXPECT_EQ(kept_panel(256, kMany, 16), (KeptPanel{64, kMany / 64, 512}));
  EXPECT_EQ(kept_panel(8, 65536, 4), (KeptPanel{128, 512, 64})) << "few columns are shared out among many blocks";
  EXPECT_EQ(kept_panel(8, 4096, 4), (KeptPanel{16, 256, 32}))
      << "where all of them are small, in panels narrower still";
  EXPECT_EQ(kept_panel(8, 3, 4), (KeptPanel{4, 1, 32}));
}

TEST(Geometry, ColumnsLeaveRegistersWhereRowsOfAPanelWouldBeShort) {
  constexpr Index kMany = Index{1} << 20;
  EXPECT_EQ(kept_panel(512, kMany, 16), KeptPanel()) << "shared memory keeps them as well";
  EXPECT_EQ(kept_panel(512, kMany + 1, 16), (KeptPanel{32, kMany / 32 + 1, 512}));
  EXPECT_EQ(kept_panel(513, kMany + 1, 16), KeptPanel());
  EXPECT_EQ(kept_panel(512, kMany + 1, 16, DType::bf16), KeptPanel());
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
