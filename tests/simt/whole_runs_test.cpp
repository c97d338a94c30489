// Reductions over runs of whole packs: runs of one pack and of many, more of them than a block knows places of at a
// time, several walked axes, parts, ties, and what keeps runs from being taken so.
#include "tests/simt/forced.h"

namespace simt {
namespace {

const ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp};
const char* const kStrategies[] = {"rows_in_lanes", "rows_in_block", "split"};

struct Case {
  Sizes sizes;
  AxisSet axes;
  Sizes kept;
};

void reduce(const Case& of, ReduceOp op, DType type, Values values, const char* strategy, Tally& tally,
            Layout layout = Layout::row_major, Index shift = 0) {
  SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << ' ' << ::testing::PrintToString(of.sizes) << ' '
                                    << strategy);
  Array in(lay_out(type, of.sizes, layout, 5), shift), out(dense(default_output(op, type), of.kept), 1);
  fill(in, values);
  run_forced(ReduceSpec{.op = op, .axes = of.axes}, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
}

const Case kCases[] = {{{5, 3, 4}, {0, 2}, {3}},
                       {{7, 9, 36}, {0, 2}, {9}},
                       {{40, 3, 256}, {0, 2}, {3}},
                       {{3, 2, 4100}, {0, 2}, {2}},
                       {{3, 4, 5, 2, 3, 8}, {0, 2, 4, 5}, {4, 2}},
                       {{2, 3, 3, 2, 3, 2, 5, 4}, {0, 2, 4, 6, 7}, {3, 2, 2}}};

TEST(whole_runs, reductions) {
  Tally tally;
  for (const Case& one : kCases)
    for (const ReduceOp op : kOps)
      for (const char* strategy : kStrategies) reduce(one, op, DType::f32, Values::mixed, strategy, tally);
  EXPECT_GE(tally.whole_packs, 70);
}

TEST(whole_runs, more_of_them_than_places) {
  Tally tally;
  for (const ReduceOp op : kOps)
    reduce({{2100, 2, 4}, {0, 2}, {2}}, op, DType::f32, Values::mixed, "rows_in_block", tally);
  EXPECT_EQ(tally.whole_packs, 5);
}

TEST(whole_runs, halves) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const char* strategy : kStrategies)
      reduce({{7, 9, 40}, {0, 2}, {9}}, ReduceOp::sum, type, Values::mixed, strategy, tally);
  EXPECT_GE(tally.whole_packs, 2);
}

TEST(whole_runs, ties_and_special_values) {
  Tally tally;
  for (const Real special : specials(DType::f32))
    for (const ReduceOp op : kOps) {
      SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << name(op));
      Array in(dense(DType::f32, {9, 3, 260})), out(dense(default_output(op, DType::f32), {3}));
      fill(in, Values::ties);
      for (Index i = 0; i < 9; ++i)
        for (Index k = 0; k < 260; ++k) in.set((i * 3 + 1) * 260 + k, special);  // an output of nothing else
      in.set(5 * 780 + 259, special);
      in.set(7 * 780, special);
      run_forced(ReduceSpec{.op = op, .axes = {0, 2}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_block", tally);
    }
  EXPECT_GT(tally.whole_packs, 0);
}

TEST(whole_runs, not_where_packs_are_cut_or_indices_fall) {
  Tally tally;
  reduce({{7, 9, 37}, {0, 2}, {9}}, ReduceOp::sum, DType::f32, Values::mixed, "rows_in_block", tally);
  reduce({{7, 9, 36}, {0, 2}, {9}}, ReduceOp::sum, DType::f32, Values::mixed, "rows_in_block", tally, Layout::row_major,
         1);
  reduce({{7, 9, 36}, {0, 2}, {9}}, ReduceOp::argmax, DType::f32, Values::ties, "rows_in_block", tally,
         Layout::reversed);
  EXPECT_EQ(tally.strategies["rows_in_block"], 3);
  EXPECT_EQ(tally.whole_packs, 0);
}

TEST(whole_runs, long_lines_of_indices) {
  Tally tally;
  for (const Index length : {9000, 20000})
    for (const char* strategy : {"rows_in_block", "split"})
      reduce({{3, length}, {1}, {3}}, ReduceOp::argmax, DType::f32, Values::ties, strategy, tally);
  EXPECT_GE(tally.whole_packs, 2);
}

}  // namespace
}  // namespace simt
