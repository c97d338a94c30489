// Rows and columns that travel through rings: every lane of every part of every tile, wherever it begins, turn after
// turn.
#include "tests/simt/forced.h"

namespace simt {
namespace {

// Rows of up to 20 K floats are shared by pairs of blocks of 256 threads, longer ones by blocks of 512.
DeviceFacts two_multiprocessors() { return small(DeviceFacts::h200(), 2); }

struct Case {
  Sizes sizes;
  DType type = DType::f32;
  Layout in = Layout::row_major;
};

const Case kCases[] = {
    {{13, 17024}},  // words of a place twice
    {{13, 17004}},  // two batches a row, and one that comes
    {{13, 24004}},  // seven packs a lane: four, two and one
    {{11, 15004}},  // rows that begin anywhere in a line, two groups
    {{5, 17004}},
    {{3, 90004}},  // parts that fill the ring
    {{5, 33016}, DType::bf16},
    {{3, 30008}, DType::f16},
    {{4, 17024}, DType::f32, Layout::padded},
    {{13, 17023}},  // rows that begin anywhere in a pack
    {{11, 15001}},
    {{3, 90001}},
    {{9, 33017}, DType::bf16},
    {{4, 30003}, DType::f16},
};

PlanOptions rows_in_grid() { return {.device = two_multiprocessors(), .strategy = "rows_in_grid"}; }

TEST(travelling, every_element_of_every_turn) {
  int travelled = 0;
  for (const Case& item : kCases)
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(item.sizes) << ' ' << name(item.type) << ' '
                                        << seed);
      Array in(lay_out(item.type, item.sizes, item.in, 3), 0), out(dense(item.type, item.sizes));
      fill(in, Values::mixed);
      const SoftmaxSpec spec{.axes = {1},
                             .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                             .scale = seed == 1 ? 0.75 : -1.5,
                             .alpha = seed == 1 ? 1 : 0.5};
      const Judged run = simulate(spec, in, out, rows_in_grid(), {.seed = seed, .slowness = seed == 1 ? 1 : 50});
      EXPECT_EQ(run.failure, "");
      travelled += run.whole_packs;
    }
  EXPECT_EQ(travelled, 2 * static_cast<int>(std::size(kCases)));
}

// Rows that are longer than all rings together pass them, and what has no place is read again.
TEST(travelling, longer_than_the_rings) {
  struct Shape {
    Sizes sizes;
    AxisSet axes;
    DType type = DType::f32;
    Index shift = 0;
  };
  int travelled = 0;
  const Shape kShapes[] = {{{1, 108544}, {1}},
                           {{3, 150004}, {1}},
                           {{2, 400001}, {1}},
                           {{3, 299999}, {1}, DType::bf16},
                           {{3, 160001}, {1}, DType::f32, 1},
                           {{250, 2, 804}, {0, 2}}};
  for (const auto& [sizes, axes, type, shift] : kShapes)
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(sizes) << ' ' << seed);
      Array in(dense(type, sizes), shift), out(dense(type, sizes), 0);
      fill(in, Values::mixed);
      const SoftmaxSpec spec{.axes = axes,
                             .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                             .scale = seed == 1 ? 0.75 : -1.5};
      const Judged run = simulate(spec, in, out, rows_in_grid(), {.seed = seed, .slowness = seed == 1 ? 1 : 50});
      EXPECT_EQ(run.failure, "");
      travelled += run.whole_packs || run.cut_lines;
    }
  EXPECT_EQ(travelled, 2 * static_cast<int>(std::size(kShapes)));
}

