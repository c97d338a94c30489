// Blocks of a columns step cover every output and part once, and their rows every element once.
#include "kernels/cpu/column_walk.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using namespace folds;

using simd::Loading;

struct Case {
  std::vector<Index> kept, reduced;
  Index panel, part;
};

const std::vector<Case> kCases = {
    {{}, {5}, 1, 5},       {{7}, {}, 3, 1},           {{7}, {33}, 7, 33},          {{100}, {65}, 32, 10},
    {{100}, {65}, 33, 64}, {{3, 40}, {2, 31}, 16, 7}, {{2, 3, 5}, {4, 9}, 64, 36}, {{1, 300}, {3, 5, 7}, 128, 100},
};

// One array for kept and reduced axes: from far to near as `nested` says, so that columns lie side by side or not.
struct Layout2 {
  std::vector<Axis> kept, reduced;
};

Layout2 lay_out_axes(const Case& item, bool columns_inside, Index step) {
  Layout2 layout;
  Index stride = step;
  const auto place = [&](const std::vector<Index>& sizes) {
    std::vector<Axis> axes(sizes.size());
    Index weight = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      axes[i] = {.size = sizes[i], .in = stride, .out = weight};
      stride *= sizes[i], weight *= sizes[i];
    }
    return axes;
  };
  if (columns_inside)
    layout.kept = place(item.kept), layout.reduced = place(item.reduced);
  else
    layout.reduced = place(item.reduced), layout.kept = place(item.kept);
  return layout;
}

cpu::Arguments arguments_of(const Case& item, const Layout2& layout, const std::byte* in) {
  cpu::Arguments step{.in = in, .out = nullptr, .kept = list(layout.kept), .reduced = list(layout.reduced)};
  const Index n = simd::elements(step.reduced);
  step.part = item.part, step.parts = (n + item.part - 1) / item.part, step.panel = item.panel;
  return step;
}

Index blocks_of(const cpu::Arguments& step) {
  const Index panels = (simd::inner(step.kept).size + step.panel - 1) / step.panel;
  return simd::elements(simd::outer(step.kept)) * panels * step.parts;
}

TEST(column_block, covers_every_output_and_part_once) {
  std::byte out[8] = {};
  const Numbered<float> data(4);
  for (const Case& item : kCases) {
    const Layout2 layout = lay_out_axes(item, true, 1);
    cpu::Arguments step = arguments_of(item, layout, data.zero());
    step.out = out;
    const Index outputs = simd::elements(step.kept), n = simd::elements(step.reduced);
    std::vector<int> seen(static_cast<std::size_t>(outputs * n));
    std::vector<int> states(static_cast<std::size_t>(outputs * step.parts)), beside(states);
    cpu::Arguments side_by_side = step;
    side_by_side.outputs_side_by_side = true;
    for (Index b = 0; b < blocks_of(step); ++b) {
      const simd::ColumnBlock block(step, b);
      EXPECT_LE(block.columns, step.panel);
      EXPECT_GT(block.end, block.begin);
      for (Index c = 0; c < block.columns; ++c) {
        const Index output =
            (block.out - out) / 4 + c * block.column.out;  // outputs are dense: the offset is the number
        const Index input = (block.in - data.zero()) / 4 + c * block.column.in;
        EXPECT_EQ(input, output);
        ++states[static_cast<std::size_t>(block.state(step, c))];
        ++beside[static_cast<std::size_t>(block.state(side_by_side, c))];
        EXPECT_EQ(block.state(step, c), output * step.parts + block.part);
        EXPECT_EQ(block.state(side_by_side, c), block.part * outputs + output);
        for (Index r = block.begin; r < block.end; ++r) ++seen[static_cast<std::size_t>(output * n + r)];
      }
    }
    for (const int count : seen) ASSERT_EQ(count, 1);
    for (const int count : states) ASSERT_EQ(count, 1);
    for (const int count : beside) ASSERT_EQ(count, 1);
  }
}

