// The first best element of 16-bit numbers: many ties, zeros of both signs, NaNs in some. Of columns: few rows and
// many, whole packs, rows that begin anywhere, rows that are joined, and rows that fall. Of rows: a pack and many, runs
// of whole packs and others.
#include "tests/simt/forced.h"

#include <cmath>

namespace simt {
namespace {

struct Indexed {
  ReduceOp op;
  DType type;
};

void reduce_over(const AxisSet& axes, const Indexed& indexed, const Sizes& sizes, std::string_view strategy,
                 Layout layout, Index shift, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(indexed.op) << ' ' << name(indexed.type) << ' '
                                    << ::testing::PrintToString(sizes) << ' ' << strategy << ' ' << name(layout) << ' '
                                    << shift);
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

void reduce(const Indexed& indexed, const Sizes& sizes, std::string_view strategy, Layout layout, Index shift,
            Tally& tally) {
  reduce_over({sizes.size() == 2 ? 0 : 1}, indexed, sizes, strategy, layout, shift, tally);
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

TEST(best_of_pairs, along_rows) {
  Tally tally;
  for (const Indexed& indexed : kIndexed)
    for (const Index length : {8, 24, 40, 64, 256, 300, 1000, 4096, 4099})
      for (const std::string_view strategy : {"rows_in_lanes", "rows_in_block", "split"})
        for (const Layout layout : {Layout::row_major, Layout::reversed})
          reduce_over({1}, indexed, {length < 100 ? 203 : 5, length}, strategy, layout, length % 3, tally);
  EXPECT_GE(tally.strategies["rows_in_lanes"], 30);
  EXPECT_EQ(tally.strategies["rows_in_block"], 36);
  EXPECT_GE(tally.strategies["split"], 10);
}

TEST(best_of_pairs, along_runs) {
  Tally tally;
  for (const Indexed& indexed : kIndexed)
    for (const Index run : {8, 33, 136})
      for (const std::string_view strategy : {"rows_in_lanes", "rows_in_block", "split"})
        reduce_over({0, 2}, indexed, {23, 3, run}, strategy, Layout::row_major, run % 3, tally);
  EXPECT_GE(tally.strategies["rows_in_lanes"], 6);
  EXPECT_EQ(tally.strategies["rows_in_block"], 6);
}

}  // namespace
}  // namespace simt
