// Softmax of rows that are read twice: right, and the same bits in whatever groups and wherever results go, though some
// rows are far from 0, have a NaN, or nothing to sum.
#include "kernels/cpu/dense_softmax.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ndfold::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Index kRows = 8;

// Rows 2 and 3 are far, 5 has a NaN, 6 is of -inf only; everywhere some are -inf.
template <class T>
std::vector<T> rows_of(Index n) {
  std::vector<T> all(static_cast<std::size_t>(kRows * n));
  for (Index i = 0; i < kRows * n; ++i) {
    const Index row = i / n;
    const float away = row == 2 ? 700.f : row == 3 ? -90.f : 0.f;
    const float x = static_cast<float>(hash(static_cast<std::size_t>(i)) % 401) / 32 - 6;
    all[static_cast<std::size_t>(i)] = static_cast<T>(row == 6 || i % 911 == 3 ? -kInf : x + away);
  }
  all[static_cast<std::size_t>(5 * n + n / 2)] = static_cast<T>(kNan);
  return all;
}

template <class T>
struct LongRows {
  Index n;
  double scale, alpha;
  std::vector<T> in = rows_of<T>(n);

  // `at_a_time` rows a call; results begin `skipped` elements after a line.
  template <MapKind kMap>
  std::vector<T> softmax(bool past_caches, Index skipped, Index at_a_time) const {
    const std::vector<Axis> kept = {{.size = kRows, .in = n, .out = n}}, reduced = {{.size = n, .in = 1, .out = 1}};
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.input = step.output = simd::kTypeOf<T>;
    step.past_caches = past_caches, step.scale = scale, step.alpha = alpha;
    std::vector<T> memory(in.size() + 128, T(77));
    Index first = 0;
    while (!simd::begins_line(memory.data() + first)) ++first;
    first += skipped;
    step.in = reinterpret_cast<const std::byte*>(in.data());
    step.out = reinterpret_cast<std::byte*>(memory.data() + first);
    EXPECT_TRUE(simd::are_long_rows<T>(step));
    for (Index r = 0; r < kRows; r += at_a_time) simd::dense_softmax<T, kMap>(step, r, std::min(kRows, r + at_a_time));
    std::rotate(memory.begin(), memory.begin() + first, memory.end());
    EXPECT_EQ(std::count(memory.begin() + kRows * n, memory.end(), T(77)), 128);
    memory.resize(in.size());
    return memory;
  }

  template <MapKind kMap>
  void expect_right(const std::vector<T>& results, double bound) const {
    for (Index r = 0; r < kRows; ++r) {
      const auto y = [&](Index i) { return scale * static_cast<double>(static_cast<float>(in[r * n + i])); };
      double max = -kInf, sum = 0;
      for (Index i = 0; i < n; ++i) max = std::max(max, y(i));
      for (Index i = 0; i < n; ++i) sum += std::exp(y(i) - max);
      for (Index i = 0; i < n; ++i) {
        const double want =
            alpha * (kMap == MapKind::softmax ? std::exp(y(i) - max) / sum : y(i) - max - std::log(sum));
        const double got = static_cast<float>(results[r * n + i]);
        if (r >= 5 && r <= 6)
          ASSERT_TRUE(std::isnan(got)) << "row " << r;
        else if (want == -kInf || want == 0)
          ASSERT_EQ(got, want) << "row " << r;
        else
          ASSERT_NEAR(got, want, bound * std::abs(want) + 1e-7 * (kMap == MapKind::softmax ? 0.0 : 30.0) + 6e-8)
              << "row " << r << ", element " << i;
      }
    }
  }
};

std::vector<std::byte> bytes_of(const auto& values) {
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  return {first, first + values.size() * sizeof values[0]};
}

template <MapKind kMap, class T>
void expect_softmax(const LongRows<T>& rows, double bound) {
  const std::vector<T> results = rows.template softmax<kMap>(false, 0, kRows);
  rows.template expect_right<kMap>(results, bound);
  EXPECT_EQ(bytes_of(rows.template softmax<kMap>(false, 5, 1)), bytes_of(results));
  EXPECT_EQ(bytes_of(rows.template softmax<kMap>(true, 0, 3)), bytes_of(results));
  EXPECT_EQ(bytes_of(rows.template softmax<kMap>(true, 5, kRows)), bytes_of(results));
}

template <class T>
void expect_all(Index n, double scale, double alpha, double bound) {
  if constexpr (simd::kHasElementLanes<T>) {
    const LongRows<T> rows{n, scale, alpha};
    expect_softmax<MapKind::softmax>(rows, bound);
    expect_softmax<MapKind::log_softmax>(rows, bound);
  }
}

constexpr Index kLength = (1 << 18) + 1;  // the first whose powers find no room

TEST(long_softmax, of_floats) { expect_all<float>(kLength, 1, 1, 4e-6); }
TEST(long_softmax, of_floats_scaled_and_weighted) { expect_all<float>(kLength + 70, 0.5, 1.5, 4e-6); }
TEST(long_softmax, of_halves) { expect_all<simd::Half>(kLength, 1, 1, 2e-3); }
TEST(long_softmax, of_brain_halves) { expect_all<simd::Bfloat16>(kLength, 1, 1, 9e-3); }

}  // namespace
}  // namespace ndfold::test
