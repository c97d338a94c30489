// Rows that are taken as many at a time as there are lanes have the bits that each has alone, whoever is beside it.
#include "kernels/cpu/short_rows.h"

#include "kernels/cpu/dense_softmax.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ndfold::test {
namespace {

constexpr Index kWidth = simd::kLanes<simd::LanesOf<float>>, kGap = 3;

// Some rows are not finite: among them the last of a batch, and the first of the next.
std::vector<float> rows_with_gaps(Index rows, Index n) {
  std::vector<float> in(static_cast<std::size_t>(rows * (n + kGap)));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(hash(i) % 401) / 16 - 12;
  const auto put = [&](Index row, Index i, float value) {
    if (row < rows) in[static_cast<std::size_t>(row * (n + kGap) + i)] = value;
  };
  put(kWidth - 1, n / 2, std::numeric_limits<float>::quiet_NaN());
  put(kWidth, n - 1, std::numeric_limits<float>::infinity());
  for (Index i = 0; i < n; ++i) put(kWidth + 1, i, -std::numeric_limits<float>::infinity());
  put(2 * kWidth, 0, -std::numeric_limits<float>::infinity());
  return in;
}

// `run` over all rows at once, and over each alone, with results `out_stride` elements from each other.
template <class Run>
void expect_same_bits(Run run, Index rows, Index n, Index out_stride, bool past_caches) {
  const std::vector<float> in = rows_with_gaps(rows, n);
  const std::vector<Axis> kept = {{.size = rows, .in = n + kGap, .out = out_stride}};
  const std::vector<Axis> reduced = {{.size = n, .in = 1, .out = 1}};
  const auto results = [&](Index at_a_time) {
    std::vector<float> out(static_cast<std::size_t>(rows * out_stride), 77.f);
    cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(in.data()),
                        .out = reinterpret_cast<std::byte*>(out.data()),
                        .kept = list(kept),
                        .reduced = list(reduced)};
    step.input = step.output = DType::f32;
    step.part = n, step.scale = 0.75, step.alpha = 1.5, step.past_caches = past_caches;
    for (Index row = 0; row < rows; row += at_a_time) run(step, row, std::min(rows, row + at_a_time));
    return out;
  };
  const auto together = results(rows), alone = results(1);
  EXPECT_EQ(std::memcmp(together.data(), alone.data(), alone.size() * sizeof(float)), 0)
      << rows << " rows of " << n << (past_caches ? " past the caches" : "");
}

template <class Check>
void for_some_rows(Check check) {
  for (const Index n : {Index{1}, kWidth, kWidth + 1, 4 * kWidth - 1, 4 * kWidth, 4 * kWidth + 1, 9 * kWidth + 2})
    for (const Index rows : {kWidth - 1, kWidth, kWidth + 1, 2 * kWidth, 3 * kWidth + 1, 5 * kWidth - 1})
      check(rows, n);
}

template <MapKind kMap>
void expect_softmax() {
  for_some_rows([](Index rows, Index n) {
    for (const Index out_stride : {n, n + kGap})
      for (const bool past_caches : {false, true}) {
        expect_same_bits(simd::short_softmax<float, kMap, 0>, rows, n, out_stride, past_caches);
        if (n > 3 * kWidth && n <= 4 * kWidth)
          expect_same_bits(simd::short_softmax<float, kMap, 4>, rows, n, out_stride, past_caches);
      }
  });
}

TEST(short_rows, softmax) { expect_softmax<MapKind::softmax>(); }
TEST(short_rows, log_softmax) { expect_softmax<MapKind::log_softmax>(); }
TEST(short_rows, logsumexp) {
  for_some_rows([](Index rows, Index n) { expect_same_bits(simd::logsumexp_short_rows<float>, rows, n, 1, false); });
}

}  // namespace
}  // namespace ndfold::test
