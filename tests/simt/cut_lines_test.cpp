// Rows that follow one another and begin anywhere in a pack: every number of packs and lanes, elements of neighbours
// that would change a result, scales of either sign, ties, and what keeps rows from being taken so.
#include "tests/simt/forced.h"

namespace simt {
namespace {

const Sizes kLengths = {33, 41, 63, 65, 67, 70, 90, 127, 129, 257, 509, 511, 1001, 1023};

TEST(cut_lines, softmaxes) {
  Tally tally;
  for (const Index length : kLengths)
    for (const char* strategy : {"rows_in_lanes", "rows_in_block"})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        for (const double scale : {1.0, -0.5, 0.0})
          softmax({9, length}, {.axes = {1}, .kind = kind, .scale = scale, .alpha = 3}, strategy, {}, tally);
  EXPECT_GE(tally.cut_lines, 114);
}

TEST(cut_lines, halves_and_long_lines) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const Index length : {65, 255, 1001, 2047})
      softmax({5, length}, {.axes = {1}}, length < 600 ? "rows_in_lanes" : "rows_in_block", {.type = type}, tally);
  for (const Index length : {2049, 4095, 4097, 8001, 8191})
    softmax({3, length}, {.axes = {1}}, "rows_in_block", {}, tally);
  EXPECT_EQ(tally.cut_lines, 13);
}

TEST(cut_lines, buffers_that_begin_anywhere) {
  Tally tally;
  for (const Index shift : {1, 2, 3}) {
    softmax({9, 65}, {.axes = {1}}, "rows_in_lanes", {.in_shift = shift, .out_shift = shift}, tally);
    softmax({5, 1024}, {.axes = {1}}, "rows_in_block", {.in_shift = shift, .out_shift = shift}, tally);
    softmax({1, 77}, {.axes = {1}}, "rows_in_lanes", {.in_shift = shift, .out_shift = shift}, tally);
  }
  EXPECT_EQ(tally.cut_lines, 9);
}

TEST(cut_lines, in_place) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index length : {65, 257, 1001, 2047})
      for (const Index shift : {0, 1, 3}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << length << ' ' << shift);
        Array buffer(dense(type, {9, length}), shift);
        fill(buffer, Values::mixed);
        run_forced(SoftmaxSpec{.axes = {1}}, buffer, buffer, small(DeviceFacts::h200(), 2),
                   length < 600 ? "rows_in_lanes" : "rows_in_block", tally);
      }
  EXPECT_EQ(tally.cut_lines, 24);
}

TEST(cut_lines, reductions) {
  Tally tally;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
    for (const Index length : kLengths)
      for (const Values values : {Values::mixed, Values::ties, Values::ascending}) {
        SCOPED_TRACE(::testing::Message() << name(op) << ' ' << length);
        Array in(dense(DType::f32, {9, length})), out(dense(default_output(op, DType::f32), {9}), 1);
        fill(in, values);
        run_forced(ReduceSpec{.op = op, .axes = {1}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_lanes", tally);
      }
  EXPECT_GE(tally.cut_lines, 120);
}

TEST(cut_lines, special_values) {
  Tally tally;
  for (const Real special : specials(DType::f32))
    for (const Index length : {37, 301}) {
      SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << length);
      Array in(dense(DType::f32, {4, length})), out(dense(DType::f32, {4, length}));
      fill(in, Values::mixed);
      for (Index i = 0; i < length; ++i) in.set(length + i, special);  // a row of nothing else, between others
      in.set(4 * length - 1, special);
      run_forced(SoftmaxSpec{.axes = {1}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_lanes", tally);
      run_forced(SoftmaxSpec{.axes = {1}, .scale = -2}, in, out, small(DeviceFacts::h200(), 2), "rows_in_block", tally);
      for (const ReduceOp op : {ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp}) {
        Array result(dense(default_output(op, DType::f32), {4}));
        run_forced(ReduceSpec{.op = op, .axes = {1}}, in, result, small(DeviceFacts::h200(), 2), "rows_in_lanes",
                   tally);
      }
    }
  EXPECT_GT(tally.cut_lines, 0);
}

TEST(cut_lines, results_that_begin_elsewhere_in_a_pack) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16, DType::f64})
    for (Index in_shift = 0; in_shift < 8; ++in_shift)
      for (const Index out_shift : {0, 1, 3}) {
        const SoftmaxBuffers of = {.type = type, .in_shift = in_shift, .out_shift = out_shift};
        softmax({5, 67}, {.axes = {1}}, "rows_in_lanes", of, tally);
        softmax({1, 200}, {.axes = {1}, .kind = SoftmaxKind::log_softmax}, "rows_in_lanes", of, tally);
        softmax({3, 1001}, {.axes = {1}, .scale = -0.5}, "rows_in_block", of, tally);
      }
  EXPECT_GE(tally.cut_lines, 180);
}

TEST(cut_lines, rows_with_gaps) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Layout in : {Layout::padded, Layout::reversed, Layout::row_major})
      for (const Layout out : {Layout::padded, Layout::row_major}) {
        const SoftmaxBuffers of = {.type = type, .in = in, .out = out, .in_shift = 1};
        softmax({9, 77}, {.axes = {1}}, "rows_in_lanes", of, tally);
        softmax({3, 4, 1001}, {.axes = {2}}, "rows_in_block", of, tally);
        softmax({2, 3, 2, 3, 2, 333}, {.axes = {5}}, "rows_in_block", of, tally);
      }
  EXPECT_GE(tally.cut_lines, 24);
  Array padded(lay_out(DType::f32, {9, 2, 201}, Layout::padded, 5)), out(dense(DType::f32, {9, 2}));
  fill(padded, Values::mixed);
  run_forced(ReduceSpec{.op = ReduceOp::var, .axes = {2}}, padded, out, small(DeviceFacts::h200(), 2), "rows_in_lanes",
             tally);
}

TEST(cut_lines, not_where_neighbours_lie_apart) {
  Tally tally;
  softmax({9, 37}, {.axes = {1}}, "rows_in_lanes", {.in = Layout::stepped}, tally);
  softmax({9, 37}, {.axes = {1}}, "rows_in_lanes", {.out = Layout::stepped}, tally);
  softmax({9, 37}, {.axes = {1}}, "rows_in_lanes", {.out = Layout::column_major}, tally);
  EXPECT_EQ(tally.strategies["rows_in_lanes"], 3);
  EXPECT_EQ(tally.cut_lines, 0);
}

}  // namespace
}  // namespace simt
