// The first best element of columns of 16-bit numbers: many ties, zeros of both signs, NaNs in some columns, few rows
// and many, whole packs, rows that begin anywhere, rows that are joined, and rows that fall.
#include "tests/simt/forced.h"

#include <cmath>

namespace simt {
namespace {

struct Indexed {
  ReduceOp op;
  DType type;
};

void reduce(const Indexed& indexed, const Sizes& sizes, std::string_view strategy, Layout layout, Index shift,
            Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(indexed.op) << ' ' << name(indexed.type) << ' '
                                    << ::testing::PrintToString(sizes) << ' ' << strategy << ' ' << name(layout) << ' '
                                    << shift);
  const AxisSet axes{sizes.size() == 2 ? 0 : 1};
  Array in(lay_out(indexed.type, sizes, layout, 5), shift);
  Array out(lay_out(DType::i64, output_sizes(sizes, axes), Layout::row_major, 1), shift / 2);
  fill(in, Values::ties);
  const auto places = in.elements();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i % 97 == 0) in.set(places[i], std::nan(""));
    if (i % 5 == 0) in.set(places[i], -in.get(places[i]));
  }
  run_forced(ReduceSpec{.op = indexed.op, .axes = axes}, in, out, small(DeviceFacts::h200(), 2), std::string(strategy),
             tally);
}

constexpr Indexed kIndexed[] = {{ReduceOp::argmax, DType::bf16}, {ReduceOp::argmin, DType::f16}};

TEST(best_of_pairs, rows_and_columns) {
  Tally tally;
  for (const Indexed& indexed : kIndexed)
    for (const std::string_view strategy : {"columns_in_block", "split"})
      for (const Index rows : {2, 5, 33, 150})
        for (const Index columns : {24, 61, 264, 503})
          reduce(indexed, {rows, columns}, strategy, Layout::row_major, rows % 3, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 32);
  EXPECT_EQ(tally.strategies["split"], 32);
}

TEST(best_of_pairs, layouts) {
  Tally tally;
  for (const Indexed& indexed : kIndexed)
    for (const Layout layout : {Layout::reversed, Layout::padded, Layout::stepped})
      for (const Index columns : {61, 264}) {
        reduce(indexed, {77, columns}, "columns_in_block", layout, 3, tally);
        reduce(indexed, {3, 40, columns}, "columns_in_block", layout, 0, tally);
      }
  EXPECT_EQ(tally.strategies["columns_in_block"], 24);
}

}  // namespace
}  // namespace simt
