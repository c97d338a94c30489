// Softmaxes of columns whose rows begin anywhere in a sector, in panels that overlap: ends of rows and of the tensor,
// rows that begin in all places of a sector, several tiles, and what keeps panels from overlapping.
#include <ndfold/kept_columns.h>

#include "tests/simt/forced.h"

namespace simt {
namespace {

const std::string kStrategy = "columns_in_block";

// One multiprocessor, so that a few hundred columns are several panels.
void softmax_by_sectors(const Sizes& sizes, const SoftmaxSpec& spec, const SoftmaxBuffers& of, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(of.type) << ' ' << ::testing::PrintToString(sizes) << ' ' << name(of.in)
                                    << "→" << name(of.out) << ' ' << of.in_shift << ' ' << of.out_shift);
  Array in(lay_out(of.type, sizes, of.in, 5), of.in_shift), out(lay_out(of.type, sizes, of.out, 3), of.out_shift);
  fill(in, Values::mixed);
  run_forced(spec, in, out, without_cache(1), kStrategy, tally);
}

TEST(column_sectors, rows_and_columns) {
  Tally tally;
  for (const Index rows : {18, 33, 47, 64, 129, 200, 256})
    for (const Index columns : {257, 289, 515, 1022, 1036})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        softmax_by_sectors({rows, columns}, {.axes = {0}, .kind = kind, .scale = -0.5, .alpha = 3}, {}, tally);
  EXPECT_EQ(tally.sectors, 70);
}

// How many columns the last panel has, of the sector that two panels share most of all.
TEST(column_sectors, every_end_of_a_row) {
  Tally tally;
  for (Index columns = 289; columns <= 306; ++columns) softmax_by_sectors({130, columns}, {.axes = {0}}, {}, tally);
  for (Index columns = 385; columns <= 418; ++columns)
    softmax_by_sectors({70, columns}, {.axes = {0}}, {.type = DType::bf16}, tally);
  EXPECT_EQ(tally.sectors, 16 + 26);  // of 296 and 304 rows are whole sectors, of every fourth whole packs of 16 bits
}

TEST(column_sectors, halves_and_tiles) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const Index rows : {40, 100, 128})
      for (const Index columns : {515, 1030})
        for (const double scale : {-0.5, 0.0, 2.0})
          softmax_by_sectors({2, rows, columns}, {.axes = {1}, .scale = scale}, {.type = type}, tally);
  EXPECT_EQ(tally.sectors, 36);
}

TEST(column_sectors, buffers_that_begin_anywhere) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (Index shift = 0; shift < 9; ++shift)
      softmax_by_sectors({2, 50, 517}, {.axes = {1}}, {.type = type, .in_shift = shift, .out_shift = shift}, tally);
  softmax_by_sectors({50, 517}, {.axes = {0}}, {.in_shift = 1, .out_shift = 5}, tally);
  EXPECT_EQ(tally.sectors, 19);
}

TEST(column_sectors, padded_rows_and_rows_in_reverse) {
  Tally tally;
  softmax_by_sectors({3, 50, 517}, {.axes = {1}}, {.in = Layout::padded, .out = Layout::padded}, tally);
  softmax_by_sectors({50, 517}, {.axes = {0}}, {.out = Layout::reversed}, tally);
  EXPECT_EQ(tally.sectors, 2);
}

TEST(column_sectors, not_where_rows_are_whole_sectors_or_begin_elsewhere) {
  Tally tally;
  softmax_by_sectors({50, 520}, {.axes = {0}}, {}, tally);
  EXPECT_EQ(tally.sectors, 0) << "whole sectors";
  softmax_by_sectors({50, 517}, {.axes = {0}}, {.in_shift = 1}, tally);
  EXPECT_EQ(tally.sectors, 0) << "results begin elsewhere in a pack";
  softmax_by_sectors({5, 10, 3, 517}, {.axes = {0, 2}}, {}, tally);
  EXPECT_EQ(tally.sectors, 0) << "rows along two axes";
  softmax_by_sectors({50, 517}, {.axes = {0}}, {.out = Layout::stepped}, tally);
  EXPECT_EQ(tally.sectors, 0) << "results that are no neighbours";
  EXPECT_EQ(tally.strategies[kStrategy], 4);
}

// A block would read what another one has written.
TEST(column_sectors, not_in_place) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16}) {
    Array data(dense(type, {50, 517}));
    fill(data, Values::mixed);
    run_forced(SoftmaxSpec{.axes = {0}}, data, data, without_cache(1), kStrategy, tally);
  }
  EXPECT_EQ(tally.strategies[kStrategy], 2);
  EXPECT_EQ(tally.sectors, 0);
}

TEST(column_sectors, special_values) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Real special : specials(type)) {
      Array in(dense(type, {40, 523}), 1), out(dense(type, {40, 523}), 1);
      fill(in, Values::mixed);
      for (Index row = 0; row < 40; ++row) in.set(row * 523 + 3, special);  // a column of nothing else
      in.set(4, special);
      in.set(39 * 523 + 522, special);
      run_forced(SoftmaxSpec{.axes = {0}}, in, out, without_cache(1), kStrategy, tally);
    }
  EXPECT_EQ(tally.sectors, tally.strategies[kStrategy]);
}

}  // namespace
}  // namespace simt
