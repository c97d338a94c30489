// Columns of few rows give what each column gives alone, wherever blocks and panels cut their lines.
#include "kernels/cpu/short_columns.h"

#include "kernels/cpu/fold_columns.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ndfold::test {
namespace {

using namespace folds;
using simd::Loading;

// [lines, rows, more rows, columns], of which the rows are folded.
struct Shape {
  Index lines, rows, more, columns, gap = 0;
  bool across = false;  // results lie the other way

  Index count() const { return rows * more; }
  Index pitch() const { return columns + gap; }
  std::vector<Axis> kept() const {
    return {{.size = lines, .in = count() * pitch(), .out = across ? 1 : columns},
            {.size = columns, .in = 1, .out = across ? lines : 1}};
  }
  std::vector<Axis> reduced() const {
    return {{.size = rows, .in = more * pitch(), .out = more}, {.size = more, .in = pitch(), .out = 1}};
  }
};

const Shape kShapes[] = {
    {.lines = 9, .rows = 2, .more = 1, .columns = 3},
    {.lines = 5, .rows = 3, .more = 5, .columns = 1},
    {.lines = 700, .rows = 1, .more = 2, .columns = 2},
    {.lines = 40, .rows = 4, .more = 2, .columns = 31},
    {.lines = 6, .rows = 1, .more = 4, .columns = 80},
    {.lines = 3, .rows = 8, .more = 4, .columns = 32},
    {.lines = 2, .rows = 1, .more = 1, .columns = 1000},
    {.lines = 3, .rows = 2, .more = 8, .columns = 1333, .gap = 5},
    {.lines = 7, .rows = 2, .more = 2, .columns = 65, .across = true},
};

template <class T>
std::vector<T> numbers(const Shape& shape, const std::function<double(std::size_t)>& value) {
  std::vector<T> all(static_cast<std::size_t>(shape.lines * shape.count() * shape.pitch()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<T>(static_cast<float>(value(i)));
  return all;
}

template <template <class> class F, class A, class T, class Result>
std::vector<Result> folded(const Shape& shape, const std::vector<T>& x, DType in, DType out, std::vector<Index> cuts,
                           Index panel = 64, bool reversed = false) {
  const auto kept = shape.kept();
  auto reduced = shape.reduced();
  if (reversed) reduced[0].out = -reduced[0].out, reduced[1].out = -reduced[1].out;
  cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
  step.input = in, step.output = out, step.panel = panel;
  step.part = step.count = shape.count();
  step.index_offset = reversed ? shape.count() - 1 : 0;
  step.past_caches = true;
  std::vector<Result> all(static_cast<std::size_t>(shape.lines * shape.columns));
  step.in = reinterpret_cast<const std::byte*>(x.data());
  step.out = reinterpret_cast<std::byte*>(all.data());
  const Index blocks = shape.lines * ((shape.columns + panel - 1) / panel);
  cuts.push_back(blocks);
  Index first = 0;
  for (const Index last : cuts) {
    EXPECT_TRUE((simd::fold_if_short<F, A, Loading::values, T>(step, first, last)));
    first = last;
  }
  return all;
}

// Calls check(output, elements of its column) for each.
template <class T>
void each_column(const Shape& shape, const std::vector<T>& x,
                 const std::function<void(std::size_t, const std::vector<double>&)>& check) {
  for (Index line = 0; line < shape.lines; ++line)
    for (Index c = 0; c < shape.columns; ++c) {
      std::vector<double> column;
      for (Index r = 0; r < shape.count(); ++r)
        column.push_back(static_cast<double>(
            static_cast<float>(x[static_cast<std::size_t>((line * shape.count() + r) * shape.pitch() + c)])));
      check(static_cast<std::size_t>(shape.across ? c * shape.lines + line : line * shape.columns + c), column);
    }
}

double small_whole(std::size_t i) { return static_cast<double>(hash(i) % 17) - 8; }

template <template <class> class F, class A, class T, class Result = A>
void expect_each(DType in, DType out, const std::function<double(const std::vector<double>&)>& expected) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(::testing::Message() << shape.lines << "x" << shape.count() << "x" << shape.columns);
    const auto x = numbers<T>(shape, small_whole);
    const auto results = folded<F, A, T, Result>(shape, x, in, out, {});
    each_column<T>(shape, x, [&](std::size_t output, const std::vector<double>& column) {
      ASSERT_EQ(static_cast<double>(static_cast<float>(results[output])), expected(column)) << output;
    });
    const auto again = folded<F, A, T, Result>(shape, x, in, out, {1, shape.lines});
    EXPECT_EQ(std::memcmp(again.data(), results.data(), results.size() * sizeof(Result)), 0);
  }
}

double sum(const std::vector<double>& column) { return std::accumulate(column.begin(), column.end(), 0.0); }
double most(const std::vector<double>& column) { return *std::max_element(column.begin(), column.end()); }

TEST(short_columns, sums_means_and_norms) {
  expect_each<Sum, float, float>(DType::f32, DType::f32, sum);
  expect_each<Sum, double, double>(DType::f64, DType::f64, sum);
  expect_each<Sum, float, simd::BrainHalf, float>(DType::bf16, DType::f32, sum);
  expect_each<Sum, float, float, double>(DType::f32, DType::f64, sum);
  expect_each<Mean, float, float>(DType::f32, DType::f32, [](const auto& column) {
    return static_cast<double>(static_cast<float>(sum(column)) / static_cast<float>(column.size()));
  });
  expect_each<L2, float, float>(DType::f32, DType::f32, [](const auto& column) {
    double squares = 0;
    for (const double x : column) squares += x * x;
    return static_cast<double>(std::sqrt(static_cast<float>(squares)));
  });
}

TEST(short_columns, extrema) {
  expect_each<Max, float, float>(DType::f32, DType::f32, most);
  expect_each<Max, float, simd::Half, simd::Half>(DType::f16, DType::f16, most);
  expect_each<Min, double, double>(DType::f64, DType::f64,
                                   [](const auto& column) { return *std::min_element(column.begin(), column.end()); });
}

TEST(short_columns, zeros_have_signs_and_a_nan_wins) {
  const Shape shape{.lines = 3, .rows = 1, .more = 3, .columns = 5};
  const auto x = numbers<float>(shape, [](std::size_t i) {
    return i == 7 ? std::numeric_limits<double>::quiet_NaN() : i % 2 == 0 ? -0.0 : i % 3 == 0 ? 0.0 : -1;
  });
  const auto results = folded<Max, float, float, float>(shape, x, DType::f32, DType::f32, {});
  each_column<float>(shape, x, [&](std::size_t output, const std::vector<double>& column) {
    float best = static_cast<float>(column[0]);
    for (const double one : column) best = Max<float>().combine(best, static_cast<float>(one));
    EXPECT_EQ(std::isnan(results[output]), std::isnan(best)) << output;
    if (std::isnan(best)) return;
    EXPECT_EQ(std::signbit(results[output]), std::signbit(best)) << output;
  });
}

TEST(short_columns, variances) {
  for (const Shape& shape : kShapes) {
    const auto x = numbers<float>(shape, [](std::size_t i) { return 100 + small_whole(i) / 8; });
    const auto results = folded<Variance, float, float, float>(shape, x, DType::f32, DType::f32, {});
    each_column<float>(shape, x, [&](std::size_t output, const std::vector<double>& column) {
      const double n = static_cast<double>(column.size()), mean = sum(column) / n;
      double spread = 0;
      for (const double one : column) spread += (one - mean) * (one - mean) / n;
      ASSERT_NEAR(results[output], spread, 1e-5) << output;
    });
  }
}

double logarithm(const std::vector<double>& column) {
  const double max = most(column);
  double all = 0;
  for (const double x : column) all += std::exp(x - max);
  return std::isinf(max) ? max : max + std::log(all);
}

// Around 0, around maxima, and both side by side: some columns are far away, some infinite, one in a while has a NaN.
TEST(short_columns, logarithms) {
  for (const int far : {0, 30, 3}) {
    const auto value = [&](std::size_t i) {
      const std::uint64_t column = far == 0 ? 1 : hash(i % 31) % static_cast<std::uint64_t>(far);
      if (far == 3 && hash(i) % 40 == 0) return std::numeric_limits<double>::quiet_NaN();
      return column == 0   ? 90 + small_whole(i)
             : column == 2 ? -std::numeric_limits<double>::infinity()
                           : small_whole(i) / 4;
    };
    for (const Shape& shape : kShapes) {
      const auto x = numbers<float>(shape, value);
      const auto results = folded<LogSumExp, float, float, float>(shape, x, DType::f32, DType::f32, {});
      each_column<float>(shape, x, [&](std::size_t output, const std::vector<double>& column) {
        const bool has_nan = std::any_of(column.begin(), column.end(), [](double one) { return std::isnan(one); });
        ASSERT_EQ(std::isnan(results[output]), has_nan) << output;
        const double expected = logarithm(column);
        if (has_nan || static_cast<double>(results[output]) == expected) return;
        ASSERT_NEAR(results[output], expected, 1e-6 * (1 + std::abs(expected))) << output;
      });
    }
  }
}

TEST(short_columns, a_logarithm_is_its_own_columns_whatever_lies_beside_it) {
  for (const Shape& shape : kShapes) {
    const auto is_far = [&](std::size_t column) { return column % 3 == 1; };
    const auto tame = numbers<float>(shape, [](std::size_t i) { return small_whole(i) / 4; });
    const auto mixed = numbers<float>(shape, [&](std::size_t i) {
      return small_whole(i) / 4 + (is_far(i % static_cast<std::size_t>(shape.pitch())) ? 200 : 0);
    });
    const auto alone = folded<LogSumExp, float, float, float>(shape, tame, DType::f32, DType::f32, {});
    const auto beside = folded<LogSumExp, float, float, float>(shape, mixed, DType::f32, DType::f32, {});
    for (std::size_t output = 0; output < alone.size(); ++output) {
      const auto lines = static_cast<std::size_t>(shape.lines), columns = static_cast<std::size_t>(shape.columns);
      if (is_far(shape.across ? output / lines : output % columns))
        ASSERT_NEAR(beside[output], alone[output] + 200, 2e-4) << output;
      else
        ASSERT_EQ(beside[output], alone[output]) << output;
    }
  }
}

TEST(short_columns, the_first_of_many_ties_and_the_last) {
  const auto value = [](std::size_t i) {
    return hash(i) % 50 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(hash(i) % 3);
  };
  for (const Shape& shape : kShapes) {
    const auto x = numbers<float>(shape, value);
    const auto up = folded<ArgMax, float, float, Index>(shape, x, DType::f32, DType::i64, {});
    const auto down = folded<ArgMax, float, float, Index>(shape, x, DType::f32, DType::i64, {}, 64, true);
    each_column<float>(shape, x, [&](std::size_t output, const std::vector<double>& column) {
      std::size_t first = 0, last = 0;
      const auto beats = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; };
      for (std::size_t k = 1; k < column.size(); ++k) {
        if (beats(column[k], column[first])) first = k;
        if (!beats(column[last], column[k])) last = k;
      }
      ASSERT_EQ(up[output], static_cast<Index>(first)) << output;
      ASSERT_EQ(down[output], static_cast<Index>(column.size() - 1 - last)) << output;  // the lowest index of these
    });
  }
}

TEST(short_columns, only_few_rows_that_lie_side_by_side) {
  const auto takes = [](const Shape& shape, Index stride = 1) {
    auto kept = shape.kept();
    const auto reduced = shape.reduced();
    kept[1].in = stride;
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.panel = 64, step.part = step.count = shape.count();
    return simd::fold_if_short<Sum, float, Loading::values, float>(step, 0, 0);
  };
  EXPECT_TRUE(takes({.lines = 2, .rows = 4, .more = 4, .columns = 2000}));
  EXPECT_FALSE(takes({.lines = 2, .rows = 17, .more = 1, .columns = 2000}));
  EXPECT_TRUE(takes({.lines = 2, .rows = 32, .more = 1, .columns = 9}));
  EXPECT_FALSE(takes({.lines = 2, .rows = 33, .more = 1, .columns = 9}));
  EXPECT_FALSE(takes({.lines = 2, .rows = 2, .more = 1, .columns = 9}, 2));
}

}  // namespace
}  // namespace ndfold::test
