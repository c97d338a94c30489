// Many columns that are no whole packs: slots whose packs begin up to a pack before the panel, panels that end within a
// pack, first and last rows, and parts that begin anywhere.
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

}  // namespace
}  // namespace simt
