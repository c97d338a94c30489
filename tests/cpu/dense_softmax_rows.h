// Softmax of dense rows by the kernels alone, with a guard around the results, and what it ought to be.
#pragma once
#include "kernels/cpu/softmax_columns.h"
#include "kernels/cpu/softmax_rows.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ndfold::test {

inline constexpr Index kGuard = 100;  // elements before and after the results

template <class T>
struct DenseSoftmaxRows {
  Index rows, length;
  double scale, alpha = 1.5;
  std::vector<T> in;

  DenseSoftmaxRows(Index r, Index n, double by) : rows(r), length(n), scale(by), in(static_cast<std::size_t>(r * n)) {
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<T>(static_cast<float>(hash(i) % 401) / 16 - static_cast<float>(i % 977 == 5 ? 1000 : 12));
  }

  // Results, `skipped` elements after a line; blocks of `panel` rows end at `cut` and at the last.
  std::vector<T> softmax(SinkKind sink, bool past_caches, Index skipped, Index cut, Index panel = 32) const {
    using A = simd::NumberOf<T>;
    const std::vector<Axis> kept = {{.size = rows, .in = length, .out = length}};
    const std::vector<Axis> reduced = {{.size = length, .in = 1, .out = 1}};
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.input = step.output = simd::kTypeOf<T>;
    step.part = length, step.panel = panel, step.sink = sink, step.past_caches = past_caches;
    step.scale = scale, step.alpha = alpha;
    std::vector<T> memory(in.size() + 2 * kGuard, T(77));
    std::size_t first = 0;
    while (!simd::begins_line(memory.data() + first)) ++first;
    first += static_cast<std::size_t>(skipped);
    step.in = reinterpret_cast<const std::byte*>(in.data());
    step.out = reinterpret_cast<std::byte*>(memory.data() + first);
    const bool by_columns = length <= simd::kFewRows;
    const Index blocks = by_columns ? (rows + panel - 1) / panel : rows, middle = std::min(cut, blocks);
    const auto run = by_columns ? simd::softmax_columns<A> : simd::softmax_rows<A>;
    run(step, 0, middle);
    if (middle < blocks) run(step, middle, blocks);
    std::rotate(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(first), memory.end());
    return memory;
  }

  double expected(SinkKind sink, std::size_t i) const {
    const std::size_t begin = i / static_cast<std::size_t>(length) * static_cast<std::size_t>(length);
    const auto scaled = [&](std::size_t k) { return scale * static_cast<double>(static_cast<float>(in[k])); };
    double sum = 0;
    for (std::size_t k = begin; k < begin + static_cast<std::size_t>(length); ++k)
      sum += std::exp(scaled(k) - scaled(i));
    return alpha * (sink == SinkKind::softmax ? 1 / sum : -std::log(sum));
  }

  // Right, and the same bits wherever results go and whoever takes which rows; nothing else is written.
  void expect_right(double bound) const {
    for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax}) {
      const auto results = softmax(sink, false, 0, 100000);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const double right = expected(sink, i);
        ASSERT_NEAR(static_cast<float>(results[i]), right, bound * (1 + std::abs(right)))
            << rows << " rows of " << length << ", element " << i;
      }
      ASSERT_EQ(std::count(results.begin() + static_cast<std::ptrdiff_t>(in.size()), results.end(), T(77)), 2 * kGuard);
      for (const bool past_caches : {false, true})
        for (const Index skipped : {0, 1, 7, 14})
          ASSERT_TRUE(softmax(sink, past_caches, skipped, skipped) == results)
              << rows << " rows of " << length << ", " << skipped << " elements after a line";
    }
  }
};

// A NaN, infinities and rows of nothing else change the results of their own row alone.
inline void expect_what_is_not_finite_to_stay(Index rows, Index length) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  DenseSoftmaxRows<float> some(rows, length, 0.75);
  const auto row = [&](Index r) { return some.in.begin() + r * length; };
  row(5)[1] = std::numeric_limits<float>::quiet_NaN();
  row(6)[2] = kInf;
  row(8)[0] = -kInf;
  std::fill(row(10), row(11), -kInf);
  for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax}) {
    const auto results = some.softmax(sink, false, 0, 1000);
    for (Index i = 0; i < rows * length; ++i) {
      const Index r = i / length;
      ASSERT_EQ(std::isnan(results[static_cast<std::size_t>(i)]), r == 5 || r == 6 || r == 10)
          << "row " << r << " of " << length;
    }
    EXPECT_EQ(results[static_cast<std::size_t>(8 * length)], sink == SinkKind::softmax ? 0 : -kInf);
  }
}

}  // namespace ndfold::test
