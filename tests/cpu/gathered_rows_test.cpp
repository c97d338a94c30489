// Elements at every stride, and rows brought together: the same bits as dense rows, in whatever groups of blocks.
#include "kernels/cpu/softmax_rows.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

template <class T>
void expect_gathered() {
  for (Index n = 1; n < 150; ++n)
    for (const Index stride : {1, -1, 2, -2, 3, 0}) {
      std::vector<T> all(static_cast<std::size_t>((n - 1) * std::abs(stride) + 1)), got(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = T(static_cast<float>(i % 120));
      const T* x = all.data() + (stride < 0 ? all.size() - 1 : 0);
      simd::gather(x, stride, n, got.data());
      for (Index i = 0; i < n; ++i)
        ASSERT_EQ(static_cast<float>(got[static_cast<std::size_t>(i)]), static_cast<float>(x[i * stride]));
    }
}

TEST(gather, every_length_and_stride) {
  expect_gathered<float>(), expect_gathered<double>(), expect_gathered<simd::Half>();
}

void run(const cpu::Arguments& step, Index outputs, Index at_a_time) {
  for (Index first = 0; first < outputs; first += at_a_time)
    simd::softmax_rows<float>(step, first, std::min(outputs, first + at_a_time));
}

// [rows, n] with `step` elements from one to the next in the input, backwards where it is negative.
void expect_dense_bits(Index rows, Index n, Index stride, bool falls_out, SinkKind kind) {
  const Index span = n * std::abs(stride);
  std::vector<float> dense(static_cast<std::size_t>(rows * n)), wide(static_cast<std::size_t>(rows * span), -9.f);
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < n; ++i) {
      const float x = static_cast<float>(hash(static_cast<std::uint64_t>(r * n + i)) % 1000) / 100;
      const Index place = falls_out ? n - 1 - i : i;  // of the result
      dense[static_cast<std::size_t>(r * n + place)] = x;
      wide[static_cast<std::size_t>(r * span + (stride < 0 ? (n - 1 - i) * -stride : i * stride))] = x;
    }
  const std::size_t margin = 64;
  std::vector<float> want(dense.size()), got(dense.size() + 2 * margin, -77.f);
  const std::vector<Axis> kept = {{.size = rows, .in = n, .out = n}}, reduced = {{.size = n, .in = 1, .out = 1}};
  const std::vector<Axis> wide_kept = {{.size = rows, .in = span, .out = n}};
  const std::vector<Axis> wide_reduced = {{.size = n, .in = stride, .out = falls_out ? -1 : 1}};
  cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(dense.data()),
                      .out = reinterpret_cast<std::byte*>(want.data()),
                      .kept = list(kept),
                      .reduced = list(reduced)};
  step.sink = kind;
  step.part = step.count = n;
  run(step, rows, rows);
  step.kept = list(wide_kept);
  step.reduced = list(wide_reduced);
  step.in = reinterpret_cast<const std::byte*>(wide.data() + (stride < 0 ? (n - 1) * -stride : 0));
  float* const first = got.data() + margin;
  step.out = reinterpret_cast<std::byte*>(first + (falls_out ? n - 1 : 0));
  for (const Index at_a_time : {rows, Index{1}}) {
    std::fill(got.begin(), got.end(), -77.f);
    run(step, rows, at_a_time);
    ASSERT_EQ(std::memcmp(first, want.data(), want.size() * sizeof(float)), 0) << rows << " × " << n << " / " << stride;
    for (std::size_t i = 0; i < margin; ++i) ASSERT_TRUE(got[i] == -77.f && got[got.size() - 1 - i] == -77.f);
  }
}

TEST(gathered_rows, have_the_bits_of_dense_rows) {
  for (const SinkKind kind : {SinkKind::softmax, SinkKind::log_softmax})
    for (const Index n : {17, 33, 100, 128, 512, 600, 4099, 40000})
      for (const Index stride : {-1, 2, 3, -2})
        for (const bool falls_out : {false, true}) {
          expect_dense_bits(n > 10000 ? 3 : 41, n, stride, falls_out, kind);
          if (::testing::Test::HasFailure()) return;
        }
}

}  // namespace
}  // namespace ndfold::test
