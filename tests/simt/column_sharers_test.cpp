// States of columns that meet at once: few columns of many rows of lanes, more states than there is room for, narrow
// panels and wide ones, in a block, in a cluster and in a grid.
#include "tests/simt/reduced.h"

namespace simt {
namespace {

TEST(column_sharers, few_columns_of_large_states) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split", "columns_in_cluster"})
    for (const Index columns : {2, 3, 5, 16, 40, 67}) {
      reduce(ReduceOp::argmax, DType::u8, {700, columns}, strategy, columns % 3, tally);
      reduce(ReduceOp::argmax, DType::f32, {301, columns}, strategy, columns % 2, tally);
      reduce(ReduceOp::var, DType::f32, {301, columns}, strategy, 0, tally);
    }
  EXPECT_EQ(tally.strategies["columns_in_block"], 18);
  EXPECT_GE(tally.strategies["split"], 12);
  EXPECT_GE(tally.strategies["columns_in_cluster"], 6);
}

TEST(column_sharers, wide_panels_of_large_states) {
  Tally tally;
  for (const Index columns : {256, 516, 1040}) {
    reduce(ReduceOp::argmax, DType::u8, {77, columns}, "columns_in_block", 0, tally);
    reduce(ReduceOp::var, DType::f32, {3, 77, columns}, "columns_in_block", 1, tally);
  }
  EXPECT_EQ(tally.strategies["columns_in_block"], 6);
}

}  // namespace
}  // namespace simt
