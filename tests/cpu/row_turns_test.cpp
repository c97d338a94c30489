// Rows that are read in turns give what each gives alone, bit by bit: any fold, length, pitch and number of them.
#include "kernels/cpu/fold_rows.h"
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/moments.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ndfold::test {
namespace {

using namespace folds;

struct Shape {
  Index rows, length, gap = 0, parts = 1;
};
const std::vector<Shape> kShapes = {{3, 50},         {4, 1},        {5, 17, 3},      {9, 64},         {70, 300, 1},
                                    {4, 2048, 8},    {7, 2053, 5},  {6, 9001},       {1, 6000, 0, 6}, {3, 5000, 1, 7},
                                    {2, 9000, 0, 3}, {11, 1025, 2}, {1, 40000, 0, 4}};

// As fold_each_row<F, A> does by itself, from small inputs.
template <template <class> class F, class A, class T, class Out, class Value>
void expect_as_alone(DType type, DType result, const Value& value) {
  for (const Shape& shape : kShapes) {
    const Index pitch = shape.length + shape.gap;
    std::vector<T> x(static_cast<std::size_t>(shape.rows * pitch));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(value(i));
    std::vector<Axis> kept;
    if (shape.rows > 1) kept.push_back({.size = shape.rows, .in = pitch, .out = 1});
    const std::vector<Axis> reduced = {{.size = shape.length, .in = 1, .out = 1}};
    cpu::Arguments step{
        .in = reinterpret_cast<const std::byte*>(x.data()), .kept = list(kept), .reduced = list(reduced)};
    step.input = type, step.output = result, step.count = shape.length;
    step.part = (shape.length + shape.parts - 1) / shape.parts, step.parts = shape.parts;
    if (shape.parts > 1) step.sink = SinkKind::store_state;
    if (shape.parts > 1 && sizeof(typename F<A>::State) != sizeof(Out)) continue;  // which might have padding
    const Index blocks = shape.rows * shape.parts;
    const auto run = [&](const auto& work) {
      std::vector<Out> out(static_cast<std::size_t>(blocks), Out(77));
      step.out = reinterpret_cast<std::byte*>(out.data());
      work();
      return out;
    };
    const auto alone = run([&] {
      for (Index b = 0; b < blocks; ++b)  // too few for turns
        simd::fold_each_row<F, A, simd::Loading::values, T>(step, {.scale = 1, .ddof = 1}, b, b + 1);
    });
    Index left = 0;
    const auto turns = run([&] {
      const Index first = blocks > 4 ? 1 : 0;
      left = simd::fold_rows_in_turns<F, A, T>(step, {.scale = 1, .ddof = 1}, first, blocks);
      for (Index b = 0; b < blocks; ++b)
        if (b < first || b >= left)
          simd::fold_each_row<F, A, simd::Loading::values, T>(step, {.scale = 1, .ddof = 1}, b, b + 1);
    });
    EXPECT_EQ(blocks < simd::kInTurns, left == 0) << "were some read in turns? " << shape.rows << " " << shape.length;
    ASSERT_EQ(std::memcmp(alone.data(), turns.data(), alone.size() * sizeof(Out)), 0)
        << shape.rows << " rows of " << shape.length << ", gaps of " << shape.gap << ", " << shape.parts << " parts";
  }
}

float number(std::size_t i) { return static_cast<float>(hash(i) % 2001) / 7 - 100; }

// NaNs of the machine's own kind, zeros of both signs and infinities, often none of them for long.
float odd(std::size_t i) {
  using L = std::numeric_limits<float>;
  constexpr float kOdd[] = {L::quiet_NaN(), L::infinity(), -L::infinity(), 0.f, -0.f};
  return hash(i / 500) % 3 != 0 || hash(i) % 20 != 0 ? -1 - static_cast<float>(hash(i) % 5) : kOdd[hash(i) / 20 % 5];
}

TEST(row_turns, sums) {
  expect_as_alone<Sum, float, float, float>(DType::f32, DType::f32, number);
  expect_as_alone<Sum, double, double, double>(DType::f64, DType::f64, number);
  expect_as_alone<Sum, float, simd::Half, float>(DType::f16, DType::f32, number);
  expect_as_alone<Sum, float, simd::BrainHalf, float>(DType::bf16, DType::f32, number);
}

TEST(row_turns, extrema) {
  expect_as_alone<Max, float, float, float>(DType::f32, DType::f32, odd);
  expect_as_alone<Min, double, double, double>(DType::f64, DType::f64, odd);
  expect_as_alone<Max, float, simd::Half, float>(DType::f16, DType::f32, odd);
}

TEST(row_turns, places) {
  expect_as_alone<ArgMax, float, float, Index>(DType::f32, DType::i64, odd);
  expect_as_alone<ArgMin, double, double, Index>(DType::f64, DType::i64, odd);
}

TEST(row_turns, moments) {
  expect_as_alone<Variance, float, float, float>(DType::f32, DType::f32, number);
  expect_as_alone<Variance, double, double, double>(DType::f64, DType::f64, number);
}

TEST(row_turns, integers) {
  const auto bits = [](std::size_t i) { return hash(i); };
  expect_as_alone<Sum, std::uint64_t, std::uint8_t, std::int64_t>(DType::u8, DType::i64, bits);
  expect_as_alone<Sum, std::uint64_t, std::int32_t, std::int64_t>(DType::i32, DType::i64, bits);
  expect_as_alone<SumOfSquares, std::uint64_t, std::int16_t, std::int64_t>(DType::i16, DType::i64, bits);
  expect_as_alone<Mean, double, std::int32_t, double>(DType::i32, DType::f64, bits);
  expect_as_alone<Max, std::int32_t, std::int32_t, std::int32_t>(DType::i32, DType::i32, bits);
  expect_as_alone<Min, std::uint8_t, std::uint8_t, std::uint8_t>(DType::u8, DType::u8, bits);
}

}  // namespace
}  // namespace ndfold::test
