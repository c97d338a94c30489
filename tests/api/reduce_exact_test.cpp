// Reductions of data whose results are exact in any order: no tolerance, so a lost or doubled element shows.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

// Sums and products of whole numbers and powers of two round nowhere before the output.
bool is_exact(ReduceOp op) {
  return op == ReduceOp::sum || op == ReduceOp::prod || op == ReduceOp::sumsq || op == ReduceOp::l1;
}

Values exact_values(ReduceOp op, DType type) {
  if (op == ReduceOp::prod) return Values::factors;
  const bool flags = type == DType::boolean || op == ReduceOp::any || op == ReduceOp::all;
  return flags ? Values::ties : Values::whole;
}

using Case = std::tuple<int, int>;

std::string case_name(const ::testing::TestParamInfo<Case>& entry) {
  return std::string(name(static_cast<ReduceOp>(std::get<0>(entry.param)))) + "_" +
         std::string(name(static_cast<DType>(std::get<1>(entry.param))));
}

class EveryOpAndType : public ::testing::TestWithParam<Case> {
 protected:
  ReduceOp op = static_cast<ReduceOp>(std::get<0>(GetParam()));
  DType type = static_cast<DType>(std::get<1>(GetParam()));
  Values values = exact_values(op, type);
  How how{.options = {}, .workers = nullptr, .exact = is_exact(op)};

  Array filled(const ViewDesc& view, std::uint64_t seed = 1, Index shift = 0) const {
    Array array(view, shift);
    fill(array, values, seed);
    return array;
  }
};

TEST_P(EveryOpAndType, every_layout_and_set_of_axes) {
  std::uint64_t seed = 1;
  for (const Sizes& sizes : {Sizes{3, 1, 5, 4}, Sizes{2, 33, 3}, Sizes{130, 2}, Sizes{2, 2, 3, 2, 3, 2}})
    for (const Layout layout : kLayouts) {
      ++seed;
      Array in = filled(lay_out(type, sizes, layout, seed), seed);
      for (const AxisSet& axes : all_axis_sets(static_cast<int>(sizes.size()))) {
        SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(sizes) << ' ' << name(layout) << " axes "
                                          << ::testing::PrintToString(axes.list()));
        const ReduceSpec spec{.op = op, .axes = axes, .keep_axes = seed % 2 == 0};
        const Layout outputs[] = {Layout::row_major, Layout::permuted, Layout::stepped, Layout::reversed};
        const Sizes left = output_sizes(sizes, axes, spec.keep_axes);
        Array out(lay_out(default_output(op, type), left, outputs[seed % 4], seed), static_cast<Index>(seed % 3));
        expect_right(spec, in, out, how);
      }
      if (HasFailure()) return;
    }
}

TEST_P(EveryOpAndType, every_length) {
  Sizes lengths(300);
  std::iota(lengths.begin(), lengths.end(), 1);
  for (const Index n : {511, 512, 513, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097}) lengths.push_back(n);
  for (const Index n : lengths) {
    SCOPED_TRACE(::testing::Message() << "n " << n);
    Array row = filled(dense(type, {n}), 1, n % 16);
    expect_reduced({.op = op, .axes = {0}}, row, DType::best, how);
    Array columns = filled(dense(type, {n, 3}), 2, n % 5);
    expect_reduced({.op = op, .axes = {0}}, columns, DType::best, how);
    Array wide = filled(dense(type, {2, n}), 3, n % 3);
    expect_reduced({.op = op, .axes = {0}}, wide, DType::best, how);
    if (HasFailure()) return;
  }
}

TEST_P(EveryOpAndType, every_misalignment) {
  for (Index shift = 0; shift < 16; ++shift) {
    SCOPED_TRACE(::testing::Message() << "shift " << shift);
    Array in = filled(lay_out(type, {5, 67}, Layout::padded, 3), 4, shift);
    for (const int axis : {0, 1}) {
      Array out(dense(default_output(op, type), {axis == 0 ? 67 : 5}), 15 - shift);
      expect_right(ReduceSpec{.op = op, .axes = {axis}}, in, out, how);
    }
  }
}

// Element i alone is 1: whoever loses it, or counts it twice, is seen.
TEST_P(EveryOpAndType, one_hot_sweep) {
  if (op == ReduceOp::prod || op == ReduceOp::all) return;  // 0 whatever happens
  const std::pair<Sizes, AxisSet> shapes[] = {{{2, 131}, {1}}, {{67, 3}, {0}}, {{3, 5, 7}, {0, 2}}, {{4, 3, 9}, {1}}};
  for (const auto& [sizes, axes] : shapes) {
    Array in(dense(type, sizes));
    fill_with(in, 0);
    for (const Index place : in.elements()) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(sizes) << " at " << place);
      in.set(place, 1);
      expect_reduced({.op = op, .axes = axes}, in, DType::best, how);
      in.set(place, 0);
      if (HasFailure()) return;
    }
  }
}

TEST_P(EveryOpAndType, long_rows_columns_and_both) {
  const std::pair<Sizes, AxisSet> shapes[] = {
      {{70001}, {0}}, {{33000, 3}, {0}}, {{2, 35000}, {1}}, {{41, 7, 250}, {0, 2}}, {{300, 129, 2}, {1}}};
  for (const auto& [sizes, axes] : shapes) {
    SCOPED_TRACE(::testing::PrintToString(sizes));
    Array in = filled(dense(type, sizes), 5);
    expect_reduced({.op = op, .axes = axes}, in, DType::best, how);
  }
}

// All but what an op refuses, see errors_test.
std::vector<Case> taken_cases() {
  std::vector<Case> cases;
  for (int op = 0; op < kReduceOpCount; ++op)
    for (int type = 1; type < kDTypeCount; ++type)
      if (default_output(static_cast<ReduceOp>(op), static_cast<DType>(type)) != DType::best)
        cases.emplace_back(op, type);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(reduce, EveryOpAndType, ::testing::ValuesIn(taken_cases()), case_name);

TEST(reduce_exact, sums_of_2_to_the_20_whole_numbers) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    Array in(dense(type, {2, 1 << 20}));
    fill(in, Values::whole);
    expect_reduced({.op = ReduceOp::sum, .axes = {1}}, in, DType::f32,
                   {.options = {}, .workers = nullptr, .exact = true});
  }
}

// 2 → 3 → 4 planted among smaller numbers, as 2 rows of 50 000.
TEST(reduce_exact, two_maxima_of_50000) {
  Array in(dense(DType::f32, {2, 50000})), out(dense(DType::f32, {2}));
  fill_with(in, 1);
  in.set(123, 2), in.set(49999, 3), in.set(50000, 4);
  expect_right(ReduceSpec{.op = ReduceOp::max, .axes = {1}}, in, out);
  EXPECT_EQ(out.get(0), 3);
  EXPECT_EQ(out.get(1), 4);
}

}  // namespace
}  // namespace ndfold::test
