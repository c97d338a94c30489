// Columns of 16 bits whose packs begin anywhere: rows and panels that begin and end in the middle of a word, first and
// last rows, around which nothing is the tensor's, rows along several axes, with gaps, that fall or that overlap.
#include "tests/simt/reduced.h"

namespace simt {
namespace {

struct Fold {
  ReduceOp op;
  DType type;
};
constexpr Fold kFolds[] = {
    {ReduceOp::var, DType::f16}, {ReduceOp::logsumexp, DType::bf16}, {ReduceOp::argmax, DType::bf16}};

TEST(columns_across, rows_and_columns) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const Fold& fold : kFolds)
      for (const Index rows : {33, 70, 301})
        for (const Index columns : {257, 262, 503, 1028})
          reduce(fold.op, fold.type, {rows, columns}, strategy, (rows + columns) % 8, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 36);
  EXPECT_EQ(tally.strategies["split"], 36);
}

TEST(columns_across, narrow_lines) {
  Tally tally;
  for (const Fold& fold : kFolds)
    for (const Index columns : {5, 8, 31, 65})
      for (const Index shift : {0, 3}) reduce(fold.op, fold.type, {3, 40, columns}, "columns_in_block", shift, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 24);
}

TEST(columns_across, several_axes) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const Fold& fold : kFolds)
      for (const Index columns : {31, 65, 270})
        reduce_along({0, 2}, fold.op, fold.type, {5, 7, 9, columns}, strategy, columns % 8, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 9);
  EXPECT_EQ(tally.strategies["split"], 9);
}

TEST(columns_across, rows_apart) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const Layout layout : {Layout::padded, Layout::reversed, Layout::window})
      for (const Index columns : {3, 21, 257, 390})
        for (const Fold& fold : kFolds)
          reduce(fold.op, fold.type, {101, columns}, strategy, columns % 8, tally, 1024, layout);
  EXPECT_EQ(tally.strategies["columns_in_block"], 36);
  EXPECT_EQ(tally.strategies["split"], 36);
}

}  // namespace
}  // namespace simt
