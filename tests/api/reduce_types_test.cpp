// Input, accumulator and output types that differ; integers that wrap; bool bytes that are not 0 or 1.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

constexpr DType kIntegers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                               DType::u8, DType::u16, DType::u32, DType::u64};

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int type = 1; type < kDTypeCount; ++type) types.push_back(static_cast<DType>(type));
  return types;
}

TEST(types, default_outputs) {
  const ViewDesc in = dense(DType::u16, {2, 3, 4});
  const auto sum = output_desc(in, {.op = ReduceOp::sum, .axes = {0, -1}});
  ASSERT_TRUE(sum) << sum.error().message();
  EXPECT_EQ(*sum, dense(DType::u64, {3}));
  const auto mean = output_desc(in, {.op = ReduceOp::mean, .axes = {1}, .keep_axes = true});
  ASSERT_TRUE(mean);
  EXPECT_EQ(*mean, dense(DType::f64, {2, 1, 4}));
  EXPECT_EQ(output_desc(in, {.op = ReduceOp::logsumexp, .axes = {1}}).error().code(), Code::unsupported);
  EXPECT_EQ(output_desc(in, {.op = ReduceOp::sum, .axes = {3}}).error().code(), Code::invalid_argument);
}

// Every pair is either right or refused with a sentence that names both types.
TEST(types, every_op_input_and_output) {
  int taken = 0;
  for (int op = 0; op < kReduceOpCount; ++op)
    for (const DType input : all_types())
      for (const DType output : all_types()) {
        const ReduceSpec spec{.op = static_cast<ReduceOp>(op), .axes = {1}};
        SCOPED_TRACE(::testing::Message() << name(spec.op) << ' ' << name(input) << " to " << name(output));
        Array in(dense(input, {4, 21})), out(dense(output, {4}));
        fill(in, spec.op == ReduceOp::prod ? Values::factors : input == DType::boolean ? Values::ties : Values::whole);
        const auto plan = plan_for(spec, in.desc(), out.desc());
        if (plan) {
          expect_right(spec, in, out), ++taken;
        } else {
          EXPECT_EQ(plan.error().code(), Code::unsupported);
          EXPECT_NE(plan.error().message().find(name(input)), std::string::npos) << plan.error().message();
          EXPECT_NE(output, default_output(spec.op, input));
        }
      }
  EXPECT_GT(taken, 17 * 13);
}

TEST(types, required_widenings) {
  const std::pair<DType, DType> pairs[] = {{DType::f16, DType::f32}, {DType::bf16, DType::f32},
                                           {DType::f32, DType::f64}, {DType::f32, DType::f16},
                                           {DType::f16, DType::f64}, {DType::f64, DType::f32}};
  for (const auto& [input, output] : pairs)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::l2, ReduceOp::logsumexp}) {
      SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(input) << " to " << name(output));
      Array in(dense(input, {5, 77}));
      fill(in, Values::mixed);
      expect_reduced({.op = op, .axes = {0}}, in, output);
      expect_reduced({.op = op, .axes = {1}}, in, output);
    }
}

TEST(types, accumulators_that_are_refused_say_so) {
  for (const DType input : all_types())
    for (const DType accumulate : all_types()) {
      const ReduceSpec spec{.op = ReduceOp::sum, .axes = {0}, .accumulate = accumulate};
      SCOPED_TRACE(::testing::Message() << name(input) << " in " << name(accumulate));
      Array in(dense(input, {33})), out(dense(default_output(spec.op, input), {}));
      fill(in, Values::ties);
      const auto plan = plan_for(spec, in.desc(), out.desc());
      if (plan)
        expect_right(spec, in, out);
      else
        EXPECT_NE(plan.error().message().find(name(accumulate)), std::string::npos) << plan.error().message();
    }
}

