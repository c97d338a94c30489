// Errors of floating reductions stay within the documented bounds, in every orientation and at every length.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

constexpr ReduceOp kRounded[] = {ReduceOp::sum,   ReduceOp::mean, ReduceOp::var, ReduceOp::std_dev,
                                 ReduceOp::sumsq, ReduceOp::l1,   ReduceOp::l2,  ReduceOp::logsumexp};

void note(Real worst) {
  ::testing::Test::RecordProperty("worst_error_over_bound", std::to_string(static_cast<double>(worst)));
}

class Rounded : public ::testing::TestWithParam<ReduceOp> {};

TEST_P(Rounded, all_data_and_layouts) {
  Real worst = 0;
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const Values values : kAllValues)
      for (const Layout layout : kLayouts) {
        if (type == DType::f16 && GetParam() == ReduceOp::sumsq && values == Values::decades)
          continue;  // near overflow
        SCOPED_TRACE(::testing::Message()
                     << name(type) << " values " << static_cast<int>(values) << ' ' << name(layout));
        Array in(lay_out(type, {6, 17, 29}, layout, 4));
        fill(in, values, 3);
        for (const AxisSet& axes : {AxisSet{0}, AxisSet{1}, AxisSet{2}, AxisSet{0, 2}, AxisSet{1, 2}, AxisSet::all()})
          worst = std::max(worst, expect_reduced({.op = GetParam(), .axes = axes}, in).worst);
      }
  note(worst);
}

TEST_P(Rounded, long_axes_in_every_orientation) {
  constexpr Index kLong = 1 << 18;
  const std::pair<Sizes, AxisSet> shapes[] = {
      {{kLong}, {0}}, {{kLong, 2}, {0}}, {{2, kLong}, {1}}, {{512, 2, 512}, {0, 2}}, {{2, kLong / 3, 3}, {1}}};
  Real worst = 0;
  for (const Values values : {Values::positive, Values::ascending, Values::shifted})
    for (const auto& [sizes, axes] : shapes) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(sizes) << " values " << static_cast<int>(values));
      Array in(dense(DType::f32, sizes));
      fill(in, values);
      worst = std::max(worst, expect_reduced({.op = GetParam(), .axes = axes}, in).worst);
    }
  note(worst);
}

