// Results of short rows that go past the caches are those that go through them, bit for bit, and nothing beside them is
// written.
#include "kernels/cpu/sink.h"

#include "kernels/cpu/fold_rows.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using namespace folds;

constexpr Index kGuard = 70;  // elements before and after the results

cpu::Arguments rows_of(const std::vector<Axis>& kept, const std::vector<Axis>& reduced) {
  cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
  step.part = step.count = reduced[0].size;
  return step;
}

/// Memory with the results of `rows` rows, `skipped` elements behind the beginning of a line, and a guard around them.
template <template <class> class F, class A, class In, class Out>
std::vector<Out> results(const std::vector<In>& in, Index rows, bool past_caches, std::size_t skipped) {
  const Index length = static_cast<Index>(in.size()) / rows;
  const std::vector<Axis> kept = {{.size = rows, .in = length, .out = 1}};
  const std::vector<Axis> reduced = {{.size = length, .in = 1, .out = 1}};
  cpu::Arguments step = rows_of(kept, reduced);
  step.input = simd::kTypeOf<In>, step.output = simd::kTypeOf<Out>, step.past_caches = past_caches;
  std::vector<Out> memory(static_cast<std::size_t>(rows + 2 * kGuard), static_cast<Out>(77));
  while (!simd::begins_line(memory.data() + skipped)) ++skipped;
  step.in = reinterpret_cast<const std::byte*>(in.data());
  step.out = reinterpret_cast<std::byte*>(memory.data() + skipped);
  simd::fold_rows<F, A>(step, 0, rows);
  std::rotate(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(skipped), memory.end());
  return memory;
}

template <template <class> class F, class A, class In, class Out>
void expect_as_through_caches() {
  for (const Index length : {2, 7, 16, 17, 30, 64})
    for (const Index rows : {1, 15, 64, 250, 1100}) {
      std::vector<In> in(static_cast<std::size_t>(rows * length));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<In>(hash(i) % 100);
      const auto expected = results<F, A, In, Out>(in, rows, false, 0);
      for (const std::size_t skipped : {0, 1, 5})
        ASSERT_EQ((results<F, A, In, Out>(in, rows, true, skipped)), expected)
            << rows << " rows of " << length << ", " << skipped << " elements behind a line";
      ASSERT_EQ(std::count(expected.begin() + rows, expected.end(), static_cast<Out>(77)), 2 * kGuard);
    }
}

TEST(sink, past_the_caches_as_through_them) {
  expect_as_through_caches<Sum, float, float, float>();
  expect_as_through_caches<Max, double, double, double>();
  expect_as_through_caches<Variance, float, float, float>();
  expect_as_through_caches<Sum, std::uint64_t, std::uint8_t, std::int64_t>();
  expect_as_through_caches<Max, std::int16_t, std::int16_t, std::int16_t>();
  expect_as_through_caches<ArgMax, float, float, std::int64_t>();
}

// Where results are few beside the elements, or states, they go through the caches.
TEST(sink, few_results_stay) {
  const std::vector<Axis> kept = {{.size = 9, .in = 40, .out = 1}}, few = {{.size = 32, .in = 1, .out = 1}},
                          many = {{.size = 33, .in = 1, .out = 1}};
  cpu::Arguments step = rows_of(kept, few);
  EXPECT_FALSE(simd::streams_results(step));
  step.past_caches = true;
  EXPECT_TRUE(simd::streams_results(step));
  step.sink = SinkKind::store_state;
  EXPECT_FALSE(simd::streams_results(step));
  step = rows_of(kept, many);
  step.past_caches = true;
  EXPECT_FALSE(simd::streams_results(step));
  step.output = DType::f64;
  EXPECT_TRUE(simd::streams_results(step));
}

}  // namespace
}  // namespace ndfold::test
