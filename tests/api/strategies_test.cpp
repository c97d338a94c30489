// Every strategy of this host, forced by name, gives the right answer, and each of them is really taken.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <set>

namespace ndfold::test {
namespace {

constexpr const char* kStrategies[] = {
    "rows_in_block", "columns_in_block",  "split",         "columns_first", "map_across",
    "wide_columns",  "permute_then_rows", "softmax_chain", "copy",          "nothing"};

// Runs every strategy that can; one that cannot must say why.
void force_all(const AnyRequest& request, Array& in, const ViewDesc& out_desc, std::set<std::string>& taken) {
  for (const std::string strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    Array out(out_desc, 3);
    const How how{.options = {.device = DeviceFacts::host(), .strategy = strategy}};
    if (const auto plan = plan_for(request, in.desc(), out.desc(), how.options); !plan) {
      EXPECT_EQ(plan.error().code(), Code::unsupported) << plan.error().message();
      EXPECT_NE(plan.error().message().find(strategy), std::string::npos) << plan.error().message();
      continue;
    }
    const Outcome outcome = expect_right(request, in, out, how);
    EXPECT_EQ(outcome.strategy, strategy);
    taken.insert(strategy);
  }
}

struct Shape {
  Sizes sizes;
  AxisSet axes;
};

const Shape kShapes[] = {{{7, 300}, {1}},        {{300, 7}, {0}},        {{3, 40, 5}, {1}},   {{4, 6, 5, 8}, {0, 2}},
                         {{4, 6, 5, 8}, {1, 3}}, {{2, 70000}, {1}},      {{70000, 2}, {0}},   {{5, 4}, {}},
                         {{6, 50}, {0, 1}},      {{2, 3, 4}, {0, 2}},    {{0, 4}, {1}},       {{3, 0}, {1}},
                         {{1, 1}, {0, 1}},       {{2, 9, 1100}, {0, 2}}, {{9, 30, 7}, {0, 2}}};

TEST(strategies, softmax_by_each) {
  std::set<std::string> taken;
  for (const Shape& shape : kShapes)
    for (const Layout layout :
         {Layout::row_major, Layout::column_major, Layout::stepped, Layout::reversed, Layout::broadcast})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
        SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(shape.sizes) << " axes "
                                          << ::testing::PrintToString(shape.axes.list()) << ' ' << name(layout));
        Array in(lay_out(DType::f32, shape.sizes, layout, 6));
        fill(in, Values::mixed);
        const SoftmaxSpec spec{.axes = shape.axes, .kind = kind, .scale = 0.7, .alpha = 1.3};
        force_all(spec, in, lay_out(DType::f32, shape.sizes, layout == Layout::stepped ? layout : Layout::row_major),
                  taken);
      }
  for (const char* needed :
       {"rows_in_block", "columns_in_block", "map_across", "softmax_chain", "permute_then_rows", "nothing"})
    EXPECT_TRUE(taken.contains(needed)) << needed;
}

TEST(strategies, softmax_in_place_by_each) {
  for (const Shape& shape : kShapes)
    for (const std::string strategy : kStrategies) {
      SCOPED_TRACE(::testing::Message() << strategy << ' ' << ::testing::PrintToString(shape.sizes));
      Array array(lay_out(DType::f32, shape.sizes, Layout::permuted, 6));
      fill(array, Values::mixed);
      const How how{.options = {.device = DeviceFacts::host(), .strategy = strategy}};
      const SoftmaxSpec spec{.axes = shape.axes};
      if (plan_for(spec, array.desc(), array.desc(), how.options)) expect_right(spec, array, array, how);
    }
}

TEST(strategies, reductions_by_each) {
  std::set<std::string> taken;
  for (const Shape& shape : kShapes)
    for (const Layout layout :
         {Layout::row_major, Layout::permuted, Layout::stepped, Layout::reversed, Layout::broadcast})
      for (int op = 0; op < kReduceOpCount; ++op) {
        const ReduceSpec spec{.op = static_cast<ReduceOp>(op), .axes = shape.axes};
        SCOPED_TRACE(::testing::Message() << name(spec.op) << ' ' << ::testing::PrintToString(shape.sizes) << " axes "
                                          << ::testing::PrintToString(shape.axes.list()) << ' ' << name(layout));
        if (facts(spec.op).needs_elements && shape.sizes == Sizes{3, 0}) continue;
        Array in(lay_out(DType::f32, shape.sizes, layout, 6));
        fill(in, spec.op == ReduceOp::prod ? Values::factors : Values::mixed);
        force_all(spec, in, dense(default_output(spec.op, DType::f32), output_sizes(shape.sizes, shape.axes)), taken);
      }
  for (const char* needed :
       {"rows_in_block", "columns_in_block", "split", "columns_first", "permute_then_rows", "copy", "nothing"})
    EXPECT_TRUE(taken.contains(needed)) << needed;
}

// A view of the first `columns` of lines of `pitch` elements.
ViewDesc lines_with_gaps(DType dtype, Sizes sizes, Index pitch) {
  const Index columns = sizes.back();
  sizes.back() = pitch;
  ViewDesc view = dense(dtype, std::move(sizes));
  view.sizes.back() = columns;
  return view;
}

