// What is reduced along several axes, one after the other; and columns that lie beside others in the input alone.
#include "tests/simt/forced.h"

namespace simt {
namespace {

void reduce(ReduceOp op, const ViewDesc& view, const AxisSet& axes, const char* strategy, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << strategy << ' ' << name(op) << ' ' << name(view.dtype) << ' '
                                    << ::testing::PrintToString(view.sizes) << ' '
                                    << ::testing::PrintToString(view.strides));
  Array in(view, 1), out(lay_out(default_output(op, view.dtype), output_sizes(view.sizes, axes), Layout::row_major), 3);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
  run_forced(ReduceSpec{.op = op, .axes = axes}, in, out, small(DeviceFacts::h200(), 2), strategy, tally);
}

// The last two axes change places.
ViewDesc turned(DType type, Sizes sizes) {
  const std::size_t last = sizes.size() - 1;
  std::swap(sizes[last], sizes[last - 1]);
  ViewDesc view = dense(type, std::move(sizes));
  std::swap(view.sizes[last], view.sizes[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
  return view;
}

// Columns, rows, and of three axes; indices are those of the whole, and of equal elements the first one's.
TEST(nearest_first, of_any_fold_and_layout) {
  Tally tally;
  for (const auto& [sizes, axes] : {std::pair<Sizes, AxisSet>{{5, 3, 70, 12}, {0, 2}},
                                    {{5, 7, 130}, {0, 2}},
                                    {{3, 4, 2, 90, 5}, {0, 1, 3}},
                                    {{2, 3, 4, 5, 70}, {0, 2, 4}}})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::var, ReduceOp::logsumexp})
      for (const Layout layout : {Layout::row_major, Layout::reversed, Layout::broadcast})
        reduce(op, lay_out(DType::f32, sizes, layout, 5), axes, "nearest_first", tally);
  EXPECT_EQ(tally.strategies["nearest_first"], 36);
}

// Where the nearest axis is reduced in parts, their states are merged before those along the others are.
TEST(nearest_first, of_parts) {
  Tally tally;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::var})
    reduce(op, dense(DType::f16, {3, 2, 40000}), {0, 2}, "nearest_first", tally);
  EXPECT_EQ(tally.strategies["nearest_first"], 3);
}

TEST(wide_columns, whose_results_are_turned) {
  Tally tally;
  for (const Sizes& sizes :
       {Sizes{40, 6, 22}, Sizes{300, 5, 3}, Sizes{3, 50, 7, 9}, Sizes{9, 52, 2, 3}, Sizes{2, 60, 3, 4, 5}})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::var})
      for (const DType type : {DType::f32, DType::f16})
        reduce(op, turned(type, sizes), sizes.size() == 3 ? AxisSet{0} : AxisSet{1}, "wide_columns", tally);
  EXPECT_EQ(tally.strategies["wide_columns"], 30);
}

}  // namespace
}  // namespace simt
