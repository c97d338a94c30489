// The plan's own face: the index table, the steps of the literal chain, and what explain() says.
#include "tests/support/compare.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ndfold::test {
namespace {

using Indices = std::vector<Index>;

ReducePlan sum_plan(const ViewDesc& in, const AxisSet& axes, const PlanOptions& options = {}) {
  return ReducePlan::reduce(in, dense(in.dtype, output_sizes(in.sizes, axes)), {.op = ReduceOp::sum, .axes = axes},
                            options)
      .value();
}

const ViewDesc kSmall = dense(DType::f32, {2, 3, 4});

TEST(gather_index, of_the_outer_and_the_inner_axis) {
  EXPECT_EQ(sum_plan(kSmall, {0, 2}).gather_index(),
            (Indices{0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23}));
}

TEST(gather_index, of_the_middle_axis) {
  EXPECT_EQ(sum_plan(kSmall, {1}).gather_index(),
            (Indices{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23}));
}

TEST(gather_index, of_any_view_is_what_the_reference_visits) {
  for (const Layout layout : kLayouts)
    for (const AxisSet& axes : all_axis_sets(4)) {
      const ViewDesc view = lay_out(DType::f32, {3, 1, 4, 2}, layout, 7);
      const auto flags = reduced_axes(4, axes);
      Indices expected;
      for (const Index base : offsets_of(view, flags, false))
        for (const Index inner : offsets_of(view, flags, true)) expected.push_back(base + inner);
      EXPECT_EQ(sum_plan(view, axes).gather_index(), expected) << name(layout);
      EXPECT_EQ(ReducePlan::softmax(view, dense(DType::f32, view.sizes), {.axes = axes})->gather_index(), expected);
    }
}

TEST(gather_index, of_scalars_nothing_and_permutations) {
  EXPECT_EQ(sum_plan(dense(DType::f32, {}), AxisSet::all()).gather_index(), Indices{0});
  EXPECT_EQ(sum_plan(dense(DType::f32, {3, 0}), {1}).gather_index(), Indices{});
  const auto transpose = ReducePlan::permute(dense(DType::f32, {2, 3}), dense(DType::f32, {3, 2}), {{1, 0}});
  ASSERT_TRUE(transpose);
  EXPECT_EQ(transpose->gather_index(), (Indices{0, 3, 1, 4, 2, 5}));
}

// With blocks of 4: 8 elements an output make 2 blocks for each of 3 outputs, whose 2 partial results make one.
TEST(steps, of_a_small_block_limit) {
  const PlanOptions options{.device = DeviceFacts::host(), .strategy = "permute_then_rows", .block_limit = 4};
  const auto plan = ReducePlan::reduce(kSmall, dense(DType::f32, {3}), {.op = ReduceOp::max, .axes = {0, 2}}, options);
  ASSERT_TRUE(plan) << plan.error().message();
  std::vector<Step> folds;
  for (const Step& step : plan->steps())
    if (step.kernel.body == Body::rows || step.kernel.body == Body::columns) folds.push_back(step);
  ASSERT_EQ(folds.size(), 2u) << plan->explain();
  EXPECT_EQ(folds[0].launch.grid, (std::array<Index, 3>{2, 3, 1}));
  EXPECT_EQ(folds[0].launch.block, 4);
  EXPECT_EQ(folds[1].launch.grid, (std::array<Index, 3>{1, 3, 1}));
  EXPECT_EQ(folds[1].kernel.source, SourceKind::states);

  Array in(kSmall), out(dense(DType::f32, {3}));
  fill(in, Values::mixed);
  expect_right(ReduceSpec{.op = ReduceOp::max, .axes = {0, 2}}, in, out, {.options = options});
}

TEST(steps, find_the_maxima_of_2_times_50000_elements) {
  for (const Index limit : {0, 4, 1024}) {
    const PlanOptions options{.device = DeviceFacts::host(), .strategy = "permute_then_rows", .block_limit = limit};
    Array in(dense(DType::f32, {2, 50000})), out(dense(DType::f32, {2}));
    fill_with(in, 0);
    in.set(100, 2), in.set(32000, 3), in.set(78000, 4);
    expect_right(ReduceSpec{.op = ReduceOp::max, .axes = {1}}, in, out, {.options = options});
    EXPECT_EQ(out.get(0), 3);
    EXPECT_EQ(out.get(1), 4);
  }
}

TEST(plan, is_cheap_to_copy_and_equal_after_it) {
  const ReducePlan plan = sum_plan(kSmall, {1});
  const ReducePlan copy = plan;
  EXPECT_EQ(copy.steps().data(), plan.steps().data());
  EXPECT_EQ(copy.strategy(), plan.strategy());
  const ReducePlan again = sum_plan(kSmall, {1});
  EXPECT_TRUE(std::equal(plan.steps().begin(), plan.steps().end(), again.steps().begin(), again.steps().end()));
}

TEST(explain, says_what_why_and_why_not_the_others) {
  const ViewDesc view = dense(DType::f32, {64, 512, 4096});
  const auto plan = ReducePlan::softmax(view, view, {.axes = {1}}, {.device = DeviceFacts::h200(), .strategy = ""});
  ASSERT_TRUE(plan) << plan.error().message();
  const std::string text = plan->explain();
  for (const char* word : {"softmax", "f32", "64", "512", "4096", "canonical", "chosen", "refused", "dearer",
                           "softmax_chain", "rows_in_block", "columns_in_block"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in\n" << text;
  EXPECT_NE(text.find(std::string(plan->strategy())), std::string::npos);
}

TEST(explain, names_a_strategy_that_was_forced) {
  const std::string text =
      sum_plan(kSmall, {1}, {.device = DeviceFacts::host(), .strategy = "permute_then_rows"}).explain();
  EXPECT_NE(text.find("permute_then_rows"), std::string::npos) << text;
}

TEST(explain, json_parses_and_names_the_strategy) {
  for (const auto& device : {DeviceFacts::host(), DeviceFacts::h200(), DeviceFacts::a100()})
    for (const AxisSet& axes : {AxisSet{0, 2}, AxisSet{1}, AxisSet{}, AxisSet::all()}) {
      const ReducePlan plan = sum_plan(dense(DType::f32, {20, 300, 40}), axes, {.device = device, .strategy = ""});
      const auto json = nlohmann::json::parse(plan.explain_json(), nullptr, false);
      ASSERT_FALSE(json.is_discarded()) << plan.explain_json();
      EXPECT_TRUE(json.is_object());
      EXPECT_NE(json.dump().find(std::string(plan.strategy())), std::string::npos);
    }
}

TEST(plan, for_a_device_that_is_not_here_refuses_to_run) {
  const ViewDesc view = dense(DType::f32, {64, 512});
  const auto plan = ReducePlan::softmax(view, view, {.axes = {1}}, {.device = DeviceFacts::h200(), .strategy = ""});
  ASSERT_TRUE(plan) << plan.error().message();
  Array in(view), out(view);
  fill(in, Values::mixed);
  Scratch scratch(plan->workspace_bytes());
  const Status status = plan->run(in.data(), out.data(), scratch.get());
  EXPECT_EQ(status.code(), Code::unsupported) << status.message();
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace ndfold::test
