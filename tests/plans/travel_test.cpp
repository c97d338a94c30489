// Rows and columns that travel: parts cover a tile and fit into the ring, wherever it begins; and which stay where they
// are.
#include "plans/build/travel.h"

#include <ndfold/travelling.h>

#include "plans/build/geometry.h"
#include "plans/build/steps.h"
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ndfold::test {
namespace {

const DeviceFacts kH200 = DeviceFacts::h200();

constexpr Index kChipBytes = Index{25} << 20;  // rings of 132 multiprocessors, 192 KiB each

Step step_in_grid(ViewDesc in, const DeviceFacts& device = kH200, const AxisSet& axes = {1},
                  const char* strategy = "rows_in_grid") {
  Request request = softmax_of(std::move(in), axes, device);
  request.options.strategy = strategy;
  return plan(request).schedule.steps[0];
}

// All blocks of a multiprocessor, with what they need beside their rings.
void expect_room(const Step& step, int columns) {
  const Index blocks = step.launch.block == 256 ? 2 : 1, reserved = 1024;
  const Index beside = std::max<Index>(travelling_states_bytes(step.launch.block, columns), 4096) + reserved;
  EXPECT_LE(blocks * (step.launch.shared_bytes + beside), kH200.shared_bytes_per_multiprocessor);
  EXPECT_LE(step.parts * step.launch.grid[1], blocks * kH200.multiprocessors);
}

bool travels(const ViewDesc& in, const DeviceFacts& device = kH200) {
  return step_in_grid(in, device).kernel.residency == Residency::ring;
}

TEST(Travel, PartsCoverARowAndFitIntoTheRing) {
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index rows : {1, 3, 100, 3000})
      for (Index length = 1 << 12; length <= 1 << 25;
           length = length * 5 / 4 / (rows == 100 ? 8 : 1) * (rows == 100 ? 8 : 1))
        for (const Index gap : {0, 8}) {
          SCOPED_TRACE(::testing::Message() << name(type) << ' ' << rows << ' ' << length << ' ' << gap);
          ViewDesc in = dense(type, {rows, length});
          in.strides[0] += gap;
          const Step step = step_in_grid(in);
          const Index element = static_cast<Index>(size_bytes(type));
          if (step.kernel.residency != Residency::ring) {
            EXPECT_LT(rows * length * element, kChipBytes) << "all at once";
            continue;
          }
          const Index line = kTravellingLineBytes / element;
          const Batches batches = batches_of(step.part * element, step.launch.block);
          const Index batch = batch_bytes(step.launch.block, batches.loads), places = step.launch.shared_bytes / batch;
          const Index most_skew = rows == 1 ? 0 : line - std::gcd(in.strides[0], line);
          EXPECT_EQ(step.part % line, 0);
          EXPECT_GE(step.part * step.parts, length + most_skew);
          EXPECT_LE(step.part * element, batches.count * batch);
          const bool passes = batches.count > places;
          EXPECT_EQ(passes, length * element >= kChipBytes);
          EXPECT_EQ(passes, share_again(step) > 0);
          EXPECT_TRUE(!passes || places >= 3);
          EXPECT_LE(batches.loads, kTravellingLoads);
          EXPECT_LE(places, kMostPlacesOfRing);
          expect_room(step, 1);
          EXPECT_LE(step.launch.grid[1], rows);
        }
}

TEST(Travel, PanelsToo) {
  constexpr int kColumns = travelling_columns(4);
  for (const Index columns : {32, 36, 4096, 20000})
    for (Index rows = 300; rows <= 300000; rows = rows * 7 / 5) {
      SCOPED_TRACE(::testing::Message() << rows << ' ' << columns);
      const Step step = step_in_grid(dense(DType::f32, {rows, columns}), kH200, {0}, "columns_in_grid");
      if (step.kernel.residency != Residency::ring) {
        EXPECT_TRUE(rows * columns * 4 < kChipBytes || rows * kTravellingLineBytes >= kChipBytes);
        continue;
      }
      if (travels_joined(step)) {
        EXPECT_LE(columns, kMostColumnsToJoin);
        continue;
      }
      const Batches batches = batches_of(step.part * kTravellingLineBytes, step.launch.block);
      EXPECT_GE(step.part * step.parts, rows);
      EXPECT_LE(batches.count * batch_bytes(step.launch.block, batches.loads), step.launch.shared_bytes);
      EXPECT_LE(step.launch.grid[1], (columns + kColumns - 1) / kColumns);
      expect_room(step, kColumns);
    }
  const auto stays = [](DType type, const Dims& sizes, const DeviceFacts& device = kH200) {
    return step_in_grid(dense(type, sizes), device, {0}, "columns_in_grid").kernel.residency != Residency::ring;
  };
  EXPECT_FALSE(stays(DType::f32, {8192, 8192}));
  EXPECT_FALSE(stays(DType::bf16, {8192, 8192}));
  EXPECT_FALSE(stays(DType::f32, {32768, 32})) << "all at once";
  EXPECT_FALSE(stays(DType::f32, {131072, 8}));
  EXPECT_TRUE(stays(DType::bf16, {8192, 8196})) << "no whole packs, and single ones are too narrow";
  EXPECT_TRUE(stays(DType::f32, {8192, 8192}, DeviceFacts::a100()));
}

// Parts of a line that is so many rows of few columns cover it, wherever it begins, and begin with the same column.
TEST(Travel, JoinedRows) {
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index lines : {1, 3, 200})
      for (const Index columns : {2, 3, 8, 15, 33, 64, 127})
        for (Index rows = 40000 / columns; rows * columns < 1 << 27; rows = rows * 7 / 3 + 1) {
          SCOPED_TRACE(::testing::Message() << name(type) << ' ' << lines << ' ' << rows << ' ' << columns);
          const Step step = step_in_grid(dense(type, {lines, rows, columns}), kH200, {1}, "columns_in_grid");
          if (!travels_joined(step)) continue;
          const Index element = static_cast<Index>(size_bytes(type)), line = kTravellingLineBytes / element;
          const int pack = static_cast<int>(16 / element),
                    lanes = joined_lanes(step.launch.block, static_cast<int>(columns), pack);
          const Batches batches = batches_of(step.part * columns * element, lanes);
          const Index batch = batch_bytes(step.launch.block, batches.loads), places = step.launch.shared_bytes / batch;
          const Index most_skew = lines == 1 ? 0 : line - std::gcd(rows * columns, line);
          EXPECT_EQ(lanes * pack % columns, 0);
          EXPECT_EQ(step.part * columns % line, 0);
          EXPECT_GE(step.parts, 2);
          EXPECT_GE(step.parts * step.part * columns, rows * columns + most_skew);
          EXPECT_LT((step.parts - 1) * step.part, rows) << "the last block has some";
          EXPECT_TRUE(batches.count <= places || places >= 3);
          EXPECT_EQ(batches.count > places, share_again(step) > 0);
          EXPECT_LE(places, kMostPlacesOfRing);
          const Index blocks = step.launch.block == 256 ? 2 : 1, reserved = 1024;
          const Index beside = std::max<Index>(joined_states_bytes(step.launch.block, pack), 4096) + reserved;
          EXPECT_LE(blocks * (step.launch.shared_bytes + beside), kH200.shared_bytes_per_multiprocessor);
          EXPECT_LE(step.parts * step.launch.grid[1], blocks * kH200.multiprocessors);
        }
}