template <class A, class T>
void expect_rows(DType type, bool columns_inside, Index step_of_elements) {
  for (const Case& item : kCases) {
    const Layout2 layout = lay_out_axes(item, columns_inside, step_of_elements);
    const auto kept = offsets_in(layout.kept), reduced = offsets_in(layout.reduced);
    const Numbered<T> data(step_of_elements * static_cast<Index>(kept.size() * reduced.size()));
    cpu::Arguments step = arguments_of(item, layout, data.zero());
    step.input = type;
    std::vector<int> seen(kept.size() * reduced.size());
    for (Index b = 0; b < blocks_of(step); ++b) {
      const simd::ColumnBlock block(step, b);
      const Index width = std::min<Index>(block.columns, simd::ColumnRows<A, Loading::values>::kStagedColumns);
      for (Index first = 0; first < block.columns; first += width) {
        const Index columns = std::min(width, block.columns - first);
        simd::ColumnRows<A, Loading::values> rows(step, block, first, columns);
        Index at = block.begin;
        while (const int count = rows.next()) {
          ASSERT_LE(count, cpu::kLeafRows);
          EXPECT_EQ(rows.lowest_index(count), rows.index(0));
          for (int r = 0; r < count; ++r, ++at)
            for (Index c = 0; c < columns; ++c) {
              const Index output = block.first_output + first + c;
              const auto k = static_cast<std::size_t>(output), i = static_cast<std::size_t>(at);
              ASSERT_EQ(rows.row(r)[c], static_cast<A>(kept[k] + reduced[i]));
              ASSERT_EQ(rows.index(r), at);
              ++seen[k * reduced.size() + i];
            }
        }
        EXPECT_EQ(at, block.end);
        EXPECT_EQ(rows.next(), 0);
      }
    }
    for (const int count : seen) ASSERT_EQ(count, 1);
  }
}

TEST(column_rows, where_they_lie) { expect_rows<float, float>(DType::f32, true, 1); }
TEST(column_rows, of_doubles) { expect_rows<double, double>(DType::f64, true, 1); }
TEST(column_rows, staged_from_another_type) { expect_rows<float, std::int32_t>(DType::i32, true, 1); }
TEST(column_rows, staged_from_a_stride) { expect_rows<float, float>(DType::f32, true, 3); }
TEST(column_rows, staged_when_the_reduced_axis_is_inside) { expect_rows<double, float>(DType::f32, false, 1); }
TEST(column_rows, of_integers) { expect_rows<std::int16_t, std::int16_t>(DType::i16, true, 1); }

// Rows that follow are guessed up to the end; behind rows that follow one another whatever lies there is next.
TEST(column_rows, that_follow) {
  const std::vector<Axis> kept = {{.size = 16, .in = 1, .out = 1}};
  const Numbered<float> data(64 * 40);
  for (const Index pitch : {Index{16}, Index{32}}) {
    const std::vector<Axis> reduced = {{.size = 40, .in = pitch, .out = 1}};
    cpu::Arguments step{.in = data.zero(), .kept = list(kept), .reduced = list(reduced), .part = 40, .parts = 1};
    step.panel = 16;
    simd::ColumnRows<float, Loading::values> rows(step, simd::ColumnBlock(step, 0), 0, 16);
    ASSERT_EQ(rows.next(), 32);
    EXPECT_EQ(rows.following(39), rows.row(0) + 39 * pitch);
    EXPECT_EQ(rows.following(40) == nullptr, pitch == 32);
    ASSERT_EQ(rows.next(), 8);
    EXPECT_EQ(rows.following(7), rows.row(7));
    EXPECT_EQ(rows.following(8) == nullptr, pitch == 32);
  }
}

TEST(column_rows, truth) {
  const std::vector<Axis> kept = {{.size = 50, .in = 1, .out = 1}}, reduced = {{.size = 40, .in = 50, .out = 1}};
  const Numbered<float> data(2000);
  cpu::Arguments step{.in = data.zero(), .kept = list(kept), .reduced = list(reduced)};
  step.part = 40, step.panel = 50;
  const simd::ColumnBlock block(step, 0);
  simd::ColumnRows<std::uint8_t, Loading::truth> rows(step, block, 0, 50);
  Index zeros = 0;
  while (const int count = rows.next())
    for (int r = 0; r < count; ++r)
      for (Index c = 0; c < 50; ++c) zeros += rows.row(r)[c] == 0;
  EXPECT_EQ(zeros, 1);
}

}  // namespace
}  // namespace ndfold::test
