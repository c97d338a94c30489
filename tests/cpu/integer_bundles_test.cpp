// Short runs of integers: sums and squares of every length, and bundles of them in rows of several axes.
#include "kernels/cpu/integer_bundles.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

template <class T>
std::vector<T> some(std::size_t n, std::uint64_t seed) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(hash(seed + i));
  return x;
}

template <class T>
void expect_runs() {
  for (std::size_t n = 1; n < 400; ++n) {
    const std::vector<T> x = some<T>(n, n);
    const auto size = static_cast<Index>(n);
    std::uint64_t sum = 0, squares = 0;
    for (const T one : x) {
      const auto wide = static_cast<std::uint64_t>(one);
      sum += wide, squares += wide * wide;
    }
    if constexpr (!std::is_same_v<T, std::int64_t>) {  // which folds take for what it is modulo 2^64
      ASSERT_EQ(simd::sum_of_run(x.data(), size), sum) << n;
      ASSERT_EQ(simd::squares_of_run(x.data(), size), squares) << n;
    }
  }
}

TEST(integer_bundles, runs_of_every_length) {
  expect_runs<std::int8_t>(), expect_runs<std::uint8_t>();
  expect_runs<std::int16_t>(), expect_runs<std::uint16_t>();
  expect_runs<std::int32_t>(), expect_runs<std::uint32_t>();
  expect_runs<std::int64_t>(), expect_runs<std::uint64_t>();
}

// A few runs at once, some of each in turn.
template <class NumberFold, class Total, class T>
void expect_turns() {
  for (const Index n : {1, 5, 64, 127, 256, 1000, 1024, 1025, 5000}) {
    const std::vector<T> x = some<T>(static_cast<std::size_t>(n + 15), 3);
    const simd::Starts<T> starts = {x.data(), x.data() + 3, x.data() + 7, x.data() + 15};
    const auto numbers = simd::numbers_in_turns<NumberFold, Total>(starts, n);
    for (std::size_t s = 0; s < starts.size(); ++s)
      ASSERT_EQ(numbers[s], (simd::number_of_run<NumberFold, Total>(starts[s], n))) << "run " << s << " of " << n;
  }
}

TEST(integer_bundles, runs_in_turns) {
  expect_turns<folds::Sum<std::uint64_t>, std::uint64_t, std::int32_t>();
  expect_turns<folds::Sum<std::uint64_t>, std::uint64_t, std::uint8_t>();
  expect_turns<folds::SumOfSquares<std::uint64_t>, std::uint64_t, std::int16_t>();
  expect_turns<folds::Mean<double>, double, std::int32_t>();
  expect_turns<folds::Max<std::int32_t>, std::int32_t, std::int32_t>();
  expect_turns<folds::Min<std::uint8_t>, std::uint8_t, std::uint8_t>();
}

// Squares that fill a lane of 32 bits as often as they may, and once more.
TEST(integer_bundles, squares_do_not_overflow) {
  for (const std::size_t n : {std::size_t{65536 * 64}, std::size_t{65536 * 64 + 300}}) {
    const std::vector<std::uint8_t> high(n, 255);
    EXPECT_EQ(simd::squares_of_run(high.data(), static_cast<Index>(n)), n * 65025);
    const std::vector<std::int8_t> low(n, -128);
    EXPECT_EQ(simd::squares_of_run(low.data(), static_cast<Index>(n)), n * 16384);
  }
}

