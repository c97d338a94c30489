// Columns of whole packs in blocks of few threads, where lines are many and short; and long rows of two looks, a warp
// each.
#include <ndfold/ndfold.h>

#include "tests/simt/reduced.h"

namespace simt {
namespace {

const DeviceFacts kDevice = small(DeviceFacts::h200(), 2);

int threads_of_block(DType type, const Sizes& sizes) {
  const ViewDesc in = dense(type, sizes);
  const ReduceSpec spec{.op = ReduceOp::sum, .axes = {1}};
  const auto plan =
      ReducePlan::reduce(in, output_desc(in, spec).value(), spec, {.device = kDevice, .strategy = "columns_in_block"});
  return plan.value().steps()[0].launch.block;
}

TEST(small_blocks, of_columns) {
  const Sizes shapes[] = {{300, 33, 8}, {60, 40, 40}, {50, 64, 96}, {40, 49, 224}, {20, 100, 512}};
  Tally tally;
  for (const Sizes& sizes : shapes) {
    for (const DType type : {DType::f32, DType::bf16}) EXPECT_LT(threads_of_block(type, sizes), 256);
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
      reduce(op, DType::f32, sizes, "columns_in_block", 0, tally);
    reduce(ReduceOp::sum, DType::bf16, sizes, "columns_in_block", 0, tally);
    reduce(ReduceOp::var, DType::f16, sizes, "columns_in_block", 0, tally);
  }
  EXPECT_EQ(tally.strategies["columns_in_block"], 35);
}

TEST(small_blocks, not_of_few_lines_or_long_ones) {
  for (const Sizes& sizes : {Sizes{2, 64, 512}, Sizes{60, 4096, 40}})
    EXPECT_EQ(threads_of_block(DType::f32, sizes), 256);
}

TEST(small_blocks, warps_of_long_rows) {
  struct Rows {
    Sizes sizes;
    AxisSet axes;
  };
  Tally tally;
  for (const Rows& rows : {Rows{{60, 10000}, {1}}, Rows{{2, 160, 30, 48}, {1, 3}}, Rows{{2, 160, 30, 49}, {1, 3}}})
    for (const auto& [op, type] : {std::pair(ReduceOp::argmax, DType::f32), std::pair(ReduceOp::logsumexp, DType::f32),
                                   std::pair(ReduceOp::var, DType::f32), std::pair(ReduceOp::var, DType::f16)}) {
      const DType output = default_output(op, type);
      Array in(lay_out(type, rows.sizes, Layout::row_major, 5), 0);
      Array out(lay_out(output, output_sizes(rows.sizes, rows.axes), Layout::row_major, 1), 0);
      fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
      run_forced(ReduceSpec{.op = op, .axes = rows.axes}, in, out, kDevice, "rows_in_lanes", tally);
    }
  EXPECT_EQ(tally.strategies["rows_in_lanes"], 12);
}

}  // namespace
}  // namespace simt
