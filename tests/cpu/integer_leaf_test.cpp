// Integer sums and counts are exact modulo 2^64, however full their narrow lanes get: along rows and down columns.
#include "kernels/cpu/integer_leaf.h"

#include "kernels/cpu/integer_columns.h"
#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace ndfold::test {
namespace {

template <class T>
std::uint64_t expected_sum(const std::vector<T>& x) {
  std::uint64_t sum = 0;
  for (const T one : x) sum += static_cast<std::uint64_t>(one);
  return sum;
}

template <class T>
void expect_sums(std::size_t most) {
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{1000}, most})
    for (const T same : {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(1)}) {
      const std::vector<T> x(n, same);
      ASSERT_EQ(simd::sum_of_run(x.data(), static_cast<Index>(n)), expected_sum(x)) << n << " times " << +same;
    }
  std::vector<T> mixed(most);
  for (std::size_t i = 0; i < most; ++i) mixed[i] = static_cast<T>(hash(i));
  EXPECT_EQ(simd::sum_of_run(mixed.data(), static_cast<Index>(most)), expected_sum(mixed));
}

// As many as fill every lane of a sum more than once.
TEST(integer_leaf, sums) {
  expect_sums<std::int8_t>(300 * 256), expect_sums<std::uint8_t>(300 * 256);
  expect_sums<std::int16_t>(70000 * 128), expect_sums<std::uint16_t>(70000 * 128);
  expect_sums<std::int32_t>(5000), expect_sums<std::uint32_t>(5000);
  expect_sums<std::uint64_t>(5000);
}

template <class T, bool kFloating>
void expect_counts(std::size_t n) {
  using Word = simd::Word<T, kFloating>;
  constexpr T kSign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  for (const std::uint64_t share : {0, 1, 50, 100}) {
    std::vector<Word> x(n);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool nonzero = hash(i) % 100 < share;
      x[i].bits = nonzero ? static_cast<T>(T{1} << hash(i + 1) % (8 * sizeof(T) - 1)) : i % 2 == 0 ? T{0} : kSign;
      expected += nonzero || (i % 2 == 1 && !kFloating) ? 1 : 0;
    }
    EXPECT_EQ(simd::count_of_run(x.data(), static_cast<Index>(n)), expected) << n << " elements of " << sizeof(T);
  }
}

TEST(integer_leaf, counts) {
  for (const std::size_t n : {0, 1, 64, 65, 300 * 256, 300 * 256 + 17}) {
    expect_counts<std::uint8_t, false>(n), expect_counts<std::uint16_t, false>(n);
    expect_counts<std::uint32_t, false>(n), expect_counts<std::uint64_t, false>(n);
    expect_counts<std::uint16_t, true>(n), expect_counts<std::uint32_t, true>(n), expect_counts<std::uint64_t, true>(n);
  }
}

// Rows one behind the other, handed out a few at a time.
template <class T>
struct DenseRows {
  const T* data;
  Index columns;
};
template <class T>
struct Rows : DenseRows<T> {
  const T* row(int r) const { return this->data + r * this->columns; }
  const T* coming(int r) const { return row(r); }
};

// The same as if no cache held them.
template <class T>
struct FarRows : DenseRows<T> {
  const T* row(int r) const { return this->data + r * this->columns; }
  const T* coming(int r) const { return row(r); }
  bool are_from_memory() const { return true; }
  bool are_past_caches() const { return true; }
  const T* following(int r) const { return r < 40 ? row(r) : nullptr; }
};

template <class T, class Terms = simd::Plain<T>, template <class> class R = Rows>
void expect_columns(Index rows, Index columns, T value) {
  std::vector<T> x(static_cast<std::size_t>(rows * columns), value);
  for (std::size_t i = 0; i < x.size(); i += 7) x[i] = static_cast<T>(hash(i));
  std::vector<std::uint64_t> totals(static_cast<std::size_t>(columns));
  using Columns = simd::IntegerColumns<T, Terms>;
  std::vector<typename Columns::Narrow> narrow(totals.size());
  Columns sums(totals.data(), narrow.data(), columns);
  for (Index r = 0; r < rows; r += 31)
    sums.add(R<T>{{x.data() + r * columns, columns}}, static_cast<int>(std::min<Index>(31, rows - r)));
  const std::uint64_t* got = sums.result();
  for (Index c = 0; c < columns; ++c) {
    std::uint64_t expected = 0;
    for (Index r = 0; r < rows; ++r) {
      const auto one = static_cast<std::uint64_t>(x[static_cast<std::size_t>(r * columns + c)]);
      expected += std::is_same_v<Terms, simd::Square<T>> ? one * one : one;
    }
    ASSERT_EQ(got[c], expected) << "column " << c << " of " << columns;
  }
}

template <class T>
void expect_far_columns(T value) {
  for (const Index columns : {Index{512}, Index{700}}) {
    expect_columns<T, simd::Plain<T>, FarRows>(600, columns, value);
    expect_columns<T, simd::Square<T>, FarRows>(600, columns, value);
  }
}

TEST(integer_columns, from_far) {
  expect_far_columns<std::uint8_t>(255), expect_far_columns<std::int8_t>(-128);
  expect_far_columns<std::uint16_t>(65535), expect_far_columns<std::int16_t>(-32768);
  expect_far_columns<std::uint32_t>(~0u), expect_far_columns<std::int32_t>(std::numeric_limits<std::int32_t>::min());
  expect_far_columns<std::uint64_t>(~std::uint64_t{0});
}

TEST(integer_columns, sums) {
  for (const Index columns : {1, 3, 64, 200}) {
    expect_columns<std::uint8_t>(1000, columns, 255), expect_columns<std::int8_t>(1000, columns, -128);
    expect_columns<std::int16_t>(300, columns, -32768), expect_columns<std::uint64_t>(300, columns, ~std::uint64_t{0});
  }
  expect_columns<std::uint16_t>(70000, 5, 65535), expect_columns<std::int16_t>(70000, 5, -32768);
}

template <template <class> class R>
void expect_column_counts(Index rows, Index columns) {
  using Word = simd::Word<std::uint8_t, false>;
  const auto width = static_cast<std::size_t>(columns);
  std::vector<Word> x(static_cast<std::size_t>(rows) * width);
  std::vector<std::uint64_t> expected(width), totals(width);
  std::vector<std::uint8_t> narrow(width);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i].bits = static_cast<std::uint8_t>(hash(i) % (1 + i % width));  // all zeros in the first column
    expected[i % width] += x[i].bits != 0;
  }
  simd::IntegerColumns<Word> counts(totals.data(), narrow.data(), columns);
  for (Index r = 0; r < rows; r += 32)
    counts.add(R<Word>{{x.data() + r * columns, columns}}, static_cast<int>(std::min<Index>(32, rows - r)));
  const std::uint64_t* got = counts.result();
  for (std::size_t c = 0; c < expected.size(); ++c) EXPECT_EQ(got[c], expected[c]);
}

TEST(integer_columns, counts) {
  expect_column_counts<Rows>(1000, 37);
  expect_column_counts<FarRows>(1000, 600);
}

}  // namespace
}  // namespace ndfold::test
