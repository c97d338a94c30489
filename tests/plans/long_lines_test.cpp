// Blocks of lines of more batches than one: threads that waste little of the last batch, and of the last wave.
#include "plans/build/long_lines.h"

#include "tests/plans/problems.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

Step folded(ReduceOp op, DType type, Dims sizes, const char* strategy = "rows_in_block") {
  Request request = reduce_of(op, dense(type, std::move(sizes)), {1}, DeviceFacts::h200());
  request.options.strategy = strategy;
  return plan(request).schedule.steps.front();
}

Index batches(const Step& step, Index packs) {
  const Index batch = step.launch.block * Index{step.kernel.tuning.unroll};
  return (packs + batch - 1) / batch;
}

// 2500 packs are 1.2 batches of 256 threads.
TEST(LongLines, TheLastBatchIsNearlyFull) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::var, ReduceOp::logsumexp, ReduceOp::argmax})
    for (const auto& [type, length] : {std::pair{DType::bf16, 20000}, {DType::f32, 10000}}) {
      const Step step = folded(op, type, {3355, length});
      const Index batch = step.launch.block * Index{step.kernel.tuning.unroll};
      EXPECT_LT(batches(step, 2500) * batch, 2500 * 5 / 4) << name(op) << ' ' << name(type);
      EXPECT_EQ(step.launch.block % 32, 0);
    }
}

// Nothing is gained where 256 threads have whole batches, and nothing lost where there are few lines.
TEST(LongLines, BlocksStayLargeWhereTheySuit) {
  EXPECT_EQ(folded(ReduceOp::sum, DType::bf16, {1024, 65536}).launch.block, 256);
  EXPECT_EQ(folded(ReduceOp::sum, DType::f32, {16384, 16384}).launch.block, 256);
  EXPECT_EQ(folded(ReduceOp::var, DType::f32, {4096, 16384}).launch.block, 256);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::logsumexp, ReduceOp::var, ReduceOp::argmax})
    EXPECT_EQ(folded(op, DType::bf16, {64, 128256}).launch.block, 256) << name(op);
}

TEST(LongLines, OneBatchHasAsManyThreadsAsPacks) {
  EXPECT_EQ(folded(ReduceOp::logsumexp, DType::bf16, {6710, 10000}).launch.block, 160);
  EXPECT_EQ(folded(ReduceOp::argmax, DType::f32, {16384, 4096}).launch.block, 128);
  EXPECT_EQ(folded(ReduceOp::sum, DType::f32, {8192, 100}).launch.block, 32);
}

TEST(LongLines, PowersOfHalvesTakeHalfOfTheLoads) {
  EXPECT_EQ(folded(ReduceOp::logsumexp, DType::bf16, {523, 128256}).kernel.tuning.unroll, 4);
  EXPECT_EQ(folded(ReduceOp::logsumexp, DType::f32, {523, 128256}).kernel.tuning.unroll, 8);
  EXPECT_EQ(folded(ReduceOp::var, DType::f32, {3355, 20000}).kernel.tuning.unroll, 4);
  EXPECT_EQ(folded(ReduceOp::var, DType::f32, {4096, 16384}).kernel.tuning.unroll, 8);
}

// Blocks that do not wait for each other: as many as registers have room for.
TEST(LongLines, GiantRowsFillAllRegisters) {
  const auto parts = [](ReduceOp op, DType type) {
    DeviceFacts device = DeviceFacts::h200();
    device.launches_overlap = true;
    const Request request = reduce_of(op, dense(type, {Index{1} << 26}), {0}, device);
    return plan(request).schedule.steps.front().launch.grid[0];
  };
  EXPECT_EQ(parts(ReduceOp::sum, DType::f32), 3 * 132);
  EXPECT_EQ(parts(ReduceOp::logsumexp, DType::bf16), 4 * 132);
  EXPECT_EQ(parts(ReduceOp::var, DType::bf16), 2 * 132);
}

}  // namespace
}  // namespace ndfold::test
