// Lines of columns in bundles: few and many rows and columns, along one axis and along several, wherever lines begin,
// blocks with one bundle and with several, the last of them short.
#include "tests/simt/forced.h"

namespace simt {
namespace {

constexpr const char* kStrategy = "columns_in_bundles";

void reduce(ReduceOp op, DType type, const Sizes& sizes, AxisSet axes, Index shift, Tally& tally,
            Layout out_layout = Layout::row_major) {
  SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << ' ' << ::testing::PrintToString(sizes)
                                    << " shift " << shift);
  Array in(dense(type, sizes), shift);
  Array out(lay_out(default_output(op, type), output_sizes(sizes, axes), out_layout, 3), shift / 2);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
  run_forced(ReduceSpec{.op = op, .axes = axes}, in, out, small(DeviceFacts::h200(), 2), kStrategy, tally);
}

TEST(columns_in_bundles, reductions) {
  Tally tally;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
    for (const Index rows : {2, 3, 4, 7, 8, 9, 33, 130, 1001})
      for (const Index columns : {2, 3, 5, 16, 33}) {
        if (rows * columns > 14000) continue;
        const Index lines = 4 + 9000 / (rows * columns) + rows % 3;
        reduce(op, DType::f32, {lines, rows, columns}, {1}, rows % 4, tally);
      }
  EXPECT_EQ(tally.strategies[kStrategy], 215);
}

TEST(columns_in_bundles, several_axes) {
  Tally tally;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::var, ReduceOp::logsumexp})
    for (const Index shift : {0, 1}) {
      reduce(op, DType::f32, {70, 2, 6, 4, 3}, {1, 3}, shift, tally);
      reduce(op, DType::f32, {70, 2, 6, 4, 3}, {2, 4}, shift, tally);
      reduce(op, DType::f32, {17, 5, 2, 33, 3, 2}, {1, 3, 5}, shift, tally);
      const DType type = op == ReduceOp::sum ? DType::bf16 : DType::f32;
      reduce(op, type, {19, 3, 2, 5, 2, 7, 2, 3}, {1, 3, 5, 7}, shift, tally);
    }
  EXPECT_EQ(tally.strategies[kStrategy], 32);
}

TEST(columns_in_bundles, results_where_they_are_wanted) {
  Tally tally;
  for (const Layout layout : {Layout::padded, Layout::permuted, Layout::stepped, Layout::reversed})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax}) {
      reduce(op, DType::f32, {300, 40, 5}, {1}, 1, tally, layout);
      reduce(op, DType::f32, {30, 7, 4, 5, 3}, {3}, 3, tally, layout);
    }
  EXPECT_EQ(tally.strategies[kStrategy], 16);
}

TEST(columns_in_bundles, softmaxes) {
  Tally tally;
  for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
    for (const double scale : {1.0, -0.5})
      for (const Index rows : {2, 8, 9, 33, 130, 1001})
        for (const Index columns : {2, 5, 13}) {
          const SoftmaxSpec spec{.axes = {1}, .kind = kind, .scale = scale, .alpha = 3};
          const Index lines = 5 + 9000 / (rows * columns);
          const Index shift = rows % 4;
          softmax({lines, rows, columns}, spec, kStrategy, {.in_shift = shift, .out_shift = columns % 4}, tally);
          softmax({lines, rows, columns}, spec, kStrategy, {.type = DType::bf16, .in_shift = 3}, tally);
        }
  softmax({70, 2, 6, 4, 3}, {.axes = {1, 3}}, kStrategy, {.in_shift = 1}, tally);
  softmax({70, 2, 6, 4, 3}, {.axes = {2, 4}}, kStrategy, {.type = DType::bf16}, tally);
  softmax({17, 5, 2, 33, 3, 2}, {.axes = {1, 3, 5}}, kStrategy, {.type = DType::f16, .out_shift = 1}, tally);
  softmax({300, 40, 5}, {.axes = {1}}, kStrategy, {.type = DType::f64, .in_shift = 1}, tally);
  EXPECT_EQ(tally.strategies[kStrategy], 148);
}

TEST(columns_in_bundles, in_place_and_specials) {
  Tally tally;
  for (const Index rows : {12, 70})
    for (const Real special : specials(DType::f32)) {
      Array buffer(dense(DType::f32, {97, rows, 5}), 1);
      fill(buffer, Values::mixed);
      for (Index i = 3; i < 97 * rows * 5; i += 61) buffer.set(i, special);
      run_forced(SoftmaxSpec{.axes = {1}}, buffer, buffer, small(DeviceFacts::h200(), 2), kStrategy, tally);
    }
  EXPECT_GE(tally.strategies[kStrategy], 10);
}

}  // namespace
}  // namespace simt