// Rows and results that begin in a pack alike, or elsewhere, and such as parts have no room for; in place, what was
// read may be written over.
TEST(travelling, other_buffers) {
  const Sizes sizes{5, 17004};
  struct Begin {
    Index length, in, out;
    bool in_packs, apart;
  };
  for (const Begin& at :
       {Begin{16384, 1, 1, true, false}, Begin{16384, 3, 0, false, true}, Begin{17004, 1, 0, false, true},
        Begin{17004, 1, 1, true, false}, Begin{17003, 1, 1, true, false}, Begin{17003, 3, 7, true, false},
        Begin{17003, 0, 2, false, true}}) {
    Array in(dense(DType::f32, {5, at.length}), at.in), out(dense(DType::f32, {5, at.length}), at.out);
    fill(in, Values::mixed);
    const Judged run = simulate(SoftmaxSpec{.axes = {1}}, in, out, rows_in_grid());
    EXPECT_EQ(run.failure, "");
    EXPECT_EQ(run.whole_packs, at.in_packs) << at.length << ' ' << at.in << ' ' << at.out;
    EXPECT_EQ(run.cut_lines, at.apart) << at.length << ' ' << at.in << ' ' << at.out;
  }
  for (const Index length : {17024, 17004}) {  // in whole packs, but not where a line of memory begins
    Array in(dense(DType::f32, {5, length}), 4), out(dense(DType::f32, {5, length}), 8);
    fill(in, Values::mixed);
    const Judged run = simulate(SoftmaxSpec{.axes = {1}}, in, out, rows_in_grid());
    EXPECT_EQ(run.failure, "");
    EXPECT_TRUE(run.whole_packs);
  }
  Array both(dense(DType::f32, sizes));
  fill(both, Values::mixed);
  const Judged run = simulate(SoftmaxSpec{.axes = {1}}, both, both, rows_in_grid());
  EXPECT_EQ(run.failure, "");
  EXPECT_TRUE(run.whole_packs);
}

// Results that begin elsewhere in a pack: lanes that pass elements on and those that have nobody to pass them to, rows
// whose ends are cut and those that follow gaps.
TEST(travelling, results_that_begin_elsewhere) {
  struct Shape {
    Sizes sizes;
    DType type;
    Index in, out;
    Layout layout = Layout::row_major;
  };
  for (const Shape& of : {Shape{{4, 17004}, DType::f32, 3, 0}, Shape{{4, 17003}, DType::f32, 0, 1},
                          Shape{{3, 90001}, DType::f32, 2, 3}, Shape{{4, 17003}, DType::f32, 0, 0, Layout::padded},
                          Shape{{4, 33016}, DType::bf16, 1, 0}, Shape{{3, 33017}, DType::bf16, 6, 3},
                          Shape{{4, 30003}, DType::f16, 0, 5}, Shape{{4, 33019}, DType::bf16, 0, 0, Layout::padded},
                          Shape{{2, 299999}, DType::bf16, 7, 0}, Shape{{1, 400001}, DType::f32, 1, 0}})
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(of.sizes) << ' ' << name(of.type) << ' ' << of.in
                                        << ' ' << of.out);
      Array in(lay_out(of.type, of.sizes, of.layout, 2), of.in), out(dense(of.type, of.sizes), of.out);
      fill(in, Values::mixed);
      const SoftmaxSpec spec{.axes = {1},
                             .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                             .scale = seed == 1 ? 0.75 : -1.5};
      const Judged run = simulate(spec, in, out, rows_in_grid(), {.seed = seed, .slowness = seed == 1 ? 1 : 50});
      EXPECT_EQ(run.failure, "");
      EXPECT_TRUE(run.cut_lines);
    }
}