TEST(Travel, WhichRowsAreJoined) {
  const auto joins = [](const ViewDesc& in, const AxisSet& axes) {
    return travels_joined(step_in_grid(in, kH200, axes, "columns_in_grid"));
  };
  EXPECT_TRUE(joins(dense(DType::f32, {131072, 4}), {0}));
  EXPECT_TRUE(joins(dense(DType::f32, {8, 131072, 9}), {1}));
  EXPECT_TRUE(joins(dense(DType::bf16, {1 << 20, 33}), {0}));
  EXPECT_TRUE(joins(dense(DType::f32, {1 << 20, 32}), {0})) << "panels have no room";
  EXPECT_FALSE(joins(dense(DType::f32, {32768, 32}), {0})) << "panels are sooner";
  EXPECT_FALSE(joins(dense(DType::f32, {32768, 129}), {0})) << "too many columns";
  EXPECT_FALSE(joins(dense(DType::f64, {1 << 20, 4}), {0})) << "a word has no room for doubles";
  EXPECT_FALSE(joins(dense(DType::f32, {512, 3, 512, 4}), {0, 2})) << "rows lie along two axes";
  ViewDesc gaps = dense(DType::f32, {1 << 20, 3});
  gaps.strides[0] = 4;
  EXPECT_FALSE(joins(gaps, {0})) << "rows do not follow one another";
}

// Tiles that are on the chip at once take one turn, in rings that have room for no more than that.
TEST(Travel, WhatFitsTakesOneTurn) {
  const auto step = [](const Dims& sizes) {
    return step_in_grid(dense(DType::f32, sizes), kH200, {0}, "columns_in_grid");
  };
  for (const Dims& sizes : {Dims{32768, 128}, Dims{49152, 128}, Dims{8176, 513}, Dims{131072, 3}}) {
    const Step one = step(sizes);
    EXPECT_EQ(one.launch.grid[1], elements(one.kept) / one.kept.back().size * panels(one)) << sizes[0];
    const Batches batches =
        batches_of(tile_bytes(one), travels_joined(one) ? joined_lanes(one.launch.block, 3, 4) : one.launch.block);
    EXPECT_EQ(one.launch.shared_bytes, batches.count * batch_bytes(one.launch.block, batches.loads)) << sizes[0];
  }
  EXPECT_LT(step({65536, 128}).launch.grid[1], 4) << "32 MiB do not";
  EXPECT_TRUE(travels_joined(step({62914, 100}))) << "as panels they would take turns";
  EXPECT_FALSE(travels_joined(step({32768, 100})));
}

