// Softmaxes of columns that wait in registers and beyond: every number of rows a lane, the last panel's edge, scales of
// either sign, in place, specials in registers and beyond, and buffers that another kernel takes.
#include "tests/simt/forced.h"

namespace simt {
namespace {

TEST(tall_columns, rows_and_columns) {
  Tally tally;
  for (const Index rows : {577, 640, 641, 1000, 1320})
    for (const Index columns : {32, 36, 100})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        softmax({rows, columns}, {.axes = {0}, .kind = kind, .scale = -0.5, .alpha = 3}, "columns_in_block", {}, tally);
  softmax({3, 700, 32}, {.axes = {1}}, "columns_in_block", {}, tally);
  softmax({2, 30, 24, 36}, {.axes = {1, 2}, .scale = 0}, "columns_in_block", {}, tally);
  EXPECT_EQ(tally.whole_packs, 32);
}

TEST(tall_columns, halves) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const Index rows : {300, 577, 1000, 1096})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        for (const double scale : {1.0, -0.5, 0.0})
          softmax({rows, 72}, {.axes = {0}, .kind = kind, .scale = scale}, "columns_in_block", {.type = type}, tally);
  EXPECT_EQ(tally.whole_packs, 48);
}

TEST(tall_columns, by_clusters) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -0.5})
        for (const Sizes& sizes : {Sizes{1500, 72}, type == DType::f32 ? Sizes{4097, 64} : Sizes{2160, 128}})
          softmax(sizes, {.axes = {0}, .kind = kind, .scale = scale}, "columns_in_cluster", {.type = type}, tally);
  softmax({3, 1400, 64}, {.axes = {1}}, "columns_in_cluster", {}, tally);
  EXPECT_EQ(tally.whole_packs, 17);
}

// Whole packs, but no whole sectors, of more elements than a cache keeps: panels are wide, and the last ones narrow.
TEST(tall_columns, rows_that_cut_sectors) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const bool by_cluster : {false, true})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
        const bool half = type != DType::f32;
        const Index rows = half ? (by_cluster ? 1200 : 384) : by_cluster ? 1000 : 600, columns = half ? 264 : 132;
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << rows);
        Array in(dense(type, {rows, columns})), out(dense(type, {rows, columns}));
        fill(in, Values::mixed);
        run_forced(SoftmaxSpec{.axes = {0}, .kind = kind, .scale = -0.5}, in, out, without_cache(2),
                   by_cluster ? "columns_in_cluster" : "columns_in_block", tally);
      }
  EXPECT_EQ(tally.whole_packs, 8);
}

TEST(tall_columns, other_layouts) {
  Tally tally;
  softmax({700, 64}, {.axes = {0}}, "columns_in_block", {.in_shift = 4, .out_shift = 8}, tally);
  softmax({700, 64}, {.axes = {0}}, "columns_in_block", {.in = Layout::reversed}, tally);
  EXPECT_GE(tally.whole_packs, 1);
  tally = {};
  for (const Index in_shift : {0, 1, 3})
    softmax({700, 36}, {.axes = {0}}, "columns_in_block", {.in_shift = in_shift, .out_shift = 1}, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 3);
  EXPECT_EQ(tally.whole_packs + tally.sectors, 0);  // packs of these are cut, and rows are no whole sectors
}

TEST(tall_columns, in_place) {
  Tally tally;
  Array buffer(dense(DType::f32, {700, 64}));
  fill(buffer, Values::mixed);
  run_forced(SoftmaxSpec{.axes = {0}}, buffer, buffer, small(DeviceFacts::h200(), 2), "columns_in_block", tally);
  EXPECT_EQ(tally.whole_packs, 1);
}

TEST(tall_columns, special_values) {
  Tally tally;
  for (const Real special : specials(DType::f32)) {
    SCOPED_TRACE(static_cast<double>(special));
    Array in(dense(DType::f32, {700, 36})), out(dense(DType::f32, {700, 36}));
    fill(in, Values::mixed);
    for (Index row = 0; row < 700; ++row) {
      in.set(row * 36, special);
      if (row < 224) in.set(row * 36 + 1, special);   // of what registers keep
      if (row >= 224) in.set(row * 36 + 2, special);  // and what waits beyond
    }
    in.set(699 * 36 + 35, special);
    for (const double scale : {1.0, -0.1})
      for (const char* strategy : {"columns_in_block", "columns_in_cluster"})
        run_forced(SoftmaxSpec{.axes = {0}, .scale = scale}, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
  }
  EXPECT_GT(tally.whole_packs, 0);
}

}  // namespace
}  // namespace simt
