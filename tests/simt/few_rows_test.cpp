// Columns of few rows: wide panels and narrow ones, whole packs, cut ones and columns that are none.
#include "tests/simt/forced.h"

namespace simt {
namespace {

// So few lanes that a few thousand columns are wide.
DeviceFacts one_block() {
  DeviceFacts device = small(DeviceFacts::h200(), 1);
  device.threads_per_multiprocessor = 256;
  return device;
}

void reduce(ReduceOp op, DType type, DType output, const Sizes& sizes, Layout layout, Index shift, Tally& tally,
            const DeviceFacts& device = one_block()) {
  const AxisSet axes{sizes.size() == 2 ? 0 : 1};
  for (const std::string strategy : {"columns_in_block", "copy"}) {
    SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << "→" << name(output) << ' '
                                      << ::testing::PrintToString(sizes) << ' ' << name(layout) << ' ' << shift);
    Array in(lay_out(type, sizes, layout, 5), shift);
    Array out(lay_out(output, output_sizes(sizes, axes), layout == Layout::stepped ? layout : Layout::row_major, 1),
              shift / 2);
    fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
    if (op == ReduceOp::logsumexp)  // the power of a number that is not there would be all of the sum
      for (const Index place : in.elements()) in.set(place, in.get(place) - 300);
    run_forced(ReduceSpec{.op = op, .axes = axes}, in, out, device, strategy, tally);
  }
}

TEST(few_rows, wide_panels) {
  Tally tally;
  for (const Index rows : {1, 2, 3, 5, 8, 9, 17, 32, 33})
    for (const Index columns : {4400, 4403}) {
      reduce(ReduceOp::sum, DType::f32, DType::f32, {rows, columns}, Layout::row_major, rows % 4, tally);
      reduce(ReduceOp::sum, DType::bf16, DType::bf16, {rows, 2 * columns}, Layout::row_major, rows % 3, tally);
      reduce(ReduceOp::argmax, DType::f32, DType::i64, {rows, columns}, Layout::row_major, rows % 2, tally);
      reduce(ReduceOp::var, DType::f32, DType::f32, {rows, columns}, Layout::row_major, 0, tally);
    }
  reduce(ReduceOp::max, DType::f32, DType::f32, {3, 4402}, Layout::stepped, 0, tally);
  reduce(ReduceOp::sum, DType::f32, DType::f32, {3, 4400}, Layout::reversed, 1, tally);
  reduce(ReduceOp::sum, DType::f32, DType::bf16, {3, 4400}, Layout::row_major, 1, tally);
  reduce(ReduceOp::sum, DType::f32, DType::f64, {3, 4400}, Layout::row_major, 0, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 76);
  EXPECT_EQ(tally.strategies["copy"], 8);
}

TEST(few_rows, halves) {
  Tally tally;
  for (const Index rows : {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 29, 32})
    for (const Index columns : {328, 331}) {
      reduce(ReduceOp::var, DType::f16, DType::f32, {rows, columns}, Layout::row_major, rows % 3, tally);
      reduce(ReduceOp::logsumexp, DType::bf16, DType::f32, {rows, columns}, Layout::row_major, rows % 3, tally);
      reduce(ReduceOp::argmax, DType::bf16, DType::i64, {rows, columns}, Layout::row_major, rows % 3, tally);
    }
  EXPECT_EQ(tally.strategies["columns_in_block"], 72);
}

TEST(few_rows, narrow_panels_side_by_side) {
  Tally tally;
  for (const Index rows : {2, 3, 7, 8, 20})
    for (const Index columns : {2, 4, 5, 12, 100, 131})
      for (const Layout layout : {Layout::row_major, Layout::padded, Layout::stepped})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax})
          reduce(op, DType::f32, default_output(op, DType::f32), {37, rows, columns}, layout, rows % 3, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 180);
}

TEST(few_rows, shared_where_lanes_are_few) {
  const DeviceFacts device = small(DeviceFacts::h200(), 4);
  constexpr std::pair<ReduceOp, DType> kSubjects[] = {
      {ReduceOp::sum, DType::f32},       {ReduceOp::sum, DType::bf16},       {ReduceOp::argmax, DType::f32},
      {ReduceOp::argmax, DType::bf16},   {ReduceOp::var, DType::f32},        {ReduceOp::var, DType::f16},
      {ReduceOp::logsumexp, DType::f32}, {ReduceOp::logsumexp, DType::bf16},
  };
  Tally tally;
  for (const Index rows : {9, 16, 25, 32})
    for (const Index columns : {640, 643})
      for (const auto& [op, type] : kSubjects) {
        const DType output = op == ReduceOp::argmax ? DType::i64 : op == ReduceOp::sum ? type : DType::f32;
        reduce(op, type, output, {rows, columns}, Layout::row_major, rows % 3, tally, device);
      }
  reduce(ReduceOp::sum, DType::f32, DType::f32, {3, 20, 200}, Layout::padded, 1, tally, device);
  EXPECT_EQ(tally.strategies["columns_in_block"], 65);
}

}  // namespace
}  // namespace simt
