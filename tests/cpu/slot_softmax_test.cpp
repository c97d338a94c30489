// Rows of 2, 4 and 8 elements in slots: right, the same bits wherever their results go and whoever takes which rows,
// and nothing else is written.
#include "kernels/cpu/slot_softmax.h"

#include "kernels/cpu/softmax_columns.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ndfold::test {
namespace {

constexpr Index kGuard = 100;  // elements before and after the results
constexpr double kScale = -0.75, kAlpha = 1.5;

template <class T>
struct Rows {
  Index rows, length;
  std::vector<T> in;

  Rows(Index r, Index n) : rows(r), length(n), in(static_cast<std::size_t>(r * n)) {
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<T>(static_cast<float>(hash(i) % 401) / 16 - static_cast<float>(i % 977 == 5 ? 1000 : 12));
  }

  // Results with a guard around them, `skipped` elements after a line; blocks end at `cut` and at the last.
  std::vector<T> softmax(SinkKind sink, bool past_caches, Index skipped, Index cut) const {
    const std::vector<Axis> kept = {{.size = rows, .in = length, .out = length}};
    const std::vector<Axis> reduced = {{.size = length, .in = 1, .out = 1}};
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.input = step.output = simd::kTypeOf<T>;
    step.part = length, step.panel = 32, step.sink = sink, step.past_caches = past_caches;
    step.scale = kScale, step.alpha = kAlpha;
    std::vector<T> memory(in.size() + 2 * kGuard, T(77));
    std::size_t first = 0;
    while (!simd::begins_line(memory.data() + first)) ++first;
    first += static_cast<std::size_t>(skipped);
    step.in = reinterpret_cast<const std::byte*>(in.data());
    step.out = reinterpret_cast<std::byte*>(memory.data() + first);
    const Index blocks = (rows + step.panel - 1) / step.panel;
    simd::softmax_columns<simd::NumberOf<T>>(step, 0, std::min(cut, blocks));
    if (cut < blocks) simd::softmax_columns<simd::NumberOf<T>>(step, cut, blocks);
    std::rotate(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(first), memory.end());
    return memory;
  }

  double expected(SinkKind sink, std::size_t i) const {
    const std::size_t begin = i / static_cast<std::size_t>(length) * static_cast<std::size_t>(length);
    const auto scaled = [&](std::size_t k) { return kScale * static_cast<double>(static_cast<float>(in[k])); };
    double sum = 0;
    for (std::size_t k = begin; k < begin + static_cast<std::size_t>(length); ++k)
      sum += std::exp(scaled(k) - scaled(i));
    return kAlpha * (sink == SinkKind::softmax ? 1 / sum : -std::log(sum));
  }
};

template <class T>
void expect_softmax(double bound) {
  for (const Index length : {2, 4, 8})
    for (const Index rows : {1, 2, 3, 31, 33, 256, 257, 1021})
      for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax}) {
        const Rows<T> some(rows, length);
        const auto results = some.softmax(sink, false, 0, 1000);
        for (std::size_t i = 0; i < some.in.size(); ++i) {
          const double expected = some.expected(sink, i);
          ASSERT_NEAR(static_cast<float>(results[i]), expected, bound * (1 + std::abs(expected)))
              << rows << " rows of " << length << ", element " << i;
        }
        ASSERT_EQ(std::count(results.begin() + static_cast<std::ptrdiff_t>(some.in.size()), results.end(), T(77)),
                  2 * kGuard);
        for (const bool past_caches : {false, true})
          for (const Index skipped : {0, 1, 7, 14})
            ASSERT_TRUE(some.softmax(sink, past_caches, skipped, skipped) == results)
                << rows << " rows of " << length << ", " << skipped << " elements after a line";
      }
}

TEST(slot_softmax, of_floats) { expect_softmax<float>(3e-6); }
TEST(slot_softmax, of_doubles) { expect_softmax<double>(1e-6); }
TEST(slot_softmax, of_halves) { expect_softmax<simd::Half>(2e-3); }

TEST(slot_softmax, a_nan_stays_in_its_row) {
  Rows<float> some(100, 4);
  some.in[13] = std::numeric_limits<float>::quiet_NaN();
  some.in[40] = std::numeric_limits<float>::infinity();  // times a negative scale: a power of 0
  for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax}) {
    const auto results = some.softmax(sink, false, 0, 1000);
    for (std::size_t i = 0; i < some.in.size(); ++i) EXPECT_EQ(results[i] != results[i], i / 4 == 3) << i;
  }
  EXPECT_EQ(some.softmax(SinkKind::softmax, false, 0, 1000)[40], 0);
}

}  // namespace
}  // namespace ndfold::test
