// var down columns of 16 bits, side by side: few rows and many, so many that states are carried far, rows that
// begin anywhere, rows that are joined; columns that do not vary, whose first rows are unlike all others, that are far
// from 0, or not finite. A column is what it is beside any others.
#include "tests/simt/beside.h"

#include <cmath>

namespace simt {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

// Of column c, all but every sixth are out of the ordinary.
Real element(Index row, Index column, Real x) {
  switch (column % 6) {
    case 1: return 3;
    case 2: return row < 8 ? 1024 + x : x;
    case 3: return row == 3 ? kInfinity : x;
    case 4: return row == 1 && column % 4 == 0 ? std::nan("") : 1000 + 8 * x;
    case 5: return static_cast<Real>(row % 512) + x / 8;
    default: return x;
  }
}

void variance(const Columns& of, const char* strategy, const DeviceFacts& device, Tally& tally) {
  const Array out = fold_beside(ReduceOp::var, of, element, strategy, device, tally);
  const auto places = out.elements();
  for (std::size_t c = 1; c < places.size(); c += 6)
    EXPECT_EQ(out.get(places[c]), 0) << "column " << c << " does not vary";
}

DeviceFacts two() { return small(DeviceFacts::h200(), 2); }

TEST(column_moments, whatever_lies_beside_them) {
  Tally tally;
  for (const char* strategy : {"columns_in_block", "split"})
    for (const Index rows : {2, 5, 8, 12, 33, 150, 700})
      for (const Index columns : {5, 24, 61, 264}) variance({DType::f16, rows, columns}, strategy, two(), tally);
  EXPECT_GT(tally.strategies["columns_in_block"], 40);
  EXPECT_GT(tally.strategies["split"], 15);
}

TEST(column_moments, layouts) {
  Tally tally;
  for (const Layout layout : {Layout::reversed, Layout::padded, Layout::stepped})
    for (const Index columns : {61, 264})
      variance({DType::f16, 77, columns, layout, 3}, "columns_in_block", two(), tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 12);
}

// A lane has more than 16 times 8 batches of 8 rows.
TEST(column_moments, carried_far) {
  DeviceFacts device = two();
  device.threads_per_block = 32;
  Tally tally;
  variance({DType::f16, 40003, 16}, "columns_in_block", device, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 2);
}

}  // namespace
}  // namespace simt
