// Softmaxes of many rows that begin anywhere in a sector, in panels that overlap: ends of rows and of the tensor, every
// place in a sector, one panel a row, blocks and clusters, specials, and buffers that another kernel takes.
#include "tests/simt/forced.h"

namespace simt {
namespace {

TEST(tall_sectors, rows_and_columns) {
  Tally tally;
  for (const Index rows : {257, 300, 577})
    for (const Index columns : {129, 190, 261})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        softmax({rows, columns}, {.axes = {0}, .kind = kind, .scale = -0.5, .alpha = 3}, "columns_in_block", {}, tally);
  EXPECT_EQ(tally.sectors, 18);
}

TEST(tall_sectors, one_panel_a_row) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index columns : {3, 7, 17, 25, 49, 61, 62, 123, 125})
      softmax({3, 258, columns}, {.axes = {1}, .scale = 2}, "columns_in_block", {.type = type}, tally);
  EXPECT_EQ(tally.sectors, 16);  // of 16 bits lanes have too many columns for 123 and 125
}

// How many columns the last panel has, of the sector that two panels share most of all.
TEST(tall_sectors, every_end_of_a_row) {
  Tally tally;
  for (Index columns = 222; columns <= 238; ++columns)
    softmax({260, columns}, {.axes = {0}}, "columns_in_block", {}, tally);
  for (Index columns = 190; columns <= 212; columns += 3)
    softmax({260, columns}, {.axes = {0}}, "columns_in_block", {.type = DType::bf16}, tally);
  EXPECT_EQ(tally.sectors, 20);
}

TEST(tall_sectors, halves) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -0.5, 0.0})
        softmax({2, 450, 133}, {.axes = {1}, .kind = kind, .scale = scale}, "columns_in_block", {.type = type}, tally);
  EXPECT_EQ(tally.sectors, 12);
}

TEST(tall_sectors, by_clusters) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -0.5})
        softmax({1000, 391}, {.axes = {0}, .kind = kind, .scale = scale}, "columns_in_cluster", {.type = type}, tally);
  softmax({2, 1200, 131}, {.axes = {1}}, "columns_in_cluster", {}, tally);
  softmax({4, 1300, 49}, {.axes = {1}}, "columns_in_cluster", {}, tally);
  EXPECT_EQ(tally.sectors, 10);
}

TEST(tall_sectors, buffers_that_begin_anywhere) {
  Tally tally;
  for (Index shift = 0; shift < 9; ++shift)
    softmax({2, 260, 133}, {.axes = {1}}, "columns_in_block", {.in_shift = shift, .out_shift = shift}, tally);
  EXPECT_EQ(tally.sectors, 9);
}

// Elements come one by one then.
TEST(tall_sectors, results_that_begin_elsewhere_in_a_pack) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index in_shift : {0, 1, 3, 6})
      for (const char* strategy : {"columns_in_block", "columns_in_cluster"})
        softmax({strategy[11] == 'b' ? 280 : 700, 133}, {.axes = {0}, .scale = -2}, strategy,
                {.type = type, .in_shift = in_shift, .out_shift = 2}, tally);
  softmax({2, 300, 49}, {.axes = {1}}, "columns_in_block", {.in_shift = 1}, tally);
  EXPECT_EQ(tally.sectors, 17);
}

// Rows are whole sectors: panels begin before the axis, and do not overlap.
TEST(tall_sectors, whole_sectors_that_begin_elsewhere) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index out_shift : {0, 1, 7, 13})
      for (const Index in_shift : {out_shift, Index{3}})
        for (const bool by_cluster : {false, true})
          softmax({2, by_cluster ? 1500 : 620, type == DType::f32 ? 72 : 80}, {.axes = {1}, .scale = -0.5},
                  by_cluster ? "columns_in_cluster" : "columns_in_block",
                  {.type = type, .in_shift = in_shift, .out_shift = out_shift}, tally);
  EXPECT_EQ(tally.sectors, 28);
  EXPECT_EQ(tally.whole_packs, 4);  // neither is shifted
}

TEST(tall_sectors, whole_sectors_in_place) {
  Tally tally;
  Array buffer(dense(DType::f32, {2, 700, 64}), 3);
  fill(buffer, Values::mixed);
  run_forced(SoftmaxSpec{.axes = {1}}, buffer, buffer, small(DeviceFacts::h200(), 2), "columns_in_block", tally);
  EXPECT_EQ(tally.sectors, 1);
}

TEST(tall_sectors, padded_rows_and_rows_in_reverse) {
  Tally tally;
  Array in(lay_out(DType::f32, {3, 260, 133}, Layout::padded, 5)),
      out(lay_out(DType::f32, {3, 260, 133}, Layout::padded, 5));
  fill(in, Values::mixed);
  run_forced(SoftmaxSpec{.axes = {1}}, in, out, small(DeviceFacts::h200(), 2), "columns_in_block", tally);
  softmax({260, 134}, {.axes = {0}}, "columns_in_block", {.out = Layout::reversed}, tally);
  EXPECT_EQ(tally.sectors, 2);
}

TEST(tall_sectors, rows_that_begin_elsewhere_from_one_to_the_next) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index columns : {133, 144})  // results of odd rows, and of rows that are whole sectors
      for (const bool by_cluster : {false, true}) {
        const Index rows = by_cluster ? 1600 : 300;
        Array in(lay_out(type, {2, rows, columns}, Layout::padded, 2)), out(dense(type, {2, rows, columns}), 1);
        fill(in, Values::mixed);
        run_forced(SoftmaxSpec{.axes = {1}, .scale = -0.5}, in, out, small(DeviceFacts::h200(), 2),
                   by_cluster ? "columns_in_cluster" : "columns_in_block", tally);
      }
  EXPECT_EQ(tally.sectors, 7);  // f32 of whole sectors by registers alone
}

// Of several panels a block would read what another one has written.
TEST(tall_sectors, in_place) {
  for (const Index columns : {49, 133}) {
    Tally tally;
    Array buffer(dense(DType::f32, {2, 300, columns}));
    fill(buffer, Values::mixed);
    run_forced(SoftmaxSpec{.axes = {1}}, buffer, buffer, small(DeviceFacts::h200(), 2), "columns_in_block", tally);
    EXPECT_EQ(tally.strategies["columns_in_block"], 1);
    EXPECT_EQ(tally.sectors, columns == 49);
  }
}

TEST(tall_sectors, special_values) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Real special : specials(type)) {
      SCOPED_TRACE(static_cast<double>(special));
      Array in(dense(type, {600, 137}), 1), out(dense(type, {600, 137}), 1);
      fill(in, Values::mixed);
      for (Index row = 0; row < 600; ++row) {
        in.set(row * 137 + 3, special);                    // a column of nothing else
        if (row < 100) in.set(row * 137 + 120, special);   // of what registers keep
        if (row >= 500) in.set(row * 137 + 121, special);  // and what waits beyond
      }
      in.set(599 * 137 + 136, special);
      for (const char* strategy : {"columns_in_block", "columns_in_cluster"})
        run_forced(SoftmaxSpec{.axes = {0}}, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
    }
  EXPECT_EQ(tally.sectors, 16);
}

}  // namespace
}  // namespace simt
