// Rows of whole packs, a batch of them a lane: every number of packs and lanes, scales of either sign, and what keeps
// rows from being taken so.
#include "tests/simt/forced.h"

namespace simt {
namespace {

const Sizes kLengths = {4, 8, 12, 36, 64, 100, 128, 260, 1000, 2048, 4096};

TEST(whole_lines, softmaxes) {
  Tally tally;
  for (const Index length : kLengths)
    for (const char* strategy : {"rows_in_lanes", "rows_in_block"})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        for (const double scale : {1.0, -0.5, 0.0})
          softmax({9, length}, {.axes = {1}, .kind = kind, .scale = scale, .alpha = 3}, strategy, {}, tally);
  EXPECT_GE(tally.whole_packs, 114);
}

TEST(whole_lines, halves_and_several_kept_axes) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const Index length : {8, 40, 72, 256, 1000, 4096}) {
      softmax({9, length}, {.axes = {1}}, "rows_in_lanes", {.type = type}, tally);
      softmax({9, length}, {.axes = {1}, .kind = SoftmaxKind::log_softmax}, "rows_in_block", {.type = type}, tally);
    }
  softmax({3, 4, 5, 64}, {.axes = {3}}, "rows_in_lanes", {.in = Layout::padded, .out = Layout::row_major}, tally);
  EXPECT_GE(tally.whole_packs, 22);
}

TEST(whole_lines, runs) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
      softmax({9, 3, 5, 8}, {.axes = {1, 3}, .kind = kind}, "rows_in_lanes", {.type = type}, tally);
      softmax({9, 3, 5, 104}, {.axes = {1, 3}, .kind = kind}, "rows_in_block", {.type = type}, tally);
      softmax({3, 30, 2, 256}, {.axes = {1, 3}, .kind = kind}, "rows_in_block", {.type = type}, tally);
      softmax({3, 2, 5, 2, 3, 2, 2, 2, 16}, {.axes = {0, 2, 4, 6, 8}, .kind = kind}, "rows_in_block", {.type = type},
              tally);
    }
  EXPECT_EQ(tally.whole_packs, 16);
}

TEST(whole_lines, elements_apart) {
  Tally tally;
  for (const Index length : {5, 64, 300, 4000, 8000})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const Layout out : {Layout::row_major, Layout::stepped}) {
        const Sizes sizes = {9, length};
        for (const DType type : {DType::f32, DType::bf16})
          softmax(sizes, {.axes = {1}, .kind = kind}, length < 500 ? "rows_in_lanes" : "rows_in_block",
                  {.type = type, .in = Layout::stepped, .out = out}, tally);
      }
  EXPECT_GE(tally.whole_packs, 20);
}

TEST(whole_lines, elements_where_packs_are_cut) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const Layout out : {Layout::row_major, Layout::stepped}) {
        const SoftmaxBuffers of = {.type = type, .out = out, .in_shift = 1};
        softmax({9, 3, 5, 7}, {.axes = {1, 3}, .kind = kind}, "rows_in_lanes", of, tally);
        softmax({9, 13, 5, 101}, {.axes = {1, 3}, .kind = kind}, "rows_in_block", of, tally);
        softmax({3, 30, 2, 257}, {.axes = {1, 3}, .kind = kind, .scale = -0.5}, "rows_in_block", of, tally);
        softmax({3, 8, 3, 104}, {.axes = {1, 3}, .kind = kind}, "rows_in_block", of, tally);
        softmax({9, 300}, {.axes = {1}, .kind = kind}, "rows_in_lanes", {.type = type, .out = out, .in_shift = 1},
                tally);
      }
  EXPECT_EQ(tally.whole_packs, 24);  // runs that are no whole packs anywhere: packs of one
  EXPECT_EQ(tally.elements, 12);     // whole packs elsewhere, and results at a stride
}

TEST(whole_lines, in_place) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const char* strategy : {"rows_in_lanes", "rows_in_block"})
      for (const Sizes& sizes :
           {Sizes{41, 24}, Sizes{9, 104}, Sizes{9, 1000}, Sizes{9, 3, 2, 24}, Sizes{9, 3, 2, 31}}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << strategy << ::testing::PrintToString(sizes));
        Array buffer(dense(type, sizes));
        fill(buffer, Values::mixed);
        const SoftmaxSpec spec{.axes = sizes.size() > 2 ? AxisSet{1, 3} : AxisSet{1}};
        run_forced(spec, buffer, buffer, small(DeviceFacts::h200(), 2), strategy, tally);
      }
  EXPECT_EQ(tally.whole_packs, 16);
}

TEST(whole_lines, over_clusters) {
  Tally tally;
  for (const double scale : {1.0, -0.5}) {
    softmax({3, 20000}, {.axes = {1}, .scale = scale}, "rows_in_cluster", {}, tally);
    softmax({2, 60000}, {.axes = {1}, .scale = scale}, "rows_in_cluster", {}, tally);
    softmax({2, 20000}, {.axes = {1}, .kind = SoftmaxKind::log_softmax, .scale = scale}, "rows_in_cluster", {}, tally);
  }
  EXPECT_EQ(tally.whole_packs, 6);
}

TEST(whole_lines, reductions) {
  Tally tally;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
    for (const Index length : kLengths)
      for (const char* strategy : {"rows_in_lanes", "rows_in_block"}) {
        SCOPED_TRACE(::testing::Message() << name(op) << ' ' << length << ' ' << strategy);
        Array in(dense(DType::f32, {9, length})), out(dense(default_output(op, DType::f32), {9}), 1);
        fill(in, Values::mixed);
        run_forced(ReduceSpec{.op = op, .axes = {1}}, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
      }
  EXPECT_GE(tally.whole_packs, 90);
}

TEST(whole_lines, special_values) {
  Tally tally;
  for (const Real special : specials(DType::f32))
    for (const Index length : {36, 300}) {
      SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << length);
      Array in(dense(DType::f32, {4, length})), out(dense(DType::f32, {4, length}));
      fill(in, Values::mixed);
      for (Index i = 0; i < length; ++i) in.set(length + i, special);  // a row of nothing else
      in.set(4, special);
      in.set(4 * length - 1, special);
      run_forced(SoftmaxSpec{.axes = {1}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_lanes", tally);
      run_forced(SoftmaxSpec{.axes = {1}, .scale = -2}, in, out, small(DeviceFacts::h200(), 2), "rows_in_block", tally);
      for (const ReduceOp op : {ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp}) {
        Array result(dense(default_output(op, DType::f32), {4}));
        run_forced(ReduceSpec{.op = op, .axes = {1}}, in, result, small(DeviceFacts::h200(), 2), "rows_in_lanes",
                   tally);
      }
    }
  EXPECT_GT(tally.whole_packs, 0);
}

TEST(whole_lines, not_where_packs_are_cut_or_results_are_not) {
  Tally tally;
  softmax({9, 37}, {.axes = {1}}, "rows_in_lanes", {}, tally);
  softmax({9, 36}, {.axes = {1}}, "rows_in_lanes", {.in_shift = 1}, tally);
  softmax({9, 36}, {.axes = {1}}, "rows_in_lanes", {.out_shift = 1}, tally);
  softmax({9, 36}, {.axes = {1}}, "rows_in_lanes", {.out = Layout::stepped}, tally);
  softmax({9, 36}, {.axes = {1}}, "rows_in_lanes", {.out = Layout::column_major}, tally);
  EXPECT_EQ(tally.strategies["rows_in_lanes"], 5);
  EXPECT_EQ(tally.whole_packs, 0);
}

}  // namespace
}  // namespace simt
