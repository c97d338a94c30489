// The quick maximum is either the exact one or not certain: whatever stands wherever in a leaf or a column.
#include "kernels/cpu/fold_columns.h"
#include "kernels/cpu/fold_rows.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using namespace folds;

template <class T>
bool same(T a, T b) {
  return a != a ? b != b : a == b && std::signbit(a) == std::signbit(b);
}

template <template <class> class F, class T>
T expected_of(const T* x, Index n, Index stride) {
  const F<T> fold;
  T state = fold.identity();
  for (Index i = 0; i < n; ++i) state = fold.combine(state, fold.map(x[i * stride], i));
  return state;
}

// Rows of `base` values with one or two odd ones at every place.
template <template <class> class F, class T>
void expect_rows(Index n) {
  using L = std::numeric_limits<T>;
  const T odd[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), T(0), -T(0), T(5), T(-5)};
  for (const T base : {T(0), -T(0), T(1), T(-1), -L::infinity(), L::infinity(), L::quiet_NaN()})
    for (const T first : odd)
      for (const T second : odd)
        for (Index place = 0; place < n; place += n < 40 ? 1 : 13) {
          std::vector<T> x(static_cast<std::size_t>(n), base);
          x[static_cast<std::size_t>(n - 1 - place / 2)] = second;
          x[static_cast<std::size_t>(place)] = first;
          simd::Leaf<T> leaf;
          leaf.count = 1, leaf.elements = n, leaf.is_waited_for = place % 2 == 1;
          leaf.segments[0] = {.start = x.data(), .length = n, .index = 0, .weight = 1};
          const T got = simd::fold_leaf<F, T>(F<T>(), F<simd::LanesOf<T>>(), leaf);
          ASSERT_TRUE(same(got, expected_of<F>(x.data(), n, 1)))
              << got << " base " << base << " first " << first << " second " << second;
        }
}

template <template <class> class F>
void expect_rows_of_both() {
  for (const Index n : {1, 2, 3, 4, 5, 8, 31, 32, 33, 63, 64, 65, 200, 1024}) {
    expect_rows<F, float>(n);
    expect_rows<F, double>(n);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(quick_extremum, rows_of_max) { expect_rows_of_both<Max>(); }
TEST(quick_extremum, rows_of_min) { expect_rows_of_both<Min>(); }
TEST(quick_extremum, rows_of_linf) { expect_rows_of_both<Linf>(); }

struct Rows {
  const float* data;
  Index columns;
  const float* row(int r) const { return data + r * columns; }
};

template <template <class> class F>
void expect_columns() {
  using V = simd::Lanes<float>;
  using L = std::numeric_limits<float>;
  const float odd[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), 0, -0.f, 5, -5, L::max(), L::lowest()};
  constexpr int kRows = 19;  // two batches and some
  for (const Index columns : {1, 3, 4, 5, 64, 257, 300, 520})
    for (const float base : {0.f, -0.f, 1.f, -1.f, -L::infinity()})
      for (std::uint64_t seed = 0; seed < 60; ++seed) {
        std::vector<float> x(static_cast<std::size_t>(columns * kRows), base);
        for (std::uint64_t i = 0; i < seed % 9; ++i)
          x[hash(seed * 100 + i) % x.size()] = odd[hash(seed * 100 + i + 50) % std::size(odd)];
        std::vector<V> states(static_cast<std::size_t>((columns + V::kCount - 1) / V::kCount));
        simd::fold_column_leaf(F<V>(), Rows{x.data(), columns}, kRows, columns, states.data(), simd::PivotScratch<V>{});
        for (Index c = 0; c < columns; ++c) {
          const simd::ColumnPlace<V> place(c, columns);
          const float got = lane(states[static_cast<std::size_t>(place.group)], static_cast<int>(place.lane));
          ASSERT_TRUE(same(got, expected_of<F>(x.data() + c, kRows, columns)))
              << "column " << c << " of " << columns << ": " << got;
        }
      }
}

TEST(quick_extremum, columns_of_max) { expect_columns<Max>(); }
TEST(quick_extremum, columns_of_min) { expect_columns<Min>(); }
TEST(quick_extremum, columns_of_linf) { expect_columns<Linf>(); }

}  // namespace
}  // namespace ndfold::test
