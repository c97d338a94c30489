// A leaf of columns has one tree, however many rows a machine reads side by side, and wherever it is interrupted; and
// quick extrema tell of every NaN.
#include "kernels/cpu/column_leaf.h"

#include "kernels/folds/sum.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using V = simd::LanesOf<float>;

constexpr Index kGroups = 3, kColumns = kGroups * simd::kLanes<V>;
constexpr int kMostRows = 71;

struct Rows {
  const float* data;
  const float* row(int r) const { return data + r * kColumns; }
};

std::vector<float> some_numbers() {
  std::vector<float> x(static_cast<std::size_t>(kColumns * kMostRows));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(hash(i) % 100003) / 7 - 5000;
  return x;
}

using States = std::array<float, static_cast<std::size_t>(kColumns)>;

States numbers_of(const V* states) {
  States all;
  for (Index c = 0; c < kColumns; ++c)
    all[static_cast<std::size_t>(c)] = lane(states[c / simd::kLanes<V>], static_cast<int>(c % simd::kLanes<V>));
  return all;
}

template <int kAtOnce>
States sums_of(const Rows& rows, int count) {
  V states[kGroups];
  const auto fold_of = [](Index) { return folds::Sum<V>(); };
  simd::each_rows<kAtOnce, simd::kRowsTogether>(count, true, [&](auto first, int r, auto which) {
    simd::fold_some_rows<first, false>(fold_of, rows, r, kGroups, states, which);
  });
  return numbers_of(states);
}

TEST(column_leaf, has_one_tree_however_many_rows_are_read_at_once) {
  const std::vector<float> x = some_numbers();
  for (int count = 1; count <= kMostRows; ++count)
    ASSERT_EQ(sums_of<simd::kRowsTogether>({x.data()}, count), sums_of<simd::kRowsAtOnce>({x.data()}, count)) << count;
}

TEST(column_leaf, goes_on_where_it_stopped) {
  const std::vector<float> x = some_numbers();
  const auto fold_of = [](Index) { return folds::Sum<V>(); };
  for (const int stop : {8, 16, 24, 32, 64}) {
    V at_once[kGroups], in_two[kGroups];
    simd::fold_columns_once(fold_of, Rows{x.data()}, kMostRows, kColumns, at_once);
    simd::fold_columns_once(fold_of, Rows{x.data()}, stop, kColumns, in_two);
    simd::fold_columns_once(fold_of, Rows{x.data() + stop * kColumns}, kMostRows - stop, kColumns, in_two, false);
    ASSERT_EQ(numbers_of(at_once), numbers_of(in_two)) << stop;
  }
}

template <int kAtOnce>
void expect_seen() {
  using Max = folds::Max<V>;
  for (std::size_t place = 0; place < static_cast<std::size_t>(kColumns * kMostRows); place += 5) {
    std::vector<float> x = some_numbers();
    V states[kGroups];
    ASSERT_FALSE(any(simd::look_for_extrema<Max, false, kAtOnce>(Rows{x.data()}, kMostRows, kGroups, states)));
    for (std::size_t c = 0; c < static_cast<std::size_t>(kColumns); ++c) {
      float largest = x[c];
      for (std::size_t r = 1; r < kMostRows; ++r)
        largest = std::max(largest, x[r * static_cast<std::size_t>(kColumns) + c]);
      ASSERT_EQ(numbers_of(states)[c], largest) << c;
    }
    x[place] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_TRUE(any(simd::look_for_extrema<Max, false, kAtOnce>(Rows{x.data()}, kMostRows, kGroups, states))) << place;
  }
}

TEST(column_leaf, extrema_of_four_rows_at_once_tell_of_a_nan) { expect_seen<simd::kRowsTogether>(); }
TEST(column_leaf, extrema_of_eight_rows_at_once_tell_of_a_nan) { expect_seen<simd::kRowsAtOnce>(); }

}  // namespace
}  // namespace ndfold::test
