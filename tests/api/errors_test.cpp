// Every refusal: its code, a sentence that names the argument and both values, and not a byte written.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <limits>

namespace ndfold::test {
namespace {

constexpr Index kHuge = Index{1} << 62;

// One sentence: no line break, no trailing full stop, and every one of `words` in it.
void expect_sentence(const Status& status, Code code, const std::vector<std::string>& words) {
  EXPECT_EQ(name(status.code()), name(code)) << status.message();
  for (const std::string& word : words)
    EXPECT_NE(status.message().find(word), std::string::npos) << '"' << status.message() << "\" lacks " << word;
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
}

struct Refusal {
  std::string what;
  AnyRequest request;
  ViewDesc in, out;
  Code code;
  std::vector<std::string> words;
  PlanOptions options = {};
};

ReduceSpec sum_over(AxisSet axes) { return {.op = ReduceOp::sum, .axes = std::move(axes)}; }
ReduceSpec max_over(AxisSet axes) { return {.op = ReduceOp::max, .axes = std::move(axes)}; }

ViewDesc strided(Sizes sizes, Sizes strides, DType type = DType::f32) {
  return {.dtype = type, .sizes = std::move(sizes), .strides = std::move(strides)};
}

ViewDesc claiming(ViewDesc view, Index alignment) {
  view.alignment_bytes = alignment;
  return view;
}

ViewDesc f32(Sizes sizes) { return dense(DType::f32, std::move(sizes)); }

PlanOptions blocks_of(Index limit) {
  PlanOptions options;
  options.block_limit = limit;
  return options;
}

PlanOptions forced(std::string strategy) { return {.device = DeviceFacts::host(), .strategy = std::move(strategy)}; }

std::vector<Refusal> shape_refusals() {
  const ViewDesc in = f32({2, 3, 4});
  const Code invalid = Code::invalid_argument;
  return {
      {"axis too large", sum_over({3}), in, f32({2, 3}), invalid, {"axes", "3"}},
      {"axis too small", sum_over({-4}), in, f32({2, 3}), invalid, {"axes", "-4", "3"}},
      {"axis of a scalar", sum_over({0}), f32({}), f32({}), invalid, {"axes", "0"}},
      {"axis twice", sum_over({1, 1}), in, f32({2, 4}), invalid, {"axes", "1", "twice"}},
      {"axis twice, once negative", sum_over({2, -1}), in, f32({2, 3}), invalid, {"axes", "2", "twice"}},
      {"softmax axis too large", SoftmaxSpec{.axes = {7}}, in, in, invalid, {"axes", "7", "3"}},
      {"output rank", sum_over({0}), in, f32({2, 3, 4}), invalid, {"out", "3", "2"}},
      {"output size", sum_over({0}), in, f32({3, 5}), invalid, {"out", "5", "4"}},
      {"keep_axes",
       ReduceSpec{.op = ReduceOp::sum, .axes = {0}, .keep_axes = true},
       in,
       f32({3, 4}),
       invalid,
       {"out", "2", "3"}},
      {"softmax output size", SoftmaxSpec{.axes = {0}}, in, f32({2, 3, 5}), invalid, {"out", "5", "4"}},
      {"order too short", Order{{0, 1}}, in, f32({2, 3}), invalid, {"order", "2", "3"}},
      {"order twice", Order{{0, 1, 1}}, in, f32({2, 3, 3}), invalid, {"order", "1"}},
      {"order out of range", Order{{0, 1, 3}}, in, f32({2, 3, 4}), invalid, {"order", "3"}},
      {"permuted output size", Order{{2, 0, 1}}, in, f32({4, 3, 2}), invalid, {"out", "3", "2"}},
      {"strides missing", sum_over({0}), strided({2, 3}, {3}), f32({3}), invalid, {"in", "2", "1"}},
      {"negative size", sum_over({0}), strided({-2, 3}, {3, 1}), f32({3}), invalid, {"in", "-2"}},
      {"negative output size", sum_over({0}), in, strided({3, -4}, {4, 1}), invalid, {"out", "-4"}},
      {"negative ddof",
       ReduceSpec{.op = ReduceOp::var, .axes = {0}, .ddof = -1},
       in,
       f32({3, 4}),
       invalid,
       {"ddof", "-1"}},
      {"alignment of 3", sum_over({0}), claiming(in, 3), f32({3, 4}), invalid, {"in", "3"}},
      {"negative alignment", sum_over({0}), in, claiming(f32({3, 4}), -8), invalid, {"out", "-8"}},
      {"negative block_limit", sum_over({0}), in, f32({3, 4}), invalid, {"block_limit", "-1"}, blocks_of(-1)},
      {"unknown strategy",
       sum_over({0}),
       in,
       f32({3, 4}),
       invalid,
       {"strategy", "rows_in_blocks"},
       forced("rows_in_blocks")},
  };
}

std::vector<Refusal> type_refusals() {
  const ViewDesc in = f32({2, 3}), out = f32({3});
  const auto reduce = [](ReduceOp op) { return ReduceSpec{.op = op, .axes = {0}}; };
  const double infinity = std::numeric_limits<double>::infinity();
  return {
      {"no type", sum_over({0}), dense(DType::best, {2, 3}), out, Code::invalid_argument, {"in"}},
      {"unknown type", sum_over({0}), in, dense(static_cast<DType>(99), {3}), Code::invalid_argument, {"out"}},
      {"unknown op", reduce(static_cast<ReduceOp>(99)), in, out, Code::invalid_argument, {"op"}},
      {"unknown kind",
       SoftmaxSpec{.axes = {0}, .kind = static_cast<SoftmaxKind>(9)},
       in,
       in,
       Code::invalid_argument,
       {"kind"}},
      {"unknown accumulator",
       ReduceSpec{.op = ReduceOp::sum, .axes = {0}, .accumulate = static_cast<DType>(77)},
       in,
       out,
       Code::invalid_argument,
       {"accumulate"}},
      {"float sum as integers", sum_over({0}), in, dense(DType::i32, {3}), Code::unsupported, {"sum", "f32", "i32"}},
      {"any as f32", reduce(ReduceOp::any), in, out, Code::unsupported, {"any", "f32"}},
      {"argmax as f32", reduce(ReduceOp::argmax), in, out, Code::unsupported, {"argmax", "f32"}},
      {"mean as i64", reduce(ReduceOp::mean), in, dense(DType::i64, {3}), Code::unsupported, {"mean", "i64"}},
      {"logsumexp of i32",
       reduce(ReduceOp::logsumexp),
       dense(DType::i32, {2, 3}),
       out,
       Code::unsupported,
       {"logsumexp", "i32"}},
      {"softmax of u8",
       SoftmaxSpec{.axes = {0}},
       dense(DType::u8, {2}),
       f32({2}),
       Code::unsupported,
       {"softmax", "u8"}},
      {"softmax into i32", SoftmaxSpec{.axes = {0}}, f32({2}), dense(DType::i32, {2}), Code::unsupported, {"i32"}},
      {"permute converts", Order{{1, 0}}, in, dense(DType::f64, {3, 2}), Code::unsupported, {"f32", "f64"}},
      {"accumulate in i32",
       ReduceSpec{.op = ReduceOp::sum, .axes = {0}, .accumulate = DType::i32},
       in,
       out,
       Code::unsupported,
       {"sum", "f32", "i32"}},
      {"compensated max",
       ReduceSpec{.op = ReduceOp::max, .axes = {0}, .compensated = true},
       in,
       out,
       Code::unsupported,
       {"compensated", "max"}},
      {"infinite scale", SoftmaxSpec{.axes = {0}, .scale = infinity}, in, in, Code::invalid_argument, {"scale", "inf"}},
      {"alpha is NaN",
       SoftmaxSpec{.axes = {0}, .alpha = infinity - infinity},
       in,
       in,
       Code::invalid_argument,
       {"alpha", "nan"}},
      {"max of nothing", max_over({0}), f32({0, 3}), out, Code::empty_reduction, {"max", "0"}},
      {"argmin of nothing",
       reduce(ReduceOp::argmin),
       f32({0, 3}),
       dense(DType::i64, {3}),
       Code::empty_reduction,
       {"argmin"}},
  };
}

std::vector<Refusal> size_refusals() {
  const Code overflow = Code::overflow;
  return {
      {"elements", sum_over(AxisSet::all()), strided({kHuge, 4}, {0, 0}), f32({}), overflow, {"in"}},
      {"bytes", sum_over(AxisSet::all()), strided({kHuge}, {1}), f32({}), overflow, {"in"}},
      {"reach", sum_over(AxisSet::all()), strided({3, 2}, {kHuge, 1}), f32({}), overflow, {"in"}},
      {"negative reach", sum_over(AxisSet::all()), strided({3}, {-kHuge}), f32({}), overflow, {"in"}},
      {"stride of -2^63",
       sum_over(AxisSet::all()),
       strided({2}, {std::numeric_limits<Index>::min()}),
       f32({}),
       overflow,
       {"in"}},
      {"sum of reaches",
       sum_over(AxisSet::all()),
       strided({2, 2}, {kHuge / 4, kHuge / 4}, DType::f64),
       f32({}),
       overflow,
       {"in"}},
      {"output", SoftmaxSpec{.axes = {0}}, strided({3}, {1}), strided({3}, {kHuge}), overflow, {"out"}},
      {"beside an empty axis", sum_over({0}), f32({0, kHuge, kHuge}), f32({kHuge, kHuge}), overflow, {"out"}},
      {"stride 0 output",
       SoftmaxSpec{.axes = {0}},
       f32({3, 4}),
       strided({3, 4}, {0, 1}),
       Code::overlap,
       {"out", "0", "3"}},
      {"window output", SoftmaxSpec{.axes = {0}}, f32({3, 4}), strided({3, 4}, {1, 1}), Code::overlap, {"out"}},
      {"crossing output", sum_over({2}), f32({3, 4, 2}), strided({3, 4}, {3, 2}), Code::overlap, {"out"}},
      {"negative window", sum_over({2}), f32({3, 4, 2}), strided({3, 4}, {-2, 2}), Code::overlap, {"out"}},
  };
}

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, have_a_code_and_a_sentence) {
  const Refusal& refusal = GetParam();
  const auto plan = plan_for(refusal.request, refusal.in, refusal.out, refusal.options);
  ASSERT_FALSE(plan.has_value());
  expect_sentence(plan.error(), refusal.code, refusal.words);
}

// The free functions refuse in the same words, and write nothing.
TEST_P(Refusals, write_nothing) {
  const Refusal& refusal = GetParam();
  if (!(refusal.options == PlanOptions{})) return;
  Array memory(dense(DType::f64, {4096}));
  Array source(dense(DType::f64, {4096}));
  fill_with(source, 1);
  const ConstTensorView in{source.data(), refusal.in};
  const TensorView out{.data = memory.data(), .desc = refusal.out, .device = {}};
  Status status;
  if (const auto* spec = std::get_if<ReduceSpec>(&refusal.request)) status = reduce(in, out, *spec);
  if (const auto* spec = std::get_if<SoftmaxSpec>(&refusal.request)) status = softmax(in, out, *spec);
  if (const auto* order = std::get_if<Order>(&refusal.request)) status = permute(in, out, *order);
  expect_sentence(status, refusal.code, refusal.words);
  EXPECT_TRUE(memory.untouched());
}

std::string refusal_name(const ::testing::TestParamInfo<Refusal>& entry) {
  std::string text;
  for (const char c : entry.param.what) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(shapes, Refusals, ::testing::ValuesIn(shape_refusals()), refusal_name);
INSTANTIATE_TEST_SUITE_P(types, Refusals, ::testing::ValuesIn(type_refusals()), refusal_name);
INSTANTIATE_TEST_SUITE_P(sizes, Refusals, ::testing::ValuesIn(size_refusals()), refusal_name);

TEST(limits, sizes_up_to_2_to_the_62_plan_without_overflow) {
  for (int bits = 20; bits <= 60; ++bits) {
    const Index n = Index{1} << bits;
    const ViewDesc in = dense(DType::u8, {n, 2});
    for (const AxisSet& axes : {AxisSet{0}, AxisSet{1}, AxisSet::all()}) {
      const ReduceSpec spec{.op = ReduceOp::max, .axes = axes};
      const auto plan = ReducePlan::reduce(in, dense(DType::u8, output_sizes(in.sizes, axes)), spec);
      if (!plan) continue;  // a sentence, not a crash
      for (const Step& step : plan->steps()) EXPECT_GT(step.launch.grid[0] * step.launch.block, 0);
    }
  }
}

}  // namespace
}  // namespace ndfold::test