// Rows, runs and columns of f32 at any stride: `step` elements of the input apart along the last axis.
TEST(travelling, elements_one_by_one) {
  struct Shape {
    Sizes sizes;
    AxisSet axes;
    const char* strategy;
    Index shift = 0, step = 1;
  };
  int travelled = 0;
  const Shape kShapes[] = {{{5, 17003}, {1}, "rows_in_grid", 0, 2},
                           {{4, 17003}, {1}, "rows_in_grid", 0, -1},
                           {{110, 9, 203}, {0, 2}, "rows_in_grid"},
                           {{4, 130, 3, 131}, {1, 3}, "rows_in_grid", 2},
                           {{6, 50, 3, 104}, {1, 3}, "rows_in_grid", 2, 3},
                           {{1501, 13}, {0}, "columns_in_grid"},
                           {{1501, 61}, {0}, "columns_in_grid"},
                           {{1501, 144}, {0}, "columns_in_grid", 3},
                           {{1300, 96}, {0}, "columns_in_grid", 0, 2},
                           {{27, 3, 41, 37}, {0, 2}, "columns_in_grid"}};
  for (const auto& [sizes, axes, strategy, shift, step] : kShapes)
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(sizes) << ' ' << seed);
      ViewDesc in_desc = dense(DType::f32, sizes);
      for (Index& stride : in_desc.strides) stride *= step;
      Array in(in_desc, shift), out(dense(DType::f32, sizes), 0);
      fill(in, Values::mixed);
      const SoftmaxSpec spec{.axes = axes,
                             .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                             .scale = seed == 1 ? 0.75 : -1.5};
      const PlanOptions plan{.device = two_multiprocessors(), .strategy = strategy};
      const Judged run = simulate(spec, in, out, plan, {.seed = seed, .slowness = seed == 1 ? 1 : 50});
      EXPECT_EQ(run.failure, "");
      EXPECT_TRUE(run.elements);
      travelled += run.elements;
    }
  EXPECT_EQ(travelled, 2 * static_cast<int>(std::size(kShapes)));
}

// NaN, infinities and rows of -inf alone go through the words as they go through a block.
TEST(travelling, what_is_not_finite) {
  constexpr Index kRows = 7;
  for (const auto& [length, scale] :
       {std::pair<Index, double>{17024, 1}, {17024, -2}, {17024, 0}, {130004, 1}, {130004, -2}, {130003, 0}}) {
    SCOPED_TRACE(::testing::Message() << length << ' ' << scale);
    Array in(dense(DType::f32, {kRows, length})), out(dense(DType::f32, {kRows, length}));
    fill(in, Values::mixed);
    constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
    in.set(length - 1, kNaN);
    in.set(length + length / 2, kInf);
    in.set(2 * length, -kInf);
    for (Index i = 0; i < length; ++i) in.set(3 * length + i, -kInf);
    for (Index i = length / 3; i < length; ++i) in.set(4 * length + i, -kInf);  // all of the second part
    in.set(kRows * length - 1, -kNaN);
    const Judged run = simulate(SoftmaxSpec{.axes = {1}, .scale = scale}, in, out, rows_in_grid());
    EXPECT_EQ(run.failure, "");
    EXPECT_TRUE(run.whole_packs);
  }
}

// Rows that are runs along several axes: parts begin and end anywhere in a run.
TEST(travelling, rows_of_runs) {
  struct Shape {
    Sizes sizes;
    AxisSet axes;
    DType type = DType::f32;
  };
  int travelled = 0;
  const Shape kShapes[] = {{{110, 9, 204}, {0, 2}},
                           {{4, 130, 3, 132}, {1, 3}},
                           {{6, 3, 50, 2, 64}, {0, 2, 4}},
                           {{120, 5, 272}, {0, 2}, DType::bf16},
                           {{3, 2, 7, 2, 40, 2, 36}, {0, 2, 4, 6}}};
  for (const auto& [sizes, axes, type] : kShapes)
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(sizes) << ' ' << seed);
      Array in(dense(type, sizes), 0), out(dense(type, sizes), 8);
      fill(in, Values::mixed);
      const SoftmaxSpec spec{.axes = axes,
                             .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                             .scale = seed == 1 ? 0.75 : -1.5};
      const Judged run = simulate(spec, in, out, rows_in_grid(), {.seed = seed, .slowness = seed == 1 ? 1 : 50});
      EXPECT_EQ(run.failure, "");
      travelled += run.whole_packs;
    }
  EXPECT_EQ(travelled, 2 * static_cast<int>(std::size(kShapes)));
}

