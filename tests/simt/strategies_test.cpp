// Every strategy by name on every case that it can take, with the plans of an H200 and an A100, through the simulator.
#include "tests/simt/forced.h"

namespace simt {
namespace {

struct Shape {
  Sizes sizes;
  AxisSet axes;
};

const Shape kShapes[] = {{{5, 300}, {1}},        {{300, 19}, {0}},      {{3, 40, 5}, {1}}, {{4, 6, 5, 8}, {0, 2}},
                         {{4, 6, 5, 8}, {1, 3}}, {{2, 4500}, {1}},      {{3000, 2}, {0}},  {{5, 4}, {}},
                         {{6, 50}, {0, 1}},      {{2, 3, 4}, {0, 2}},   {{0, 4}, {1}},     {{3, 0}, {1}},
                         {{1, 1}, {0, 1}},       {{2, 9, 310}, {0, 2}}, {{33, 3}, {1}},    {{2, 90, 9}, {1}}};

struct Setting {
  Layout layout;
  DeviceFacts device;
};

const DeviceFacts kH200 = small(DeviceFacts::h200(), 3), kA100 = small(DeviceFacts::a100(), 2);
const Setting kSettings[] = {{Layout::row_major, kH200}, {Layout::row_major, kA100}, {Layout::permuted, kA100},
                             {Layout::stepped, kH200},   {Layout::reversed, kH200},  {Layout::broadcast, kA100}};

std::string text(const Shape& shape, Layout layout, const DeviceFacts& device, const std::string& strategy) {
  return strategy + " of " + ::testing::PrintToString(shape.sizes) + " axes " +
         ::testing::PrintToString(shape.axes.list()) + ' ' + std::string(name(layout)) + " on " + device.name;
}

void expect_all(const Tally& tally, std::initializer_list<const char*> needed) {
  for (const char* strategy : needed) EXPECT_TRUE(tally.strategies.contains(strategy)) << strategy;
  for (const auto& [strategy, count] : tally.strategies) ::testing::Test::RecordProperty(strategy, count);
  ::testing::Test::RecordProperty("worst_of_bound", std::to_string(static_cast<double>(tally.worst)));
}

TEST(strategies, softmax_by_each) {
  Tally tally;
  for (const Shape& shape : kShapes)
    for (const auto& [layout, device] : kSettings)
      for (const std::string strategy : kGpuStrategies) {
        SCOPED_TRACE(text(shape, layout, device, strategy));
        const SoftmaxKind kind = layout == Layout::reversed ? SoftmaxKind::log_softmax : SoftmaxKind::softmax;
        Array in(lay_out(DType::f32, shape.sizes, layout, 6), 1);
        Array out(lay_out(DType::f32, shape.sizes, layout == Layout::stepped ? layout : Layout::row_major), 3);
        fill(in, Values::mixed);
        run_forced(SoftmaxSpec{.axes = shape.axes, .kind = kind, .scale = 0.7, .alpha = 1.3}, in, out, device, strategy,
                   tally);
      }
  expect_all(tally, {"nothing", "rows_in_lanes", "rows_in_block", "rows_in_cluster", "rows_in_grid",
                     "columns_in_bundles", "columns_in_lanes", "columns_in_block", "columns_in_cluster",
                     "columns_in_grid", "split", "columns_first", "permute_then_rows", "softmax_chain"});
}

// Indices and states of three numbers in two layouts will do: where elements lie is the same for all folds.
void reduce_by_each(std::initializer_list<ReduceOp> ops, std::initializer_list<Layout> layouts) {
  Tally tally;
  for (const Shape& shape : kShapes)
    for (const auto& [layout, device] : kSettings) {
      if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) continue;
      for (const ReduceOp op : ops)
        for (const std::string strategy : kGpuStrategies) {
          if (facts(op).needs_elements && shape.sizes == Sizes{3, 0}) continue;
          SCOPED_TRACE(std::string(name(op)) + ' ' + text(shape, layout, device, strategy));
          Array in(lay_out(DType::f32, shape.sizes, layout, 6), 2);
          Array out(dense(default_output(op, DType::f32), output_sizes(shape.sizes, shape.axes)), 1);
          fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
          run_forced(ReduceSpec{.op = op, .axes = shape.axes}, in, out, device, strategy, tally);
        }
    }
  expect_all(tally, {"nothing", "copy", "rows_in_lanes", "rows_in_block", "rows_in_cluster", "columns_in_bundles",
                     "columns_in_lanes", "columns_in_block", "columns_in_cluster", "split", "columns_first",
                     "permute_then_rows"});
}

TEST(strategies, sum_by_each) {
  reduce_by_each({ReduceOp::sum},
                 {Layout::row_major, Layout::permuted, Layout::stepped, Layout::reversed, Layout::broadcast});
}

TEST(strategies, argmax_and_variance_by_each) {
  reduce_by_each({ReduceOp::argmax, ReduceOp::var}, {Layout::row_major, Layout::reversed});
}

}  // namespace
}  // namespace simt
