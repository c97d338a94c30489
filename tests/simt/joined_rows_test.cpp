// Few columns of rows that follow one another: packs that hold several rows, ends of lines that cut them, blocks that
// have more lanes than packs, and groups of blocks that meet.
#include "tests/simt/reduced.h"

namespace simt {
namespace {

TEST(joined_rows, of_any_width) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const Index columns : {2, 3, 6, 31, 65, 129, 255})
      for (const Index rows : {33, 100, 1003})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax})
          reduce(op, DType::f32, {rows, columns}, strategy, (rows + columns) % 4, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 42);
  EXPECT_EQ(tally.strategies["split"], 42);
}

TEST(joined_rows, of_any_fold_and_type) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"}) {
    for (const Sizes& sizes : {Sizes{1003, 5}, Sizes{3, 301, 17}}) {
      for (const ReduceOp op : {ReduceOp::max, ReduceOp::var, ReduceOp::logsumexp, ReduceOp::mean, ReduceOp::argmin})
        reduce(op, DType::f32, sizes, strategy, 1, tally);
      reduce(ReduceOp::sum, DType::bf16, sizes, strategy, 3, tally);
      reduce(ReduceOp::var, DType::f16, sizes, strategy, 5, tally);
      reduce(ReduceOp::sum, DType::u8, sizes, strategy, 7, tally);
    }
    reduce(ReduceOp::sum, DType::f32, {40, 257}, strategy, 2, tally);  // too many to be joined
  }
  EXPECT_EQ(tally.strategies["columns_in_block"], 17);
  EXPECT_EQ(tally.strategies["split"], 17);
}

}  // namespace
}  // namespace simt