TEST(integers, wrap_modulo_2_to_the_64) {
  for (const DType type : kIntegers)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::sumsq})
      for (const auto& [sizes, axes] :
           {std::pair<Sizes, AxisSet>{{4, 999}, {1}}, {{999, 4}, {0}}, {{7, 5, 60}, {0, 2}}}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << name(op));
        Array in(dense(type, sizes));
        fill(in, Values::bits);
        if (op == ReduceOp::prod)  // odd factors: no product of many is 0 by its powers of two
          for (const Index place : in.elements()) in.set(place, in.get(place) == 0 ? 3 : in.get(place));
        expect_reduced({.op = op, .axes = axes}, in);
      }
}

TEST(integers, odd_products_wrap) {
  for (const DType type : {DType::i64, DType::u64, DType::i8, DType::u32}) {
    Array in(dense(type, {3, 1000}));
    for (const Index place : in.elements())
      in.set(place, 3 + 2 * static_cast<Real>(hash(static_cast<std::uint64_t>(place)) % 60));
    expect_reduced({.op = ReduceOp::prod, .axes = {1}}, in);
    expect_reduced({.op = ReduceOp::prod, .axes = {0}}, in);
  }
}

TEST(integers, extremes_are_exact) {
  for (const DType type : kIntegers)
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::min, ReduceOp::argmax, ReduceOp::argmin, ReduceOp::linf,
                              ReduceOp::count_nonzero, ReduceOp::any, ReduceOp::all})
      for (const AxisSet& axes : {AxisSet{0}, AxisSet{1}, AxisSet{0, 1}}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << name(op));
        Array in(dense(type, {67, 41}));
        fill(in, Values::bits);
        in.set(5, any_bits(type, 0x8000'0000'8000'8080)), in.set(90, any_bits(type, ~std::uint64_t{0}));
        expect_reduced({.op = op, .axes = axes}, in);
      }
}

// The mean of integers does not wrap where their sum would.
TEST(integers, means_do_not_wrap) {
  for (const DType type : {DType::i32, DType::u32, DType::i64, DType::u64, DType::u8, DType::i8})
    for (const ReduceOp op : {ReduceOp::mean, ReduceOp::var, ReduceOp::l1, ReduceOp::l2}) {
      SCOPED_TRACE(::testing::Message() << name(type) << ' ' << name(op));
      Array in(dense(type, {1000}));
      fill_with(in, any_bits(type, is_signed_integer(type) ? ~std::uint64_t{0} >> (65 - 8 * size_bytes(type))
                                                           : ~std::uint64_t{0}));
      expect_reduced({.op = op, .axes = {0}}, in);
    }
}

TEST(booleans, any_byte_that_is_not_0_is_true) {
  const ReduceOp ops[] = {
      ReduceOp::sum, ReduceOp::prod, ReduceOp::mean,          ReduceOp::max,    ReduceOp::min,    ReduceOp::any,
      ReduceOp::all, ReduceOp::var,  ReduceOp::count_nonzero, ReduceOp::argmax, ReduceOp::argmin, ReduceOp::sumsq,
      ReduceOp::l1,  ReduceOp::l2,   ReduceOp::linf};
  constexpr std::byte kBytes[] = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{255}, std::byte{128}};
  for (const ReduceOp op : ops)
    for (const Sizes& sizes : {Sizes{3, 130}, Sizes{130, 3}, Sizes{4, 7}})
      for (const bool full : {true, false}) {
        SCOPED_TRACE(name(op));
        Array in(dense(DType::boolean, sizes));
        auto* bytes = static_cast<std::byte*>(in.data());
        for (Index i = 0; i < sizes[0] * sizes[1]; ++i)
          bytes[i] =
              kBytes[full ? 1 + hash(static_cast<std::uint64_t>(i)) % 4 : hash(static_cast<std::uint64_t>(i)) % 5];
        for (const int axis : {0, 1}) {
          Array out(dense(default_output(op, DType::boolean), {sizes[static_cast<std::size_t>(1 - axis)]}));
          expect_right(ReduceSpec{.op = op, .axes = {axis}}, in, out);
          if (out.desc().dtype != DType::boolean) continue;
          for (const Index place : out.elements()) EXPECT_LE(static_cast<const std::uint8_t*>(out.data())[place], 1);
        }
      }
}

}  // namespace
}  // namespace ndfold::test
