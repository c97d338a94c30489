// Many columns whose rows begin elsewhere in a pack: slots whose packs begin up to a pack before the panel, panels that
// end within a pack, first and last rows, parts that begin anywhere, and rows with gaps, that fall or that overlap.
#include <ndfold/ndfold.h>

#include "kernels/cuda/catalog.h"
#include "tests/simt/reduced.h"

namespace simt {
namespace {

TEST(shifted, rows_and_columns) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const Index columns : {257, 503, 1022})
      for (const Index rows : {33, 64, 301})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax})
          reduce(op, DType::f32, {rows, columns}, strategy, (rows + columns) % 4, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 18);
  EXPECT_EQ(tally.strategies["split"], 18);
}

TEST(shifted, folds_and_types) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"}) {
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::var, ReduceOp::logsumexp})
      reduce(op, DType::f32, {3, 101, 389}, strategy, 1, tally);
    reduce(ReduceOp::sum, DType::bf16, {77, 1027}, strategy, 3, tally);
    reduce(ReduceOp::var, DType::f16, {77, 1027}, strategy, 5, tally);
    reduce(ReduceOp::sum, DType::u8, {301, 1001}, strategy, 5, tally);
    reduce(ReduceOp::sum, DType::f32, {2, 34, 257}, strategy, 1, tally);
  }
  EXPECT_EQ(tally.strategies["columns_in_block"], 7);
  EXPECT_EQ(tally.strategies["split"], 7);
}

TEST(shifted, blocks_of_any_size) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const int threads : {32, 70, 96, 128, 192})
      for (const Index columns : {9, 389})
        reduce(ReduceOp::sum, DType::f32, {101, columns}, strategy, 1, tally, threads);
  EXPECT_EQ(tally.strategies["columns_in_block"], 10);
  EXPECT_EQ(tally.strategies["split"], 10);
}

TEST(shifted, rows_apart) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const Layout layout : {Layout::padded, Layout::reversed, Layout::window})
      for (const Index columns : {3, 21, 257, 390}) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
          reduce(op, DType::f32, {101, columns}, strategy, columns % 4, tally, 1024, layout);
        reduce(ReduceOp::sum, DType::bf16, {77, columns}, strategy, 3, tally, 1024, layout);
        reduce(ReduceOp::sum, DType::f32, {3, 40, columns}, strategy, 1, tally, 1024, layout);
        reduce(ReduceOp::sum, DType::u8, {301, columns}, strategy, 5, tally, 1024, layout);
      }
  EXPECT_EQ(tally.strategies["columns_in_block"], 84);
  EXPECT_EQ(tally.strategies["split"], 84);
}

// Which rows the kernel takes: those a multiple of no pack apart, but none so near that what lies a pack before the
// second begins before the first.
TEST(shifted, takes_rows_that_begin_elsewhere) {
  const auto is_shifted = [](Index rows, Index columns, Index pitch) {
    const ViewDesc in{.dtype = DType::f32, .sizes = {rows, columns}, .strides = {pitch, 1}};
    const auto plan = ReducePlan::reduce(in, dense(DType::f32, {columns}), {.op = ReduceOp::sum, .axes = {0}},
                                         {.device = DeviceFacts::h200(), .strategy = "split"});
    return plan && cuda::layout_of(plan->steps()[0]).shifted;
  };
  EXPECT_TRUE(is_shifted(100'000, 341, 341));
  EXPECT_TRUE(is_shifted(100'000, 341, 365));
  EXPECT_TRUE(is_shifted(100'000, 340, 365));
  EXPECT_TRUE(is_shifted(100'000, 20, 23));
  EXPECT_TRUE(is_shifted(100'000, 341, -365));
  EXPECT_TRUE(is_shifted(100'000, 341, 5)) << "rows that overlap";
  EXPECT_FALSE(is_shifted(100'000, 341, 3)) << "a pack before the second row begins before the first";
  EXPECT_FALSE(is_shifted(100'000, 340, 364)) << "whole packs";
}

}  // namespace
}  // namespace simt