TEST_P(Rounded, wider_output_and_accumulator) {
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    Array in(dense(type, {40, 500}));
    fill(in, Values::mixed);
    for (const AxisSet& axes : {AxisSet{0}, AxisSet{1}}) {
      SCOPED_TRACE(name(type));
      expect_reduced({.op = GetParam(), .axes = axes}, in, DType::f32);
      expect_reduced({.op = GetParam(), .axes = axes}, in, DType::f64);
      expect_reduced({.op = GetParam(), .axes = axes, .accumulate = DType::f32}, in, DType::f32);
      expect_reduced({.op = GetParam(), .axes = axes, .accumulate = DType::f64}, in, DType::f64);
      expect_reduced({.op = GetParam(), .axes = axes, .accumulate = DType::f64}, in, DType::f32);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(reduce, Rounded, ::testing::ValuesIn(kRounded),
                         [](const auto& entry) { return std::string(name(entry.param)); });

// A running sum over a leading axis loses percents of such a mean (numpy#29772).
TEST(mean, of_2_to_the_22_elements_in_every_orientation) {
  constexpr Index kLong = 1 << 22;
  Real worst = 0;
  for (const auto& [sizes, axis] : {std::pair<Sizes, int>{{kLong}, 0}, {{kLong, 2}, 0}, {{1, kLong, 1}, 1}}) {
    Array in(dense(DType::f32, sizes));
    fill(in, Values::positive);
    worst = std::max(worst, expect_reduced({.op = ReduceOp::mean, .axes = {axis}}, in).worst);
  }
  note(worst);
}

TEST(compensated, carries_what_a_sum_loses) {
  Real worst = 0;
  const std::pair<Sizes, AxisSet> shapes[] = {{{100000}, {0}}, {{30000, 3}, {0}}, {{70, 2, 300}, {0, 2}}};
  for (const DType type : {DType::f32, DType::f64})
    for (const Values values : {Values::cancelling, Values::decades, Values::positive})
      for (const auto& [sizes, axes] : shapes)
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
          SCOPED_TRACE(::testing::Message() << name(type) << ' ' << name(op) << ::testing::PrintToString(sizes));
          Array in(dense(type, sizes));
          fill(in, values);
          worst = std::max(worst, expect_reduced({.op = op, .axes = axes, .compensated = true}, in).worst);
        }
  note(worst);
}

TEST(compensated, small_numbers_survive_beside_a_large_one) {
  Array in(dense(DType::f32, {4097})), out(dense(DType::f32, {}));
  fill_with(in, 1);
  in.set(0, 0x1p30L), in.set(4096, -0x1p30L);
  expect_right(ReduceSpec{.op = ReduceOp::sum, .axes = {0}, .compensated = true}, in, out);
  EXPECT_EQ(out.get(0), 4095);
}

TEST(variance, of_near_equal_values) {
  Array in(dense(DType::f32, {2})), out(dense(DType::f32, {}));
  fill_with(in, Row{2281.5L, 2281.25L});
  expect_right(ReduceSpec{.op = ReduceOp::var, .axes = {0}, .ddof = 1}, in, out);
  EXPECT_EQ(out.get(0), 0.03125L);
  expect_right(ReduceSpec{.op = ReduceOp::var, .axes = {0}}, in, out);
  EXPECT_EQ(out.get(0), 0.015625L);
}

TEST(variance, of_equal_values_is_zero) {
  for (const DType type : {DType::f32, DType::f64, DType::f16})
    for (const Index n : {1, 2, 3, 100, 1024, 5000})
      for (const Real x : {0.1L, 3.0L, 1000.0L, -7.7L}) {
        Array in(dense(type, {n, 2})), out(dense(type, {2}));
        fill_with(in, x);
        expect_right(ReduceSpec{.op = ReduceOp::var, .axes = {0}}, in, out);
        EXPECT_GE(out.get(0), 0);
      }
}

TEST(variance, every_ddof) {
  for (const DType type : {DType::f32, DType::f64, DType::i32})
    for (const ReduceOp op : {ReduceOp::var, ReduceOp::std_dev})
      for (const Index n : {1, 2, 3, 17, 300})
        for (const Index ddof : {0, 1, 2, 3, 16, 400}) {
          SCOPED_TRACE(::testing::Message() << name(type) << " n " << n << " ddof " << ddof);
          Array in(dense(type, {2, n}));
          fill(in, Values::mixed);
          expect_reduced({.op = op, .axes = {1}, .ddof = ddof}, in);
        }
}

TEST(variance, of_large_f32_does_not_overflow_needlessly) {
  Array in(dense(DType::f32, {1000})), out(dense(DType::f64, {}));
  for (Index i = 0; i < 1000; ++i) in.set(i, i % 2 == 0 ? 1e25L : -1e25L);
  expect_right(ReduceSpec{.op = ReduceOp::std_dev, .axes = {0}, .accumulate = DType::f64}, in, out);
}

TEST(half, sums_and_means_accumulate_in_f32) {
  for (const DType type : {DType::f16, DType::bf16})
    for (const Sizes& sizes : {Sizes{100000, 2}, Sizes{2, 100000}}) {
      Array in(dense(type, sizes)), mean(dense(type, {2})), sum(dense(DType::f32, {2}));
      fill_with(in, 1.5L);
      const AxisSet axes{sizes[0] == 2 ? 1 : 0};
      expect_right(ReduceSpec{.op = ReduceOp::mean, .axes = axes}, in, mean);
      EXPECT_EQ(mean.get(0), 1.5L);
      expect_right(ReduceSpec{.op = ReduceOp::sum, .axes = axes}, in, sum);
      EXPECT_EQ(sum.get(1), 150000);
    }
}

}  // namespace
}  // namespace ndfold::test
