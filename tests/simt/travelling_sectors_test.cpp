// Columns that travel in panels that overlap: every end of a row and of the tensor, turn after turn, rows that begin in
// all places of a sector, and what keeps panels from overlapping.
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

// Whether panels overlapped.
bool travels_by_sectors(const Case& item, std::uint64_t seed, int multiprocessors = 2) {
  SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(item.sizes) << ' ' << name(item.type) << ' '
                                    << item.in_shift << ' ' << item.out_shift << ' ' << seed);
  Array in(dense(item.type, item.sizes), item.in_shift), out(dense(item.type, item.sizes), item.out_shift);
  fill(in, Values::mixed);
  const SoftmaxSpec spec{.axes = item.axes,
                         .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                         .scale = seed == 1 ? 0.75 : -1.5,
                         .alpha = seed == 1 ? 1 : 0.5};
  const PlanOptions plan{.device = without_cache(multiprocessors), .strategy = "columns_in_grid"};
  const Judged run = simulate(spec, in, out, plan, {.seed = seed, .slowness = seed == 1 ? 1 : 50});
  EXPECT_EQ(run.failure, "");
  return run.sectors;
}

TEST(travelling_sectors, every_turn) {
  for (const Case& item : {Case{{1501, 141}}, Case{{1501, 700}}, Case{{703, 141}}, Case{{1203, 516}},
                           Case{{3, 701, 201}, {1}}, Case{{901, 4, 129}, {0}}})
    for (const std::uint64_t seed : {1, 2})
      for (const int multiprocessors : {2, 5}) EXPECT_TRUE(travels_by_sectors(item, seed, multiprocessors));
}

TEST(travelling_sectors, every_end_of_a_row) {
  for (Index columns = 193; columns <= 201; ++columns)
    EXPECT_EQ(travels_by_sectors({{1101, columns}}, 1), columns % 8 != 0);
}

TEST(travelling_sectors, buffers_that_begin_anywhere) {
  for (Index shift = 0; shift < 9; ++shift)
    EXPECT_TRUE(travels_by_sectors({{1101, 205}, {0}, DType::f32, shift, shift}, 1));
  EXPECT_TRUE(travels_by_sectors({{1101, 205}, {0}, DType::f32, 1, 5}, 1));
}

TEST(travelling_sectors, not_everywhere) {
  EXPECT_FALSE(travels_by_sectors({{1501, 144}}, 1)) << "rows are whole sectors";
  EXPECT_FALSE(travels_by_sectors({{1501, 61}}, 1)) << "columns are few";
  EXPECT_FALSE(travels_by_sectors({{1501, 401}, {0}, DType::bf16}, 1)) << "of 16 bits";
  EXPECT_FALSE(travels_by_sectors({{1501, 141}, {0}, DType::f32, 1, 0}, 1)) << "results begin elsewhere in a pack";
  EXPECT_FALSE(travels_by_sectors({{27, 3, 41, 137}, {0, 2}}, 1)) << "rows along two axes";
}

// A block would read what another one has written.
TEST(travelling_sectors, not_in_place) {
  Array data(dense(DType::f32, {1501, 141}));
  fill(data, Values::mixed);
  const PlanOptions plan{.device = without_cache(2), .strategy = "columns_in_grid"};
  const Judged run = simulate(SoftmaxSpec{.axes = {0}}, data, data, plan);
  EXPECT_EQ(run.failure, "");
  EXPECT_FALSE(run.sectors);
}

TEST(travelling_sectors, what_is_not_finite) {
  constexpr Index kRows = 1101, kColumns = 141;
  for (const double scale : {1.0, -2.0, 0.0}) {
    SCOPED_TRACE(scale);
    Array in(dense(DType::f32, {kRows, kColumns})), out(dense(DType::f32, {kRows, kColumns}));
    fill(in, Values::mixed);
    set_not_finite(in, kRows, kColumns, {47, 48, 50});
    const PlanOptions plan{.device = without_cache(2), .strategy = "columns_in_grid"};
    const Judged run = simulate(SoftmaxSpec{.axes = {0}, .scale = scale}, in, out, plan);
    EXPECT_EQ(run.failure, "");
    EXPECT_TRUE(run.sectors);
  }
}

}  // namespace
}  // namespace simt
