// Rows of columns that are runs in the output arrive whole, wherever the runs begin and end, and nothing beside them.
#include "kernels/cpu/lines_across.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::test {
namespace {

struct Case {
  Index columns, stride, shift;  // of the output: elements from column to column, and before the first
  std::vector<int> leaves;       // rows of each
  int run;                       // rows until the next lies elsewhere
};

constexpr int kGap = 7;  // elements between runs

template <class T>
void expect_rows(const Case& item) {
  using A = simd::NumberOf<T>;
  using V = simd::LanesOf<A>;
  constexpr Index kWidth = simd::kLanes<V>;
  if (item.columns > simd::kTileColumns<A>) return;
  int count = 0;
  for (const int rows : item.leaves) count += rows;
  const auto place_of = [&](int r) { return Index{r / item.run} * (item.run + kGap) + r % item.run; };
  const Index span = place_of(count - 1) + 1;
  ASSERT_LE(span, item.stride);
  std::vector<T> out(static_cast<std::size_t>(item.shift + item.columns * item.stride + 64), T(-77.f)), want = out;
  const auto number = [&](int r, Index c) { return static_cast<float>((r * 31 + c * 7) % 120); };
  cpu::Arguments step;
  step.output = simd::kTypeOf<T>;
  simd::LinesAcross<A> lines(step);
  const int groups = static_cast<int>(simd::ColumnPlace<V>::groups(item.columns));
  int done = 0;
  for (const int rows : item.leaves) {
    std::vector<A> from(static_cast<std::size_t>(simd::kTileRows * groups * kWidth), A(-5));
    simd::RowOffsets offsets;
    offsets.count = rows;
    for (int r = 0; r < rows; ++r) {
      offsets.out[r] = place_of(done + r) * static_cast<Index>(sizeof(T));
      for (int g = 0; g < groups; ++g)
        for (Index l = 0; l < kWidth; ++l) {
          const Index c = simd::ColumnPlace<V>::first(g, item.columns) + l;
          if (c >= item.columns) continue;
          from[static_cast<std::size_t>((r * groups + g) * kWidth + l)] = static_cast<A>(number(done + r, c));
          want[static_cast<std::size_t>(item.shift + c * item.stride + place_of(done + r))] = T(number(done + r, c));
        }
    }
    lines.add(reinterpret_cast<std::byte*>(out.data() + item.shift), item.stride, item.columns, offsets, groups,
              from.data());
    done += rows;
  }
  lines.flush();
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(static_cast<float>(out[i]), static_cast<float>(want[i]))
        << item.columns << " columns, " << item.stride << " apart, " << count << " rows, run " << item.run << ", at "
        << i;
}

template <class T>
void expect_all() {
  for (const Index columns : {1, 3, 4, 8, 9, 16, 17, 31, 48, 50, 64})
    for (const Index shift : {0, 1, 5, 16})
      for (const std::vector<int>& leaves :
           std::vector<std::vector<int>>{{1}, {7}, {64}, {64, 64, 13}, {64, 64, 64, 64}, {5, 1, 2, 40}})
        for (const int run : {1000, 50, 3})
          for (const Index stride : {900, 901, 960}) expect_rows<T>({columns, stride, shift, leaves, run});
}

TEST(lines_across, rows_of_f32) { expect_all<float>(); }
TEST(lines_across, rows_of_f64) { expect_all<double>(); }

TEST(lines_across, rows_of_16_bits) {
  if constexpr (simd::kHasElementLanes<simd::Half>) {
    expect_all<simd::Half>();
    expect_all<simd::Bfloat16>();
  }
}

// Tiles that follow one another, as a block's do: each leaves what it has before the next begins.
TEST(lines_across, of_one_tile_after_another) {
  using V = simd::LanesOf<float>;
  constexpr Index kWidth = simd::kLanes<V>, kStride = 101;
  std::vector<float> out(static_cast<std::size_t>(2 * kWidth * kStride + 64), -77), from(simd::kTileRows * kWidth);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  simd::RowOffsets rows;
  rows.count = 40;
  for (int r = 0; r < rows.count; ++r) rows.out[r] = r * Index{sizeof(float)};
  simd::LinesAcross<float> lines{cpu::Arguments()};
  for (Index tile = 0; tile < 2; ++tile)
    lines.add(reinterpret_cast<std::byte*>(out.data() + 3 + tile * kWidth * kStride), kStride, kWidth, rows, 1,
              from.data());
  lines.flush();
  for (Index c = 0; c < 2 * kWidth; ++c)
    for (Index r = 0; r < kStride; ++r) {
      const float want = r < rows.count ? from[static_cast<std::size_t>(r * kWidth + c % kWidth)] : -77;
      ASSERT_EQ(out[static_cast<std::size_t>(3 + c * kStride + r)], want) << "column " << c << ", row " << r;
    }
}

TEST(lines_across, suits_what_squares_leave_in_parts) {
  alignas(64) static std::byte memory[64];
  const auto suits = [](Index rows, Index row_out, Index column_out, DType type, bool past_caches, std::byte* out) {
    const std::vector<Axis> kept = {{.size = 100, .in = 1, .out = column_out}};
    const std::vector<Axis> reduced = {{.size = rows, .in = 100, .out = row_out}};
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.output = type, step.past_caches = past_caches, step.out = out;
    return simd::LinesAcross<float>::suit(step);
  };
  EXPECT_TRUE(suits(100, 1, 101, DType::f32, true, memory));
  EXPECT_TRUE(suits(100, 1, 128, DType::f32, true, memory + 4)) << "lines begin elsewhere";
  EXPECT_FALSE(suits(100, 1, 101, DType::f32, false, memory)) << "caches hold it";
  EXPECT_FALSE(suits(10, 1, 101, DType::f32, true, memory)) << "runs are too short";
  EXPECT_FALSE(suits(100, 100, 1, DType::f32, true, memory)) << "columns are neighbours";
  EXPECT_FALSE(suits(100, 1, 101, DType::i32, true, memory)) << "nothing that lanes store";
}

}  // namespace
}  // namespace ndfold::test