// Gaps hold NaN, and nothing beyond the last element may be read.
TEST(strategies, wide_columns_of_gaps) {
  struct Gaps {
    Sizes sizes;
    Index pitch;
    AxisSet axes;
  };
  for (const Gaps& item : {Gaps{{9000, 3}, 4, {0}}, Gaps{{7, 1500, 3}, 4, {1}}, Gaps{{1500, 7, 3}, 4, {0}},
                           Gaps{{70, 11, 90, 5}, 8, {0, 2}}, Gaps{{2000, 31}, 33, {0}}})
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8})
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::mean, ReduceOp::var, ReduceOp::logsumexp,
                                ReduceOp::l2, ReduceOp::any}) {
        if (!is_floating(dtype) && op == ReduceOp::logsumexp) continue;
        SCOPED_TRACE(::testing::Message()
                     << name(op) << ' ' << name(dtype) << ' ' << ::testing::PrintToString(item.sizes));
        Array in(lines_with_gaps(dtype, item.sizes, item.pitch), 3);
        fill(in, Values::mixed);
        Array out(dense(default_output(op, dtype), output_sizes(item.sizes, item.axes)), 1);
        EXPECT_EQ(expect_right(ReduceSpec{.op = op, .axes = item.axes}, in, out).strategy, "wide_columns");
      }
}

// Kept axes that are neighbours, and whose results lie apart.
TEST(strategies, wide_columns_of_turned_results) {
  for (const Sizes& stored : {Sizes{900, 24, 2}, Sizes{5, 70, 5, 7}, Sizes{430, 4, 3}})
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32, DType::u8})
      for (int op = 0; op < kReduceOpCount; ++op) {
        const ReduceSpec spec{.op = static_cast<ReduceOp>(op), .axes = {stored.size() == 4 ? 1 : 0}};
        if (!is_floating(dtype) && spec.op == ReduceOp::logsumexp) continue;
        SCOPED_TRACE(::testing::Message()
                     << name(spec.op) << ' ' << name(dtype) << ' ' << ::testing::PrintToString(stored));
        ViewDesc view = dense(dtype, stored);
        const std::size_t last = stored.size() - 1;
        std::swap(view.sizes[last], view.sizes[last - 1]);
        std::swap(view.strides[last], view.strides[last - 1]);
        Array in(view, 3);
        fill(in, spec.op == ReduceOp::prod ? Values::factors : Values::mixed);
        Array out(dense(default_output(spec.op, dtype), output_sizes(view.sizes, spec.axes)), 1);
        EXPECT_EQ(expect_right(spec, in, out).strategy, "wide_columns");
      }
}

TEST(strategies, map_across_of_views) {
  struct Turned {
    Sizes stored;
    AxisSet axes;
  };
  for (const Turned& item : {Turned{{5, 40, 33}, {1, 2}}, Turned{{20, 4100}, {0}}, Turned{{4100, 20}, {1}},
                             Turned{{3, 5000, 7}, {2}}, Turned{{2, 7, 5000}, {1}}})
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
        SCOPED_TRACE(::testing::Message() << name(dtype) << ' ' << ::testing::PrintToString(item.stored));
        ViewDesc view = dense(dtype, item.stored);
        const std::size_t last = item.stored.size() - 1;
        std::swap(view.sizes[last], view.sizes[last - 1]);
        std::swap(view.strides[last], view.strides[last - 1]);
        Array in(view, 5), out(dense(dtype, view.sizes), 3);
        fill(in, Values::mixed);
        const SoftmaxSpec spec{.axes = item.axes, .kind = kind, .scale = 0.7, .alpha = 1.3};
        EXPECT_EQ(expect_right(spec, in, out).strategy, "map_across");
      }
}

// Small blocks make schedules of many steps: partial states are merged again and again.
TEST(strategies, block_limits) {
  for (const Index limit : {1, 2, 4, 64, 1024})
    for (const std::string strategy : kStrategies)
      for (const ReduceOp op : {ReduceOp::max, ReduceOp::sum, ReduceOp::argmin, ReduceOp::var, ReduceOp::logsumexp}) {
        SCOPED_TRACE(::testing::Message() << strategy << ' ' << name(op) << " limit " << limit);
        Array in(lay_out(DType::f32, {5, 11, 13}, Layout::permuted, 2));
        fill(in, Values::mixed);
        const How how{.options = {.device = DeviceFacts::host(), .strategy = strategy, .block_limit = limit}};
        const ReduceSpec spec{.op = op, .axes = {0, 2}};
        Array out(dense(default_output(op, DType::f32), {11}));
        if (limit > 1 && plan_for(spec, in.desc(), out.desc(), how.options)) expect_right(spec, in, out, how);
        if (limit == 1) (void)plan_for(spec, in.desc(), out.desc(), how.options);  // must end, whatever it says
        const SoftmaxSpec softmax{.axes = {0, 2}};
        Array soft(dense(DType::f32, in.desc().sizes));
        if (limit > 1 && plan_for(softmax, in.desc(), soft.desc(), how.options)) expect_right(softmax, in, soft, how);
      }
}

TEST(strategies, permutations) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::size_t rank = seed % 7;
    Sizes sizes, permuted;
    Order order;
    for (std::size_t i = 0; i < rank; ++i) sizes.push_back(1 + static_cast<Index>(hash(seed * 8 + i) % 6));
    for (const std::size_t axis : random_order(rank, seed)) {
      order.axes.push_back(static_cast<int>(axis) - (seed % 3 == 0 ? static_cast<int>(rank) : 0));
      permuted.push_back(sizes[axis]);
    }
    for (const DType type : {DType::f32, DType::u8, DType::f64, DType::bf16, DType::boolean}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ' ' << name(type));
      Array in(lay_out(type, sizes, kLayouts[seed % 9], seed));
      fill(in, type == DType::boolean ? Values::ties : Values::bits, seed);
      std::set<std::string> taken;
      force_all(order, in, lay_out(type, permuted, seed % 2 == 0 ? Layout::row_major : Layout::stepped, seed), taken);
      EXPECT_FALSE(taken.empty());
    }
  }
}

}  // namespace
}  // namespace ndfold::test
