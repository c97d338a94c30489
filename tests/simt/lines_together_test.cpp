// Several short lines a lane: every number of packs and lanes, rows to the last one, whatever their elements are and
// whichever way they lie.
#include "tests/simt/forced.h"

namespace simt {
namespace {

struct Folded {
  ReduceOp op;
  DType type;
};

/// What the simulator's tables have kernels of short lines for.
constexpr Folded kFolded[] = {{ReduceOp::sum, DType::f32},        {ReduceOp::max, DType::f32},
                              {ReduceOp::var, DType::f32},        {ReduceOp::logsumexp, DType::f32},
                              {ReduceOp::argmax, DType::f32},     {ReduceOp::sum, DType::bf16},
                              {ReduceOp::logsumexp, DType::bf16}, {ReduceOp::var, DType::f16}};

/// The last axis of `sizes`; `shift`: what makes a whole pack begin with the element that lies first.
void reduce_rows(Folded folded, const Sizes& sizes, const Sizes& strides, Index shift, Tally& tally) {
  const auto [op, type] = folded;
  SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << ' ' << ::testing::PrintToString(sizes) << ' '
                                    << ::testing::PrintToString(strides));
  Sizes kept = sizes;
  kept.pop_back();
  Array in({.dtype = type, .sizes = sizes, .strides = strides}, shift), out(dense(default_output(op, type), kept), 1);
  fill(in, Values::mixed);
  run_forced(ReduceSpec{.op = op, .axes = {static_cast<int>(sizes.size()) - 1}}, in, out, small(DeviceFacts::h200(), 2),
             "rows_in_lanes", tally);
}

TEST(lines_together, of_every_length) {
  Tally tally;
  for (const Folded folded : kFolded)
    for (const Index packs : {1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32}) {
      const Sizes sizes = {packs < 3 ? 2203 : 307, packs * 16 / static_cast<Index>(size_bytes(folded.type))};
      reduce_rows(folded, sizes, row_major_strides(sizes), 0, tally);
    }
  EXPECT_EQ(tally.whole_packs, 88);
}

TEST(lines_together, that_lie_anywhere) {
  Tally tally;
  for (const Folded folded : kFolded) {
    reduce_rows(folded, {301, 16}, {24, 1}, 0, tally);
    reduce_rows(folded, {301, 16}, {-16, 1}, 0, tally);
    reduce_rows(folded, {301, 16}, {16, -1}, 15, tally);  // indices fall from element to element
    reduce_rows(folded, {301, 16}, {0, 1}, 0, tally);
    reduce_rows(folded, {7, 5, 9, 64}, {2880, -72, 576, 1}, 0, tally);
    reduce_rows(folded, {7, 5, 9, 64}, {64, 64, 0, -1}, 63, tally);
  }
  EXPECT_EQ(tally.whole_packs, 48);
}

TEST(lines_together, with_ties_and_special_values) {
  Tally tally;
  for (const Real special : specials(DType::f32))
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
      for (const Index length : {8, 24, 64}) {
        SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << name(op) << ' ' << length);
        Array in(dense(DType::f32, {301, length})), out(dense(default_output(op, DType::f32), {301}));
        fill(in, Values::mixed);
        for (Index i = 0; i < length; ++i) in.set(8 * length + i, special);  // a row of nothing else
        for (Index row = 16; row < 301; row += 8) {
          in.set(row * length + row % length, special);
          in.set(row * length + length - 1, special);
        }
        run_forced(ReduceSpec{.op = op, .axes = {1}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_lanes", tally);
      }
  EXPECT_GT(tally.whole_packs, 0);
}

}  // namespace
}  // namespace simt
