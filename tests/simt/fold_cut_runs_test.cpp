// Reductions over runs that begin and end anywhere in a pack: short and long ones, more of them than a block knows
// places of at a time, gaps between rows, parts, ties, special values, and tensors hardly larger than a pack.
#include <ndfold/ndfold.h>

#include "kernels/cuda/bind.h"
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
                                    << strategy << " shift " << shift);
  Array in(lay_out(type, of.sizes, layout, 5), shift), out(dense(default_output(op, type), of.kept), 1);
  fill(in, values);
  run_forced(ReduceSpec{.op = op, .axes = of.axes}, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
}

const Case kCases[] = {{{5, 3, 5}, {0, 2}, {3}},
                       {{7, 9, 49}, {0, 2}, {9}},
                       {{40, 3, 257}, {0, 2}, {3}},
                       {{3, 2, 4101}, {0, 2}, {2}},
                       {{3, 4, 5, 2, 3, 7}, {0, 2, 4, 5}, {4, 2}},
                       {{9, 31, 5, 33}, {1, 3}, {9, 5}}};

TEST(fold_cut_runs, reductions) {
  Tally tally;
  for (const Case& one : kCases)
    for (const ReduceOp op : kOps)
      for (const char* strategy : kStrategies)
        for (const Index shift : {0, 3})
          reduce(one, op, DType::f32, Values::mixed, strategy, tally, Layout::row_major, shift);
  EXPECT_GE(tally.cut_runs, 120);
}

TEST(fold_cut_runs, other_types) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16, DType::f64, DType::i32, DType::u8})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax})
      for (const char* strategy : kStrategies)
        for (const Index shift : {0, 1, 5})
          reduce({{7, 9, 41}, {0, 2}, {9}}, op, type, Values::ties, strategy, tally, Layout::row_major, shift);
  EXPECT_GE(tally.cut_runs, 9);  // sums of bf16: the others have kernels that do for all layouts here
}

TEST(fold_cut_runs, whole_packs_that_begin_elsewhere) {
  Tally tally;
  for (const ReduceOp op : kOps)
    reduce({{7, 9, 36}, {0, 2}, {9}}, op, DType::f32, Values::mixed, "rows_in_block", tally, Layout::row_major, 1);
  EXPECT_EQ(tally.cut_runs, 5);
}

TEST(fold_cut_runs, gaps_and_rows_that_fall) {
  Tally tally;
  for (const Layout layout : {Layout::padded, Layout::permuted, Layout::reversed})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::var})
      reduce({{7, 9, 37}, {0, 2}, {9}}, op, DType::f32, Values::mixed, "rows_in_block", tally, layout);
  EXPECT_GE(tally.cut_runs, 6);
}

TEST(fold_cut_runs, more_of_them_than_places) {
  Tally tally;
  for (const ReduceOp op : kOps)
    reduce({{2100, 2, 5}, {0, 2}, {2}}, op, DType::f32, Values::mixed, "rows_in_block", tally);
  EXPECT_EQ(tally.cut_runs, 5);
}

TEST(fold_cut_runs, small_tensors) {
  Tally tally;
  for (const Sizes& sizes : {Sizes{2, 1, 3}, Sizes{2, 2, 3}, Sizes{3, 1, 3}, Sizes{5, 1, 2}, Sizes{3, 2, 5}})
    for (const Index shift : {0, 1, 2, 3})
      for (const ReduceOp op : kOps)
        reduce({sizes, {0, 2}, {sizes[1]}}, op, DType::f32, Values::mixed, "rows_in_block", tally, Layout::padded,
               shift);
  EXPECT_GT(tally.cut_runs, 0);
}

TEST(fold_cut_runs, ties_and_special_values) {
  Tally tally;
  for (const Real special : specials(DType::f32))
    for (const ReduceOp op : kOps)
      for (const char* strategy : {"rows_in_lanes", "rows_in_block"}) {
        SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << name(op) << ' ' << strategy);
        Array in(dense(DType::f32, {9, 3, 61})), out(dense(default_output(op, DType::f32), {3}));
        fill(in, Values::ties);
        for (Index i = 0; i < 9; ++i)
          for (Index k = 0; k < 61; ++k) in.set((i * 3 + 1) * 61 + k, special);  // an output of nothing else
        in.set(5 * 183 + 60, special);
        in.set(7 * 183, special);
        run_forced(ReduceSpec{.op = op, .axes = {0, 2}}, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
      }
  EXPECT_GT(tally.cut_runs, 0);
}

// A lane may have batches of packs of which no element belongs.
TEST(fold_cut_runs, the_first_of_equal_elements) {
  Tally tally;
  for (const Sizes& sizes : {Sizes{2100, 3, 2}, Sizes{300, 3, 5}, Sizes{9, 3, 9}})
    for (const DType type : {DType::f32, DType::bf16}) {
      Array in(dense(type, sizes), 1), out(dense(DType::i64, {3}));
      for (Index i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) in.set(i, -std::numeric_limits<Real>::infinity());
      for (const char* strategy : kStrategies)
        run_forced(ReduceSpec{.op = ReduceOp::argmax, .axes = {0, 2}}, in, out, small(DeviceFacts::h200(), 2), strategy,
                   tally);
    }
  EXPECT_GE(tally.cut_runs, 6);
}

// A part of a row is a block's, as a row is: batches of all its lanes. One lane's took 40 times as long.
TEST(fold_cut_runs, a_block_takes_batches_of_all_its_lanes) {
  const auto plan = ReducePlan::reduce(lay_out(DType::f32, {1500, 33, 12, 33}, Layout::padded, 1),
                                       dense(DType::f32, {33}), {.op = ReduceOp::var, .axes = {0, 2, 3}},
                                       {.device = DeviceFacts::h200(), .strategy = "split"});
  ASSERT_TRUE(plan);
  const Step& step = plan->steps()[0];
  ASSERT_GT(step.parts, 1);
  const auto none = reinterpret_cast<cuda::Kernel>(1);  // is not called
  const cuda::Bound bound = cuda::bind(step, {.kernel = none, .threads = 256, .cut_runs = none, .two_lists = true});
  EXPECT_GE(bound.within_run.together, 4 * step.launch.block);
  EXPECT_GE(bound.cover_any.at_ends.together, step.launch.block);
}

}  // namespace
}  // namespace simt
