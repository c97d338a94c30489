// logsumexp down columns: around 0 where sums are tame, around maxima elsewhere, wherever blocks end.
#include "kernels/cpu/raised_panels.h"

#include "kernels/cpu/softmax_states.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ndfold::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// What columns hold besides numbers around 0.
enum class Others { none, far, all };

struct Shape {
  Index lines, rows, columns, panel;
};

double element(std::size_t column, std::size_t i, Others others) {
  const double near = static_cast<double>(hash(i) % 1000) / 200 - 2;
  const std::uint64_t kind = hash(column) % 20;
  if (others == Others::none || kind > 3) return near;
  if (kind == 0) return 95 + near;
  if (kind == 1) return -120 + near;
  if (others == Others::far) return near;
  if (kind == 2) return -kInfinite;
  return hash(i) % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : hash(i) % 7 == 1 ? kInfinite : near;
}

double logarithm(const std::vector<double>& column) {
  const double max = *std::max_element(column.begin(), column.end());
  if (std::isinf(max)) return max;
  double all = 0;
  for (const double x : column) all += std::exp(x - max);
  return max + std::log(all);
}

template <class T>
void expect_logarithms(const Shape& shape, Others others, Index task) {
  const auto count = static_cast<std::size_t>(shape.lines * shape.rows * shape.columns);
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = T(static_cast<float>(element(i % static_cast<std::size_t>(shape.columns), i, others)));
  const std::vector<Axis> kept = {{.size = shape.lines, .in = shape.rows * shape.columns, .out = shape.columns},
                                  {.size = shape.columns, .in = 1, .out = 1}};
  const std::vector<Axis> reduced = {{.size = shape.rows, .in = shape.columns, .out = 1}};
  std::vector<float> out(static_cast<std::size_t>(shape.lines * shape.columns), -1);
  cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
  step.input = simd::kTypeOf<T>, step.output = DType::f32, step.panel = shape.panel;
  step.part = step.count = shape.rows;
  step.in = reinterpret_cast<const std::byte*>(x.data()), step.out = reinterpret_cast<std::byte*>(out.data());
  const Index blocks = simd::column_blocks(step);
  for (Index first = 0; first < blocks; first += task)
    simd::fold_softmax_columns<folds::LogSumExp, float>(step, first, std::min(first + task, blocks));
  for (std::size_t o = 0; o < out.size(); ++o) {
    const std::size_t line = o / static_cast<std::size_t>(shape.columns),
                      c = o % static_cast<std::size_t>(shape.columns);
    std::vector<double> column;
    for (Index r = 0; r < shape.rows; ++r)
      column.push_back(static_cast<double>(
          static_cast<float>(x[(line * static_cast<std::size_t>(shape.rows) + static_cast<std::size_t>(r)) *
                                   static_cast<std::size_t>(shape.columns) +
                               c])));
    const bool has_nan = std::any_of(column.begin(), column.end(), [](double one) { return std::isnan(one); });
    ASSERT_EQ(std::isnan(out[o]), has_nan) << o;
    if (has_nan) continue;
    const double expected = logarithm(column);
    if (static_cast<double>(out[o]) == expected) continue;
    ASSERT_NEAR(out[o], expected, 2e-6 * (1 + std::abs(expected))) << o;
  }
}

template <class T>
void expect_all() {
  for (const Shape& shape :
       {Shape{2, 40, 1000, 256}, Shape{1, 500, 333, 128}, Shape{3, 65, 64, 64}, Shape{2, 33, 2100, 1024}})
    for (const Others others : {Others::none, Others::far, Others::all})
      for (const Index task : {1, 1000}) {
        SCOPED_TRACE(::testing::Message() << shape.lines << "x" << shape.rows << "x" << shape.columns);
        expect_logarithms<T>(shape, others, task);
      }
}

TEST(raised_panels, logarithms_of_f32) { expect_all<float>(); }
TEST(raised_panels, logarithms_of_16_bits) {
  expect_all<simd::Half>();
  expect_all<simd::BrainHalf>();
}

}  // namespace
}  // namespace ndfold::test