TEST(Travel, OtherRowsStay) {
  EXPECT_TRUE(travels(dense(DType::f32, {512, 128256})));
  EXPECT_TRUE(travels(dense(DType::f16, {512, 128256})));
  EXPECT_FALSE(travels(dense(DType::f32, {4, 1 << 20}))) << "all at once";
  EXPECT_FALSE(travels(dense(DType::f64, {512, 128256}))) << "a word has no room for doubles";
  EXPECT_TRUE(travels(dense(DType::f32, {512, 128257})));
  EXPECT_FALSE(travels(dense(DType::f16, {1 << 24, 3}))) << "a row would lie in two packs";
  EXPECT_FALSE(travels(dense(DType::f32, {1 << 23, 15})));
  EXPECT_TRUE(travels(dense(DType::f32, {1 << 23, 16})));
  EXPECT_FALSE(travels(dense(DType::f32, {512, 128256}), DeviceFacts::a100())) << "rings would have two places";
  DeviceFacts tight = kH200;
  tight.shared_bytes_per_multiprocessor = tight.shared_bytes_per_block = 31 * 1024;
  EXPECT_FALSE(travels(dense(DType::f32, {512, 128256}), tight)) << "no room for a batch";
  DeviceFacts narrow = kH200;
  narrow.threads_per_block = 256;
  EXPECT_FALSE(travels(dense(DType::f32, {512, 128256}), narrow)) << "kernels are compiled for their threads";
}

TEST(Travel, LongRowsPassTheRings) {
  const auto strategy = [](DType type, const Dims& sizes, int axis) {
    return plan(softmax_of(dense(type, sizes), {axis}, kH200)).strategy;
  };
  for (const Dims& sizes : {Dims{1, 1 << 24}, Dims{4, 1 << 24}, Dims{3, (1 << 23) + 1}, Dims{1, 1 << 28}})
    EXPECT_EQ(strategy(DType::f32, sizes, 1), "rows_in_grid") << ::testing::PrintToString(sizes);
  EXPECT_EQ(strategy(DType::bf16, {4, 1 << 25}, 1), "rows_in_grid");
  EXPECT_EQ(strategy(DType::f32, {1, Index{1} << 30}, 1), "split") << "beyond 32-bit numbers of elements";
  EXPECT_EQ(strategy(DType::f64, {1, 1 << 24}, 1), "split");
  EXPECT_EQ(strategy(DType::f32, {1 << 18, 256}, 0), "split") << "panels do not";
  EXPECT_EQ(strategy(DType::f32, {1 << 22, 8}, 0), "columns_in_grid") << "rows that are joined do";
}

TEST(Travel, SeveralAxesToo) {
  const auto residency = [](const Dims& sizes, const AxisSet& axes, const char* strategy) {
    return step_in_grid(dense(DType::f32, sizes), kH200, axes, strategy).kernel.residency;
  };
  EXPECT_EQ(residency({128, 256, 2048}, {0, 2}, "rows_in_grid"), Residency::ring);
  EXPECT_EQ(residency({64, 64, 32, 512}, {1, 3}, "rows_in_grid"), Residency::ring);
  EXPECT_NE(residency({16384, 512, 12}, {0, 2}, "rows_in_grid"), Residency::ring) << "runs of a few bytes";
  EXPECT_EQ(residency({32, 64, 64, 512}, {0, 2}, "columns_in_grid"), Residency::ring);
  EXPECT_EQ(residency({16, 32, 16, 32, 16, 32}, {0, 2, 4}, "columns_in_grid"), Residency::ring);
}

// What does not lie in packs travels one by one, if an element is as wide as what copies take at least.
TEST(Travel, ElementsOneByOne) {
  const auto step_to = [](DType type, Index pitch) {
    Request request = softmax_of(dense(type, {512, 128257}), {1}, kH200);
    request.out = dense(type, {512, 128257});
    request.out.strides[0] = pitch;
    request.options.strategy = "rows_in_grid";
    return plan(request).schedule.steps[0];
  };
  EXPECT_TRUE(travels_in_packs(step_to(DType::f32, 128257)));
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index pitch : {128260, 128261, 128265}) {  // results begin elsewhere in a pack from row to row, or alike
      EXPECT_TRUE(travels_in_packs(step_to(type, pitch)));
      EXPECT_EQ(step_to(type, pitch).kernel.residency, Residency::ring);
    }
  const auto in_packs = [](const Dims& sizes, const AxisSet& axes, const char* strategy) {
    return travels_in_packs(step_in_grid(dense(DType::f32, sizes), kH200, axes, strategy));
  };
  EXPECT_TRUE(in_packs({128, 256, 2048}, {0, 2}, "rows_in_grid"));
  EXPECT_FALSE(in_packs({128, 256, 2046}, {0, 2}, "rows_in_grid"));
  EXPECT_TRUE(in_packs({8192, 8192}, {0}, "columns_in_grid"));
  EXPECT_FALSE(in_packs({8192, 8190}, {0}, "columns_in_grid"));
}

}  // namespace
}  // namespace ndfold::test
