// Lines of few columns, many to a block: every number of columns, rows and lines, elements wherever they lie, and
// groups of lanes that have no panel.
#include "tests/simt/forced.h"

namespace simt {
namespace {

void reduce(ReduceOp op, DType type, const Sizes& sizes, AxisSet axes, Layout layout, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << ' ' << ::testing::PrintToString(sizes) << ' '
                                    << name(layout));
  Array in(lay_out(type, sizes, layout, 5), 1);
  Array out(lay_out(default_output(op, type), output_sizes(sizes, axes), Layout::row_major, 1), 3);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
  run_forced(ReduceSpec{.op = op, .axes = axes}, in, out, small(DeviceFacts::h200(), 2), "columns_in_lanes", tally);
}

TEST(columns_in_lanes, reductions) {
  Tally tally;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
    for (const Index rows : {2, 7, 33, 130})
      for (const Index columns : {2, 3, 5, 17, 33, 49})
        reduce(op, DType::f32, {9, rows, columns}, {1}, Layout::row_major, tally);
  EXPECT_EQ(tally.strategies["columns_in_lanes"], 120);
}

TEST(columns_in_lanes, layouts_and_types) {
  Tally tally;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax})
    for (const Layout layout : {Layout::padded, Layout::permuted, Layout::stepped, Layout::reversed})
      for (const DType type : {DType::f32, DType::bf16}) {
        reduce(op, type, {300, 40, 5}, {1}, layout, tally);
        reduce(op, type, {70, 2, 6, 4, 3}, {1, 3}, layout, tally);
      }
  reduce(ReduceOp::sum, DType::i32, {300, 40, 5}, {1}, Layout::row_major, tally);
  EXPECT_EQ(tally.strategies["columns_in_lanes"], 33);
}

TEST(columns_in_lanes, softmaxes) {
  Tally tally;
  for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
    for (const double scale : {1.0, -0.5})
      for (const Index rows : {2, 33, 130})
        for (const Index columns : {2, 5, 33}) {
          const SoftmaxSpec spec{.axes = {1}, .kind = kind, .scale = scale, .alpha = 3};
          softmax({9, rows, columns}, spec, "columns_in_lanes", {.in_shift = 1, .out_shift = 2}, tally);
          softmax({9, rows, columns}, spec, "columns_in_lanes", {.type = DType::bf16, .in = Layout::padded}, tally);
        }
  softmax({70, 2, 6, 4, 3}, {.axes = {1, 3}}, "columns_in_lanes", {.out = Layout::stepped}, tally);
  EXPECT_EQ(tally.strategies["columns_in_lanes"], 73);
}

TEST(columns_in_lanes, in_place_and_specials) {
  Tally tally;
  for (const Real special : specials(DType::f32)) {
    Array buffer(dense(DType::f32, {37, 12, 5}), 1);
    fill(buffer, Values::mixed);
    for (Index i = 3; i < 37 * 60; i += 61) buffer.set(i, special);
    run_forced(SoftmaxSpec{.axes = {1}}, buffer, buffer, small(DeviceFacts::h200(), 2), "columns_in_lanes", tally);
  }
  EXPECT_GE(tally.strategies["columns_in_lanes"], 5);
}

}  // namespace
}  // namespace simt