// [outer, outputs, run], reduced over the first and the last axis.
template <template <class> class F, class A, class T>
void expect_bundled(Index outer, Index outputs, Index length, DType type, DType result) {
  const std::vector<T> x = some<T>(static_cast<std::size_t>(outer * outputs * length), 5);
  const std::vector<Axis> kept = {{.size = outputs, .in = length, .out = 1}};
  const std::vector<Axis> reduced = {{.size = outer, .in = outputs * length, .out = 0}, {.size = length, .in = 1}};
  std::vector<A> out(static_cast<std::size_t>(outputs) + 1, A(77));
  cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(x.data()),
                      .out = reinterpret_cast<std::byte*>(out.data()),
                      .kept = list(kept),
                      .reduced = list(reduced)};
  step.input = type, step.output = result;
  step.part = step.count = outer * length;
  ASSERT_TRUE((simd::are_short_integers<simd::Loading::values, T>(step)));
  simd::fold_integer_bundles<F, A, T>(step, {}, 0, outputs / 3);
  simd::fold_integer_bundles<F, A, T>(step, {}, outputs / 3, outputs);
  const F<A> fold;
  for (Index o = 0; o < outputs; ++o) {
    A want = fold.identity();
    for (Index i = 0; i < outer; ++i)
      for (Index j = 0; j < length; ++j) {
        const T element = x[static_cast<std::size_t>((i * outputs + o) * length + j)];
        want = fold.combine(want, fold.map(static_cast<A>(element), 0));
      }
    ASSERT_EQ(out[static_cast<std::size_t>(o)], want) << "output " << o << " of " << outputs << ", runs of " << length;
  }
  EXPECT_EQ(out.back(), A(77));
}

TEST(integer_bundles, fold_as_one_after_the_other) {
  for (const Index outer : {1, 3, 40})
    for (const Index outputs : {1, 7, 300})
      for (const Index length : {1, 5, 64, 129}) {
        expect_bundled<folds::Sum, std::uint64_t, std::int8_t>(outer, outputs, length, DType::i8, DType::u64);
        expect_bundled<folds::Sum, std::uint64_t, std::uint16_t>(outer, outputs, length, DType::u16, DType::u64);
        expect_bundled<folds::SumOfSquares, std::uint64_t, std::int32_t>(outer, outputs, length, DType::i32,
                                                                         DType::u64);
        expect_bundled<folds::Max, std::uint8_t, std::uint8_t>(outer, outputs, length, DType::u8, DType::u8);
        expect_bundled<folds::Min, std::int64_t, std::int64_t>(outer, outputs, length, DType::i64, DType::i64);
      }
}

// The same of indices: few values, so that many are equal.
template <template <class> class F, class T>
void expect_places(Index outer, Index outputs, Index length, DType type) {
  std::vector<T> x = some<T>(static_cast<std::size_t>(outer * outputs * length), 9);
  for (T& one : x) one = static_cast<T>(one % 3);
  const std::vector<Axis> kept = {{.size = outputs, .in = length, .out = 1}};
  const std::vector<Axis> reduced = {{.size = outer, .in = outputs * length, .out = 2 * length},
                                     {.size = length, .in = 1, .out = 2}};
  std::vector<std::int64_t> out(static_cast<std::size_t>(outputs) + 1, 77);
  cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(x.data()),
                      .out = reinterpret_cast<std::byte*>(out.data()),
                      .kept = list(kept),
                      .reduced = list(reduced)};
  step.input = type, step.output = DType::i64;
  step.part = step.count = outer * length;
  ASSERT_TRUE((simd::are_short_indexed_integers<F, T, simd::Loading::values, T>(step)));
  simd::fold_integer_bundles<F, T, T>(step, {}, 0, outputs / 3);
  simd::fold_integer_bundles<F, T, T>(step, {}, outputs / 3, outputs);
  const F<T> fold;
  for (Index o = 0; o < outputs; ++o) {
    auto want = fold.identity();
    for (Index i = 0; i < outer; ++i)
      for (Index j = 0; j < length; ++j)
        want = fold.combine(want, {x[static_cast<std::size_t>((i * outputs + o) * length + j)], 2 * (i * length + j)});
    ASSERT_EQ(out[static_cast<std::size_t>(o)], want.index) << "output " << o << ", runs of " << length;
  }
  EXPECT_EQ(out.back(), 77);
}

TEST(integer_bundles, places_of_extrema) {
  for (const Index outer : {1, 3, 40})
    for (const Index outputs : {1, 7, 300})
      for (const Index length : {1, 5, 64, 129, 1000}) {
        expect_places<folds::ArgMax, std::uint8_t>(outer, outputs, length, DType::u8);
        expect_places<folds::ArgMin, std::int32_t>(outer, outputs, length, DType::i32);
        expect_places<folds::ArgMax, std::int64_t>(outer, outputs, length, DType::i64);
      }
}

}  // namespace
}  // namespace ndfold::test
