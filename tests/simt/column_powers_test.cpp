// logsumexp of columns side by side: some infinite, some without a number that is none, huge ones, and those that rise
// row by row; few rows and many, whole packs, rows that begin anywhere, rows that are joined. A column is what it is
// beside any others.
#include "tests/simt/beside.h"

#include <cmath>

namespace simt {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

// Of column c, all but every sixth are out of the ordinary.
Real element(Index row, Index column, Real x) {
  switch (column % 6) {
    case 1: return row % 3 == 0 ? -kInfinity : x;
    case 2: return -kInfinity;
    case 3: return row == 3 ? kInfinity : x;
    case 4: return row == 1 && column % 4 == 0 ? std::nan("") : x + static_cast<Real>(row);
    case 5: return row % 2 == 0 ? -3e38 : -2e38;
    default: return x;
  }
}

void logsumexp(const Columns& of, const char* strategy, Tally& tally) {
  fold_beside(ReduceOp::logsumexp, of, element, strategy, small(DeviceFacts::h200(), 2), tally);
}

TEST(column_powers, whatever_lies_beside_them) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const char* strategy : {"columns_in_block", "split", "columns_in_lanes"})
      for (const Index rows : {2, 5, 33, 150})
        for (const Index columns : {5, 24, 61, 264, 503}) logsumexp({type, rows, columns}, strategy, tally);
  EXPECT_GT(tally.strategies["columns_in_block"], 50);
  EXPECT_GT(tally.strategies["split"], 20);
  EXPECT_GT(tally.strategies["columns_in_lanes"], 20);
}

TEST(column_powers, layouts) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Layout layout : {Layout::reversed, Layout::padded, Layout::stepped})
      for (const Index columns : {61, 264}) logsumexp({type, 77, columns, layout, 3}, "columns_in_block", tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 24);
}

TEST(column_powers, scales) {
  Tally tally;
  for (const double scale : {-2.0, 0.0, 0.25, 1e30})
    for (const DType type : {DType::f32, DType::bf16})
      for (const Index columns : {61, 264})
        softmax({90, columns}, {.axes = {0}, .scale = scale}, "split", {.type = type}, tally);
  EXPECT_EQ(tally.strategies["split"], 16);
}

}  // namespace
}  // namespace simt
