// Few columns of rows that follow one another, as one long row that travels: every column, turn after turn, lines that
// begin and end anywhere in a pack, and what no lane of a block holds together.
#include "tests/simt/forced.h"
#include "tests/simt/not_finite.h"

namespace simt {
namespace {

struct Case {
  Sizes sizes;
  AxisSet axes = {0};
  DType type = DType::f32;
  Index in_shift = 0, out_shift = 0;
};

std::string text_of(const Case& item) {
  return ::testing::PrintToString(item.sizes) + " " + std::string(name(item.type)) + " " +
         std::to_string(item.in_shift) + " " + std::to_string(item.out_shift);
}

Judged run(const Case& item, std::uint64_t seed = 1) {
  Array in(dense(item.type, item.sizes), item.in_shift), out(dense(item.type, item.sizes), item.out_shift);
  fill(in, Values::mixed);
  const SoftmaxSpec spec{.axes = item.axes,
                         .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                         .scale = seed == 1 ? 0.75 : -1.5,
                         .alpha = seed == 1 ? 1 : 0.5};
  const PlanOptions plan{.device = small(DeviceFacts::h200(), 2), .strategy = "columns_in_grid"};
  return simulate(spec, in, out, plan, {.seed = seed, .slowness = seed == 1 ? 1 : 50});
}

void expect_joined(const Case& item, std::uint64_t seed = 1) {
  SCOPED_TRACE(text_of(item));
  const Judged judged = run(item, seed);
  EXPECT_EQ(judged.failure, "");
  EXPECT_TRUE(judged.whole_packs);
}

TEST(travelling_joined, every_number_of_columns) {
  for (const Index columns : {2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 96, 127, 128})
    expect_joined({{40000 / columns, columns}, {0}, DType::bf16}, columns % 2 + 1);
  for (Index columns = 2; columns < 8; ++columns) expect_joined({{40000 / columns, columns}}, columns % 2 + 1);
  for (const Sizes& sizes : {Sizes{65536, 15}, Sizes{131072, 16}, Sizes{65537, 33}}) expect_joined({sizes});
}

TEST(travelling_joined, every_end_of_a_line) {
  for (Index rows = 6001; rows <= 6009; ++rows)
    for (const Index columns : {3, 5}) {
      const Case item{{rows, columns}};
      SCOPED_TRACE(text_of(item));
      EXPECT_EQ(run(item).failure, "");
    }
}

TEST(travelling_joined, turn_after_turn) {
  for (const Case& item : {Case{{7, 3001, 5}, {1}}, Case{{11, 2001, 8}, {1}}, Case{{5, 3003, 9}, {1}, DType::f16},
                           Case{{3, 4, 4001, 3}, {2}}, Case{{9, 9001, 2}, {1}, DType::bf16}, Case{{23, 2100, 7}, {1}}})
    for (const std::uint64_t seed : {1, 2}) expect_joined(item, seed);
}

TEST(travelling_joined, buffers_that_begin_anywhere) {
  for (Index shift = 1; shift < 9; ++shift)
    expect_joined({{2, 4001, 6}, {1}, shift % 2 == 0 ? DType::f32 : DType::bf16, shift, shift});
  for (const DType type : {DType::f32, DType::f16})
    for (const Index columns : {3, 7, 8}) {
      const Case item{{20000 / columns, columns}, {0}, type, 1, 2};
      SCOPED_TRACE(text_of(item));
      const Judged judged = run(item);
      EXPECT_EQ(judged.failure, "");
      EXPECT_FALSE(judged.whole_packs);
      EXPECT_TRUE(judged.cut_lines);
    }
  for (const Case& item : {Case{{40001, 6}, {0}, DType::f32, 3, 0}, Case{{70001, 3}, {0}, DType::f32, 0, 1},
                           Case{{30001, 16}, {0}, DType::bf16, 5, 0}, Case{{3, 9001, 31}, {1}, DType::bf16, 0, 7}})
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(text_of(item));
      const Judged judged = run(item, seed);
      EXPECT_EQ(judged.failure, "");
      EXPECT_TRUE(judged.cut_lines);
    }
}

// What has no place is read again.
TEST(travelling_joined, longer_than_the_rings) {
  for (const Case& item : {Case{{40001, 5}}, Case{{2, 70001, 3}, {1}}, Case{{30001, 16}, {0}, DType::bf16}})
    for (const std::uint64_t seed : {1, 2}) expect_joined(item, seed);
}

TEST(travelling_joined, in_place) {
  for (const Sizes& sizes : {Sizes{9001, 3}, Sizes{5, 3001, 4}}) {
    Array data(dense(DType::f32, sizes));
    fill(data, Values::mixed);
    const PlanOptions plan{.device = small(DeviceFacts::h200(), 2), .strategy = "columns_in_grid"};
    const int axis = static_cast<int>(sizes.size()) - 2;
    const Judged judged = simulate(SoftmaxSpec{.axes = {axis}}, data, data, plan);
    EXPECT_EQ(judged.failure, "");
    EXPECT_TRUE(judged.whole_packs);
  }
}

TEST(travelling_joined, what_is_not_finite) {
  constexpr Index kRows = 8001, kColumns = 6;
  for (const double scale : {1.0, -2.0, 0.0}) {
    SCOPED_TRACE(scale);
    Array in(dense(DType::f32, {kRows, kColumns})), out(dense(DType::f32, {kRows, kColumns}));
    fill(in, Values::mixed);
    set_not_finite(in, kRows, kColumns, {1, 2, 3});
    const PlanOptions plan{.device = small(DeviceFacts::h200(), 2), .strategy = "columns_in_grid"};
    const Judged judged = simulate(SoftmaxSpec{.axes = {0}, .scale = scale}, in, out, plan);
    EXPECT_EQ(judged.failure, "");
    EXPECT_TRUE(judged.whole_packs);
  }
}

}  // namespace
}  // namespace simt
