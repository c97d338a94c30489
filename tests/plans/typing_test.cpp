#include "plans/typing.h"

#include <gtest/gtest.h>

namespace ndfold {
namespace {

constexpr DType kData[] = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,  DType::i16,    DType::i32,
                           DType::i64, DType::u8,   DType::u16, DType::u32, DType::u64, DType::boolean};

std::vector<ReduceOp> all_ops() {
  std::vector<ReduceOp> ops;
  for (int i = 0; i < kReduceOpCount; ++i) ops.push_back(static_cast<ReduceOp>(i));
  return ops;
}

TEST(Typing, EveryOpWritesItsDefaultOutput) {
  for (ReduceOp op : all_ops())
    for (DType type : kData) {
      const DType output = default_output(op, type);
      EXPECT_EQ(check_output_type(op, type, output == DType::best ? DType::f32 : output).ok(), output != DType::best)
          << name(op) << " of " << name(type);
    }
}

TEST(Typing, FoldsAreCalledLikeTheirOps) {
  for (ReduceOp op : all_ops()) EXPECT_EQ(name(fold_of(op, false)), name(op));
  EXPECT_EQ(fold_of(ReduceOp::sum, true), FoldKind::compensated_sum);
  EXPECT_EQ(fold_of(ReduceOp::mean, true), FoldKind::compensated_mean);
  EXPECT_EQ(fold_of(ReduceOp::max, true), FoldKind::none);
}

struct AccumulateRow {
  ReduceOp op;
  DType input, wanted, expected;  // best: refused
};

TEST(Typing, AccumulatesAsThePromiseSays) {
  const AccumulateRow rows[] = {
      {ReduceOp::sum, DType::f16, DType::best, DType::f32},     {ReduceOp::sum, DType::bf16, DType::f64, DType::f64},
      {ReduceOp::sum, DType::f32, DType::best, DType::f32},     {ReduceOp::sum, DType::f64, DType::f32, DType::best},
      {ReduceOp::sum, DType::i8, DType::best, DType::i64},      {ReduceOp::sum, DType::u8, DType::best, DType::u64},
      {ReduceOp::sum, DType::boolean, DType::best, DType::i64}, {ReduceOp::mean, DType::i32, DType::best, DType::f64},
      {ReduceOp::max, DType::f16, DType::best, DType::f32},     {ReduceOp::max, DType::i16, DType::best, DType::i16},
      {ReduceOp::argmax, DType::u8, DType::best, DType::u8},    {ReduceOp::any, DType::f64, DType::best, DType::i64},
      {ReduceOp::max, DType::f32, DType::f64, DType::best},     {ReduceOp::sum, DType::i32, DType::f64, DType::best},
  };
  for (const auto& [op, input, wanted, expected] : rows) {
    const auto result = accumulate_type(op, input, wanted);
    EXPECT_EQ(result ? *result : DType::best, expected) << name(op) << " of " << name(input) << " in " << name(wanted);
  }
  EXPECT_EQ(accumulate_type(ReduceOp::sum, DType::f64, DType::f32).error().message(),
            "sum of f64 cannot accumulate in f32, only in f64");
}

TEST(Typing, RefusalsNameTheCombination) {
  EXPECT_EQ(check_output_type(ReduceOp::logsumexp, DType::i32, DType::f64).message(),
            "logsumexp takes floating input, not i32");
  EXPECT_EQ(check_output_type(ReduceOp::max, DType::i32, DType::i16).message(),
            "max of i32 cannot be written as i16; its own output type is i32");
  EXPECT_EQ(check_output_type(ReduceOp::mean, DType::f32, DType::i32).code(), Code::unsupported);
}

TEST(Typing, NarrowOutputsHoldEveryInput) {
  EXPECT_TRUE(check_output_type(ReduceOp::max, DType::u8, DType::i16).ok());
  EXPECT_FALSE(check_output_type(ReduceOp::max, DType::i8, DType::u16).ok());
  EXPECT_TRUE(check_output_type(ReduceOp::sum, DType::f16, DType::f32).ok());
  EXPECT_TRUE(check_output_type(ReduceOp::argmax, DType::f32, DType::u32).ok());
  EXPECT_FALSE(check_output_type(ReduceOp::argmax, DType::f32, DType::i8).ok());
}

TEST(Typing, StatesHaveASize) {
  EXPECT_EQ(state_bytes(FoldKind::sum, DType::f32), 4);
  EXPECT_EQ(state_bytes(FoldKind::softmax, DType::f32), 8);
  EXPECT_EQ(state_bytes(FoldKind::var, DType::f64), 24);
  EXPECT_EQ(state_bytes(FoldKind::argmax, DType::f32), 16);
}

}  // namespace
}  // namespace ndfold
