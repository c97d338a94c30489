// States of columns that meet at once: few columns of many rows of lanes, more states than there is room for, narrow
// panels and wide ones, in a block, in a cluster and in a grid.
#include "tests/simt/reduced.h"

namespace simt {
namespace {

TEST(column_sharers, few_columns_of_large_states) {
  Tally tally;
  for (const std::string_view strategy : {"columns_in_block", "split", "columns_in_cluster"})
    for (const Index columns : {2, 3, 5, 16, 40, 67}) {
      reduce(ReduceOp::argmax, DType::u8, {700, columns}, strategy, columns % 3, tally);
      reduce(ReduceOp::argmax, DType::f32, {301, columns}, strategy, columns % 2, tally);
      reduce(ReduceOp::var, DType::f32, {301, columns}, strategy, 0, tally);
    }
  EXPECT_EQ(tally.strategies["columns_in_block"], 18);
  EXPECT_GE(tally.strategies["split"], 12);
  EXPECT_GE(tally.strategies["columns_in_cluster"], 6);
}

TEST(column_sharers, wide_panels_of_large_states) {
  Tally tally;
  for (const Index columns : {256, 516, 1040}) {
    reduce(ReduceOp::argmax, DType::u8, {77, columns}, "columns_in_block", 0, tally);
    reduce(ReduceOp::var, DType::f32, {3, 77, columns}, "columns_in_block", 1, tally);
  }
  EXPECT_EQ(tally.strategies["columns_in_block"], 6);
}

// Blocks that share rows in parts wait for each other: their panels are as wide as one another, and still whole packs
// where the buffer begins within one.
TEST(column_sharers, panels_of_parts_are_alike) {
  constexpr Index kBase = 1 << 12, kRows = 20'000;
  for (const Index columns : {132, 264, 300}) {
    const auto plan =
        ReducePlan::reduce(dense(DType::f32, {kRows, columns}), dense(DType::f32, {columns}),
                           {.op = ReduceOp::sum, .axes = {0}}, {.device = DeviceFacts::h200(), .strategy = "split"});
    ASSERT_TRUE(plan);
    const auto none = reinterpret_cast<cuda::Kernel>(1);  // is not called
    const cuda::Bound bound =
        cuda::bind(plan->steps()[0], {.kernel = none, .threads = 256, .pack = 4, .state_bytes = sizeof(float)});
    for (const Index shift : {0, 3}) {
      const auto* const in = reinterpret_cast<const std::byte*>(kBase + shift * Index{sizeof(float)});
      const cuda::Arguments to = cuda::place(bound, {.in = in});
      EXPECT_EQ(to.phase, shift) << columns;
      EXPECT_EQ(to.panels, plan->steps()[0].launch.grid[1]) << columns;
      const Index last = columns - (to.panels - 1) * to.widest_panel;
      EXPECT_LT(to.widest_panel - last, 8 * to.panels + 4) << columns;
    }
  }
}

}  // namespace
}  // namespace simt
