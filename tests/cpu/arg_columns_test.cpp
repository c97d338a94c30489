// The best of each column and its row: ties, NaN, more rows than a narrow number counts.
#include "kernels/cpu/arg_columns.h"

#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::test {
namespace {

using namespace folds;

template <class T>
struct Rows {
  const T* data;
  Index columns;
  const T* row(int r) const { return data + r * columns; }
  const T* coming(int r) const { return row(r); }
};

template <template <class> class F, class A, bool kLast>
void expect_best(const std::vector<A>& x, Index columns) {
  const Index rows = static_cast<Index>(x.size()) / columns;
  simd::Scratch scratch;
  simd::ArgColumns<F<A>, A, kLast> best(scratch, columns);
  for (Index r = 0; r < rows; r += 29)
    best.add(Rows<A>{x.data() + r * columns, columns}, static_cast<int>(std::min<Index>(29, rows - r)));
  best.finish();
  const F<A> fold;
  for (Index c = 0; c < columns; ++c) {
    auto expected = fold.identity();
    for (Index r = 0; r < rows; ++r)
      expected = fold.combine(expected, {x[static_cast<std::size_t>(r * columns + c)], kLast ? rows - 1 - r : r});
    const Index row = kLast ? rows - 1 - expected.index : expected.index;
    ASSERT_EQ(best.result(c).index, row) << "column " << c << " of " << columns << ", " << rows << " rows";
    ASSERT_TRUE(F<A>::same(best.result(c).value, expected.value));
  }
}

template <class A>
void expect_all(Index rows, std::uint64_t values, bool odd) {
  for (const Index columns : {1, 7, 16, 40})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      std::vector<A> x(static_cast<std::size_t>(rows * columns));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint64_t bits = hash(seed * 1000000 + i);
        x[i] = static_cast<A>(bits % values);
        if constexpr (std::is_floating_point_v<A>) {
          using L = std::numeric_limits<A>;
          const A some[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), -A(0)};
          if (odd && bits % 50 == 0) x[i] = some[bits / 50 % 4];
        }
      }
      expect_best<ArgMax, A, false>(x, columns), expect_best<ArgMax, A, true>(x, columns);
      expect_best<ArgMin, A, false>(x, columns), expect_best<ArgMin, A, true>(x, columns);
    }
}

// Columns whose best rises in every row, in none, and now and then: batches that change nothing are passed over.
TEST(arg_columns, that_rise_and_fall) {
  constexpr Index kRows = 61, kColumns = 70;
  for (const int kind : {0, 1, 2}) {
    std::vector<float> x(kRows * kColumns);
    for (Index r = 0; r < kRows; ++r)
      for (Index c = 0; c < kColumns; ++c) {
        const Index value = kind == 0 ? r : kind == 1 ? -r : (r % 9) + (r == (7 * c) % kRows ? 100 : 0);
        x[static_cast<std::size_t>(r * kColumns + c)] = static_cast<float>(value);
      }
    expect_best<ArgMax, float, false>(x, kColumns), expect_best<ArgMax, float, true>(x, kColumns);
    expect_best<ArgMin, float, false>(x, kColumns), expect_best<ArgMin, float, true>(x, kColumns);
  }
}

TEST(arg_columns, of_floats) {
  for (const Index rows : {1, 2, 30, 300})
    for (const bool odd : {false, true}) expect_all<float>(rows, 5, odd), expect_all<double>(rows, 1000, odd);
}

TEST(arg_columns, of_bytes_in_more_rows_than_they_count) {
  expect_all<std::uint8_t>(1000, 3, false), expect_all<std::uint8_t>(1000, 256, false);
  expect_all<std::int8_t>(700, 256, false), expect_all<std::int16_t>(300, 2, false);
}

TEST(arg_columns, of_wide_integers) {
  expect_all<std::int32_t>(300, 10, false), expect_all<std::uint64_t>(300, 1 << 20, false);
}

TEST(arg_columns, nothing_but_infinities) {
  const std::vector<float> low(64, -std::numeric_limits<float>::infinity()),
      high(64, std::numeric_limits<float>::infinity());
  expect_best<ArgMax, float, false>(low, 4), expect_best<ArgMin, float, false>(high, 4);
}

TEST(arg_columns, order_of_indices) {
  const Axis up[] = {{.size = 3, .in = 1, .out = 10}, {.size = 5, .in = 1, .out = 2}};
  const Axis down[] = {{.size = 3, .in = 1, .out = -10}, {.size = 5, .in = 1, .out = -2}};
  const Axis mixed[] = {{.size = 3, .in = 1, .out = 10}, {.size = 5, .in = 1, .out = -2}};
  const Axis crossed[] = {{.size = 3, .in = 1, .out = 1}, {.size = 5, .in = 1, .out = 3}};
  EXPECT_EQ(simd::index_order({up, 2}), simd::IndexOrder::ascending);
  EXPECT_EQ(simd::index_order({down, 2}), simd::IndexOrder::descending);
  EXPECT_EQ(simd::index_order({mixed, 2}), simd::IndexOrder::mixed);
  EXPECT_EQ(simd::index_order({crossed, 2}), simd::IndexOrder::mixed);
}

}  // namespace
}  // namespace ndfold::test