// Panels of whole packs, the last one of fewer; parts of few rows and of several batches.
TEST(travelling, columns) {
  struct Shape {
    Sizes sizes;
    AxisSet axes;
    int multiprocessors = 2;
    DType type = DType::f32;
  };
  int travelled = 0;
  const Shape kShapes[] = {{{520, 304}, {0}},
                           {{1501, 144}, {0}},
                           {{2400, 64}, {0}},
                           {{3, 700, 40}, {1}},
                           {{2, 601, 3, 40}, {1}},
                           {{1100, 520}, {0}, 6},
                           {{1501, 424}, {0}, 6},
                           {{27, 3, 41, 36}, {0, 2}},
                           {{9, 2, 13, 3, 11, 40}, {0, 2, 4}, 6},
                           {{1501, 12}, {0}},  // all at once, and panels that are not full
                           {{900, 40}, {0}, 6},
                           {{2, 900, 8}, {1}, 6},
                           {{1501, 200}, {0}, 2, DType::bf16},
                           {{900, 1032}, {0}, 6, DType::f16},
                           {{3, 27, 2, 41, 72}, {1, 3}, 2, DType::bf16}};
  for (const auto& [sizes, axes, multiprocessors, type] : kShapes)
    for (const std::uint64_t seed : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(sizes) << ' ' << seed);
      Array in(dense(type, sizes), 0), out(dense(type, sizes), 8);
      fill(in, Values::mixed);
      const SoftmaxSpec spec{.axes = axes,
                             .kind = seed == 1 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
                             .scale = seed == 1 ? 0.75 : -1.5};
      const PlanOptions plan{.device = small(DeviceFacts::h200(), multiprocessors), .strategy = "columns_in_grid"};
      const Judged run = simulate(spec, in, out, plan, {.seed = seed, .slowness = seed == 1 ? 1 : 50});
      EXPECT_EQ(run.failure, "");
      travelled += run.whole_packs;
    }
  EXPECT_EQ(travelled, 2 * static_cast<int>(std::size(kShapes)));
}

TEST(travelling, columns_that_are_not_finite) {
  constexpr Index kColumns = 96, kRows = 1200;
  for (const double scale : {1.0, -2.0, 0.0}) {
    SCOPED_TRACE(scale);
    Array in(dense(DType::f32, {kRows, kColumns})), out(dense(DType::f32, {kRows, kColumns}));
    fill(in, Values::mixed);
    constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
    in.set(kColumns * (kRows - 1) + 3, kNaN);
    in.set(kColumns * (kRows / 2) + 40, kInf);
    in.set(70, -kInf);
    for (Index i = 0; i < kRows; ++i) in.set(i * kColumns + 7, -kInf);
    for (Index i = kRows / 3; i < kRows; ++i) in.set(i * kColumns + 95, -kInf);
    const PlanOptions plan{.device = two_multiprocessors(), .strategy = "columns_in_grid"};
    const Judged run = simulate(SoftmaxSpec{.axes = {0}, .scale = scale}, in, out, plan);
    EXPECT_EQ(run.failure, "");
    EXPECT_TRUE(run.whole_packs);
  }
}

// The same bits in whatever order threads run.
TEST(travelling, order_changes_no_bit) {
  const Sizes sizes{6, 17024};
  Array in(dense(DType::f32, sizes)), first(dense(DType::f32, sizes)), again(dense(DType::f32, sizes));
  fill(in, Values::cancelling);
  const SoftmaxSpec spec{.axes = {1}};
  EXPECT_EQ(simulate(spec, in, first, rows_in_grid(), {.seed = 5}).failure, "");
  EXPECT_EQ(simulate(spec, in, again, rows_in_grid(), {.seed = 77, .slowness = 200}).failure, "");
  EXPECT_TRUE(first == again);
}

}  // namespace
}  // namespace simt
