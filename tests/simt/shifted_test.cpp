// Many columns that are no whole packs: slots whose packs begin up to a pack before the panel, panels that end within a
// pack, first and last rows, and parts that begin anywhere.
#include "tests/simt/forced.h"

namespace simt {
namespace {

void reduce(ReduceOp op, DType type, const Sizes& sizes, std::string_view strategy, Index shift, Tally& tally,
            int threads = 1024) {
  SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << ' ' << ::testing::PrintToString(sizes) << ' '
                                    << strategy << ' ' << shift);
  const AxisSet axes{sizes.size() == 2 ? 0 : 1};
  const DType output = default_output(op, type);
  Array in(lay_out(type, sizes, Layout::row_major, 5), shift);
  Array out(lay_out(output, output_sizes(sizes, axes), Layout::row_major, 1), shift / 2);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
  DeviceFacts device = small(DeviceFacts::h200(), 2);
  device.threads_per_block = threads;
  run_forced(ReduceSpec{.op = op, .axes = axes}, in, out, device, std::string(strategy), tally);
}

TEST(shifted, rows_and_columns) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const Index columns : {257, 503, 1022})
      for (const Index rows : {33, 64, 301})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax})
          reduce(op, DType::f32, {rows, columns}, strategy, (rows + columns) % 4, tally);
  EXPECT_EQ(tally.strategies["columns_in_block"], 18);
  EXPECT_EQ(tally.strategies["split"], 18);
}

TEST(shifted, folds_and_types) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"}) {
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::var, ReduceOp::logsumexp})
      reduce(op, DType::f32, {3, 101, 389}, strategy, 1, tally);
    reduce(ReduceOp::sum, DType::bf16, {77, 1027}, strategy, 3, tally);
    reduce(ReduceOp::var, DType::f16, {77, 1027}, strategy, 5, tally);
    reduce(ReduceOp::sum, DType::u8, {301, 1001}, strategy, 5, tally);
    reduce(ReduceOp::sum, DType::f32, {2, 34, 257}, strategy, 1, tally);
  }
  EXPECT_EQ(tally.strategies["columns_in_block"], 7);
  EXPECT_EQ(tally.strategies["split"], 7);
}

TEST(shifted, blocks_of_any_size) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split"})
    for (const int threads : {32, 70, 96, 128, 192})
      for (const Index columns : {9, 389})
        reduce(ReduceOp::sum, DType::f32, {101, columns}, strategy, 1, tally, threads);
  EXPECT_EQ(tally.strategies["columns_in_block"], 10);
  EXPECT_EQ(tally.strategies["split"], 10);
}

}  // namespace
}  // namespace simt
