// How wide the panels of columns are that registers keep, and which of them overlap.
#include "plans/build/keep_columns.h"

#include <ndfold/kept_columns.h>

#include "plans/build/steps.h"
#include "tests/plans/columns_step.h"

#include <gtest/gtest.h>

namespace ndfold {
namespace {

const DeviceFacts kH200 = DeviceFacts::h200();

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
  EXPECT_TRUE(step.launch.shared_bytes == 0 || keeps_tall_columns(step));
  return {panel_elements(step), step.launch.grid[1], step.launch.block};
}

TEST(KeepColumns, ColumnsWaitInRegistersInPanelsAsWideAsTheirRowsLeaveRoomFor) {
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

TEST(KeepColumns, ColumnsLeaveRegistersWhereRowsOfAPanelWouldBeShort) {
  constexpr Index kMany = Index{1} << 20;
  EXPECT_EQ(kept_panel(512, kMany, 16), KeptPanel()) << "shared memory keeps them as well";
  EXPECT_EQ(kept_panel(512, 2047, 16).columns, 8) << "panels that overlap would be few";
  EXPECT_EQ(kept_panel(700, kMany + 1, 16), KeptPanel()) << "nor do they have room";
}

KeptPanel tall_panel(Index reduced, Index kept, DType type) {
  Step step = columns_step(reduced, kept);
  step.kernel.input = step.kernel.output = type;
  step.launch.block = 256;
  step.kernel.tuning = {.threads = 256, .unroll = type == DType::f32 ? kTallRows : kTallRowsOfHalf, .panel_bytes = 128};
  if (!keep_columns(step, kH200)) return {};
  EXPECT_TRUE(keeps_tall_columns(step));
  return {panel_elements(step), step.launch.grid[1], step.launch.block};
}

TEST(KeepColumns, TallPanelsHaveThreadsThatLeaveLoadsRoom) {
  constexpr Index kMany = Index{1} << 20;
  EXPECT_EQ(tall_panel(512, kMany, DType::bf16), (KeptPanel{64, kMany / 64, 256})) << "by four blocks";
  EXPECT_EQ(tall_panel(576, kMany, DType::bf16).threads, 512) << "four blocks would leave 16 KiB";
  EXPECT_EQ(tall_panel(640, kMany, DType::f16).threads, 256) << "by three blocks";
  EXPECT_EQ(tall_panel(704, kMany, DType::bf16).threads, 512);
  EXPECT_EQ(tall_panel(1096, kMany, DType::bf16).threads, 512);
  EXPECT_EQ(tall_panel(1104, kMany, DType::bf16), KeptPanel());
  EXPECT_EQ(tall_panel(704, kMany, DType::f32).threads, 256) << "whose copies pass by the first cache";
}

TEST(KeepColumns, TallPanelsAreWideWhereRowsCutSectors) {
  constexpr Index kMany = Index{1} << 20;
  EXPECT_EQ(tall_panel(600, kMany + 4, DType::f32), (KeptPanel{64, kMany / 64 + 1, 512}));
  EXPECT_EQ(tall_panel(384, kMany + 8, DType::bf16), (KeptPanel{128, kMany / 128 + 1, 512}));
  EXPECT_EQ(tall_panel(700, kMany + 4, DType::f32), (KeptPanel{32, kMany / 32 + 1, 256})) << "a block has no more room";
  EXPECT_EQ(tall_panel(600, 2052, DType::f32).columns, 32) << "in the cache parts of a sector meet";
}

TEST(KeepColumns, UnevenRowsWaitBeyondRegistersWherePanelsOverlap) {
  constexpr Index kMany = Index{1} << 20;
  EXPECT_EQ(kept_panel(300, kMany + 1, 16), (KeptPanel{112, kMany / 112 + 1, 512}));
  EXPECT_EQ(kept_panel(512, kMany + 1, 16), (KeptPanel{48, kMany / 48 + 1, 512}));
  EXPECT_EQ(kept_panel(577, kMany + 1, 16), (KeptPanel{48, kMany / 48 + 1, 512}));
  EXPECT_EQ(kept_panel(480, kMany + 1, 16, DType::bf16), (KeptPanel{96, kMany / 96 + 1, 512}));
  EXPECT_EQ(kept_panel(150, kMany + 1, 16), (KeptPanel{112, kMany / 112 + 1, 512}));
  EXPECT_EQ(kept_panel(128, kMany + 1, 16).threads, 256 + 256) << "registers have room for all";
  const auto of_images = [](Index rows, Index columns, DType type = DType::f32) {
    Step step = columns_step(rows, columns);
    step.kept.insert(step.kept.begin(), {.size = 4096, .in = rows * columns, .out = rows * columns});
    step.kernel.input = step.kernel.output = type;
    step.launch.block = 512;
    step.kernel.tuning = {.threads = 512, .unroll = 16, .panel_bytes = 4096};
    EXPECT_TRUE(keep_columns(step, kH200));
    return KeptPanel{panel_elements(step), step.launch.grid[1], step.launch.block};
  };
  EXPECT_EQ(of_images(577, 49), (KeptPanel{49, 4096, 512})) << "one panel has all of a row";
  EXPECT_EQ(of_images(300, 58), (KeptPanel{58, 4096, 512})) << "wherever in a sector it begins";
  EXPECT_EQ(of_images(257, 225), (KeptPanel{48, 4096 * 5, 512})) << "wider ones would be read more often";
  EXPECT_EQ(of_images(197, 225).columns, 64) << "and so would these";
  EXPECT_EQ(of_images(197, 225, DType::bf16).columns, 96);
  EXPECT_EQ(kept_panel(300, 8193, 16, DType::bf16).columns, 96) << "of 16 bits however few panels there are";
}

TEST(KeepColumns, PanelsOverlapWhereRowsAreNoWholeSectors) {
  constexpr Index kMany = Index{1} << 20;
  for (const Index odd : {Index{1}, Index{2}, Index{4}}) {
    const Index width = odd < 4 ? 112 : 48;  // packs wait in registers alone
    EXPECT_EQ(kept_panel(256, kMany + odd, 16), (KeptPanel{width, (kMany + odd + width - 1) / width, 512}));
    EXPECT_EQ(kept_panel(100, kMany + odd, 16), (KeptPanel{112, (kMany + odd + 111) / 112, 512}))
        << "slots take rows that begin alike";
    EXPECT_EQ(kept_panel(128, 2 * kMany + odd, 16, DType::bf16).columns, odd < 4 ? 96 : 128) << "packs gain nothing";
  }
  EXPECT_EQ(kept_panel(256, kMany + 8, 16).columns, 64) << "whole sectors";
  EXPECT_EQ(kept_panel(256, kMany + 8, 16, DType::bf16).columns, 64)
      << "of 16 bits a sector has 16, a warp as many rows";
  EXPECT_EQ(kept_panel(8, kMany + 1, 4).columns, 512) << "a lane has rows that begin elsewhere";
}

TEST(KeepColumns, PanelsDoNotOverlapWhereThatGainsNothing) {
  const auto width = [](Step step, const DeviceFacts& device = kH200) {
    step.kernel.tuning = {.threads = 512, .unroll = 16, .panel_bytes = 4096};
    step.launch.block = 512;
    EXPECT_TRUE(keep_columns(step, device));
    return panel_elements(step);
  };
  constexpr Index kOdd = (Index{1} << 20) + 1;
  EXPECT_EQ(width(columns_step(256, kOdd)), 112);
  EXPECT_EQ(width(columns_step(256, 20001)), 64) << "caches keep all of it";
  DeviceFacts without_cache = kH200;
  without_cache.cache_bytes = 0;
  EXPECT_EQ(width(columns_step(256, 20001), without_cache), 112);
  Step batch = columns_step(197, 5001);
  batch.kept.insert(batch.kept.begin(), {.size = 640, .in = 197 * 5001, .out = 197 * 5001});
  EXPECT_EQ(width(batch), 112) << "rows wait beyond registers";
  batch.reduced.back().in = batch.reduced.back().out = batch.kept.back().size = 5004;
  batch.kept.front().in = batch.kept.front().out = 197 * 5004;
  EXPECT_EQ(width(batch), 64) << "rows are short";
  batch.reduced.back().size = 128;
  EXPECT_EQ(width(batch), 112) << "panels are wide";
  Step elsewhere = columns_step(256, kOdd);
  elsewhere.reduced.back().out += 1;
  EXPECT_EQ(width(elsewhere), 64) << "results begin elsewhere in a pack";
  Step strided = columns_step(256, kOdd);
  strided.kept.back().out = 2;
  EXPECT_EQ(width(strided), 64);
}

TEST(KeepColumns, PanelsThatTravelOverlapToo) {
  const auto overlaps_when = [](Step step, const DeviceFacts& device = kH200) {
    const bool overlap = overlap_to_travel(step, device);
    EXPECT_TRUE(!overlap || panel_elements(step) == 48);
    EXPECT_TRUE(!overlap || step.launch.grid[1] == (step.kept.back().size + 47) / 48);
    return overlap;
  };
  EXPECT_TRUE(overlaps_when(columns_step(2048, 32767)));
  EXPECT_TRUE(overlaps_when(columns_step(2048, 32772)));
  EXPECT_FALSE(overlaps_when(columns_step(2048, 32776))) << "whole sectors";
  EXPECT_FALSE(overlaps_when(columns_step(256, 262143))) << "a block keeps so many rows";
  EXPECT_FALSE(overlaps_when(columns_step(2048, 4097))) << "caches keep it";
  EXPECT_FALSE(overlaps_when(columns_step(1 << 20, 63))) << "fewer columns than lanes have";
  Step half = columns_step(2048, 65537);
  half.kernel.input = half.kernel.output = DType::bf16;
  EXPECT_FALSE(overlaps_when(half));
  Step elsewhere = columns_step(2048, 32767);
  elsewhere.reduced.back().out += 2;
  EXPECT_FALSE(overlaps_when(elsewhere)) << "results begin elsewhere in a pack";
}

}  // namespace
}  // namespace ndfold
