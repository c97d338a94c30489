// Few columns whose rows follow one another give what the same columns give with gaps between their rows.
#include "kernels/cpu/joined_rows.h"

#include "kernels/cpu/fold_columns.h"
#include "kernels/cpu/softmax_states.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ndfold::test {
namespace {

using namespace folds;

// `rows` rows of `columns` at a pitch; `value(r, c)` is an element.
template <class T>
struct Matrix {
  Index rows, columns, pitch;
  std::vector<T> memory;

  template <class Value>
  Matrix(Index r, Index c, Index gap, const Value& value)
      : rows(r), columns(c), pitch(c + gap), memory(static_cast<std::size_t>(r * (c + gap))) {
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) memory[static_cast<std::size_t>(i * pitch + j)] = static_cast<T>(value(i, j));
  }

  // One state a column and part, in the order in which a workspace holds them.
  template <template <class> class F, class A = T, class Fold>
  std::vector<typename F<A>::State> states(DType type, Index part, Index weight, const Fold& fold) const {
    const std::vector<Axis> kept = {{.size = columns, .in = 1, .out = 1}};
    const std::vector<Axis> reduced = {{.size = rows, .in = pitch, .out = weight}};
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.parts = (rows + part - 1) / part, step.part = part, step.panel = 1024, step.input = type;
    std::vector<typename F<A>::State> all(static_cast<std::size_t>(columns * step.parts));
    step.in = reinterpret_cast<const std::byte*>(memory.data());
    step.out = reinterpret_cast<std::byte*>(all.data());
    step.sink = SinkKind::store_state;
    fold(step, Index{0}, step.parts);
    return all;
  }
};

const std::vector<Index> kColumns = {2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 24, 31, 32, 33, 100};
const std::vector<Index> kRows = {100, 1024, 2049, 5003};

float small_whole(Index r, Index c) {
  return static_cast<float>(hash(static_cast<std::uint64_t>(r * 64 + c)) % 17) - 8;
}

// same(joined, apart, message) for the states of all shapes, in one part and in some.
template <template <class> class F, class T, class Value, class Fold, class Same>
void each_state(DType type, Index weight, const Value& value, const Fold& fold, const Same& same) {
  for (const Index columns : kColumns)
    for (const Index rows : kRows)
      for (const Index part : {rows, rows / 3 + 1}) {
        const Matrix<T> joined(rows, columns, 0, value), apart(rows, columns, 1, value);
        const auto some = joined.template states<F>(type, part, weight, fold);
        const auto expected = apart.template states<F>(type, part, weight, fold);
        for (std::size_t i = 0; i < some.size(); ++i) {
          same(some[i], expected[i], ::testing::Message() << rows << " rows of " << columns << ", state " << i);
          if (::testing::Test::HasFailure()) return;
        }
      }
}

template <template <class> class F, class T>
void fold_by_columns(const cpu::Arguments& step, Index first, Index last) {
  simd::fold_columns<F, T>(step, first, last);
}

template <template <class> class F, class T, class Value>
void expect_like_apart(DType type, Index weight, const Value& value) {
  each_state<F, T>(type, weight, value, fold_by_columns<F, T>,
                   [](const auto& some, const auto& expected, const ::testing::Message& at) {
                     if constexpr (requires { some.index; })
                       ASSERT_EQ(some.index, expected.index) << at;
                     else
                       ASSERT_EQ(some, expected) << at;
                   });
}

TEST(joined_rows, sums) {
  expect_like_apart<Sum, float>(DType::f32, 1, small_whole);
  expect_like_apart<Sum, double>(DType::f64, 1, small_whole);
}

TEST(joined_rows, extrema_with_few_nans) {
  const auto value = [](Index r, Index c) {
    const std::uint64_t bits = hash(static_cast<std::uint64_t>(r * 64 + c));
    return c % 5 == 4 && bits % 1000 == 0 ? -std::numeric_limits<float>::infinity() : static_cast<float>(bits % 5) - 2;
  };
  expect_like_apart<Max, float>(DType::f32, 1, value);
  expect_like_apart<Min, std::int16_t>(DType::i16, 1, [](Index r, Index c) { return small_whole(r, c) * 100; });
}

TEST(joined_rows, indices_of_many_ties_in_either_order) {
  const auto few = [](Index r, Index c) { return hash(static_cast<std::uint64_t>(r * 64 + c)) % 3; };
  for (const Index weight : {1, 7, -2}) {
    expect_like_apart<ArgMax, float>(DType::f32, weight, few);
    expect_like_apart<ArgMin, std::uint8_t>(DType::u8, weight, few);
  }
}

TEST(joined_rows, moments) {
  const auto value = [](Index r, Index c) { return 1000 + static_cast<float>(c) + small_whole(r, c) / 8; };
  each_state<Variance, double>(DType::f64, 1, value, fold_by_columns<Variance, double>,
                               [](const auto& some, const auto& expected, const ::testing::Message& at) {
                                 ASSERT_EQ(some.count, expected.count) << at;
                                 ASSERT_NEAR(some.mean, expected.mean, 1e-10) << at;
                                 ASSERT_NEAR(some.variance, expected.variance, 1e-10) << at;
                               });
}

// A state's maximum is one only where powers are not raised: sums at either side of a power of 2 are shifted by others.
double logarithm(const OnlineSoftmax<float>::State& state) {
  return static_cast<double>(state.max) + std::log(static_cast<double>(state.sum));
}

