// logsumexp of columns side by side: some infinite, some without a number that is none, huge ones, and those that rise
// row by row; few rows and many, whole packs, rows that begin anywhere, rows that are joined. A column is what it is
// beside any others.
#include "tests/simt/forced.h"

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

struct Columns {
  DType type;
  Index rows, columns;
  Layout layout = Layout::row_major;
  Index shift = 0;
};

Array filled(const Columns& of, bool ordinary) {
  Array in(lay_out(of.type, {of.rows, of.columns}, of.layout, 5), of.shift);
  fill(in, Values::mixed);
  const auto places = in.elements();
  for (std::size_t i = 0; i < places.size() && !ordinary; ++i) {
    const Index row = static_cast<Index>(i) / of.columns, column = static_cast<Index>(i) % of.columns;
    in.set(places[i], element(row, column, in.get(places[i])));
  }
  return in;
}

void logsumexp(const Columns& of, const char* strategy, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(of.type) << ' ' << of.rows << 'x' << of.columns << ' ' << strategy << ' '
                                    << name(of.layout));
  std::vector<Array> results;
  for (const bool ordinary : {true, false}) {
    Array in = filled(of, ordinary);
    Array out(lay_out(DType::f32, {of.columns}, Layout::row_major, 1));
    run_forced(ReduceSpec{.op = ReduceOp::logsumexp, .axes = {0}}, in, out, small(DeviceFacts::h200(), 2), strategy,
               tally);
    results.push_back(out);
  }
  const auto places = results[0].elements();
  for (std::size_t c = 0; c < places.size(); c += 6)
    EXPECT_EQ(results[0].get(places[c]), results[1].get(places[c])) << "column " << c;
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