TEST(joined_rows, states_of_a_softmax) {
  const auto value = [](Index r, Index c) {
    return small_whole(r, c) + static_cast<float>(c % 4 == 1 ? r % 700 : 0) / 8;
  };
  each_state<OnlineSoftmax, float>(DType::f32, 1, value, simd::fold_softmax_columns<OnlineSoftmax, float>,
                                   [](const auto& some, const auto& expected, const ::testing::Message& at) {
                                     ASSERT_NEAR(logarithm(some), logarithm(expected), 1e-5) << at;
                                   });
}

// [outer, run, columns], the run's rows one behind the other, with a gap after each run or each row.
std::vector<float> folded_in_runs(Index outer, Index run, Index columns, Index gap_of_run, Index gap_of_row, Index part,
                                  std::vector<Index>* indices) {
  const Index pitch = columns + gap_of_row, far = run * pitch + gap_of_run;
  std::vector<float> memory(static_cast<std::size_t>(outer * far));
  for (Index i = 0; i < outer * run; ++i)
    for (Index c = 0; c < columns; ++c)
      memory[static_cast<std::size_t>(i / run * far + i % run * pitch + c)] = small_whole(i, c);
  const std::vector<Axis> kept = {{.size = columns, .in = 1, .out = 1}};
  const std::vector<Axis> reduced = {{.size = outer, .in = far, .out = run * 3}, {.size = run, .in = pitch, .out = 3}};
  cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
  step.part = part, step.parts = (outer * run + part - 1) / part, step.panel = 1024, step.input = DType::f32;
  step.in = reinterpret_cast<const std::byte*>(memory.data());
  step.sink = SinkKind::store_state;
  std::vector<float> sums(static_cast<std::size_t>(columns * step.parts));
  step.out = reinterpret_cast<std::byte*>(sums.data());
  simd::fold_columns<Sum, float>(step, 0, step.parts);
  std::vector<ArgMax<float>::State> best(sums.size());
  step.out = reinterpret_cast<std::byte*>(best.data());
  simd::fold_columns<ArgMax, float>(step, 0, step.parts);
  for (const auto& one : best) indices->push_back(one.index);
  return sums;
}

TEST(joined_rows, in_runs) {
  for (const Index columns : {2, 3, 8, 16, 17})
    for (const Index run : {16, 32, 48, 96, 33})
      for (const Index part : {Index{40} * run, Index{13} * run, 20 * run + 1}) {
        std::vector<Index> joined_at, apart_at;
        const auto joined = folded_in_runs(40, run, columns, 5, 0, part, &joined_at);
        const auto apart = folded_in_runs(40, run, columns, 0, 1, part, &apart_at);
        ASSERT_EQ(joined, apart) << columns << " columns, runs of " << run << " in parts of " << part;
        ASSERT_EQ(joined_at, apart_at) << columns << " columns, runs of " << run << " in parts of " << part;
      }
}

TEST(joined_rows, how_many_become_one) {
  const std::vector<Axis> kept = {{.size = 3, .in = 1, .out = 1}}, dense = {{.size = 1000, .in = 3, .out = 1}};
  const std::vector<Axis> far = {{.size = 1000, .in = 4, .out = 1}};
  cpu::Arguments step{.kept = list(kept), .reduced = list(dense)};
  step.part = 1000, step.panel = 64;
  EXPECT_EQ(simd::JoinedRows::together(step, simd::ColumnBlock(step, 0), 64), 16);
  EXPECT_EQ(simd::JoinedRows::together(step, simd::ColumnBlock(step, 0), 5), 1);
  step.part = 255;
  EXPECT_EQ(simd::JoinedRows::together(step, simd::ColumnBlock(step, 0), 64), 8) << "no fewer joined rows than 16";
  step.part = 1000, step.panel = 2;
  EXPECT_EQ(simd::JoinedRows::together(step, simd::ColumnBlock(step, 0), 64), 1) << "not all columns";
  step.panel = 64, step.reduced = list(far);
  EXPECT_EQ(simd::JoinedRows::together(step, simd::ColumnBlock(step, 0), 64), 1) << "rows with gaps";
  const std::vector<Axis> runs = {{.size = 100, .in = 300, .out = 24}, {.size = 24, .in = 3, .out = 1}};
  step.reduced = list(runs), step.part = 2400;
  EXPECT_EQ(simd::JoinedRows::together(step, simd::ColumnBlock(step, 0), 64), 8) << "runs of 3 times 8 rows";
}

// Slabs of rows of a page or less, where there are more than caches hold.
TEST(joined_rows, slabs_that_no_cache_holds) {
  const auto together = [](Index slabs, Index rows, Index columns) {
    const std::vector<Axis> kept = {{.size = slabs, .in = rows * columns, .out = columns},
                                    {.size = columns, .in = 1, .out = 1}};
    const std::vector<Axis> reduced = {{.size = rows, .in = columns, .out = 0}};
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.part = rows, step.panel = 1024;
    return simd::rows_together<Sum, float, float>(step, simd::ColumnBlock(step, 0));
  };
  EXPECT_EQ(together(256, 256, 256), 16) << "64 MiB";
  EXPECT_EQ(together(30, 256, 256), 1) << "8 MiB";
  EXPECT_EQ(together(2, 4096, 256), 1) << "8 MiB, slabs of 4";
  EXPECT_EQ(together(4096, 64, 64), 1) << "64 MiB in slabs of 16 KiB";
  EXPECT_EQ(together(4096, 64, 32), 4) << "two lines or fewer";
  EXPECT_EQ(together(16, 512, 2048), 1) << "rows of more than a page";
}

}  // namespace
}  // namespace ndfold::test
