// Results of columns that go past the caches are those that go through them, bit for bit, and nothing beside them is
// written; a lone row comes out as it is.
#include "kernels/cpu/column_sink.h"

#include "kernels/cpu/fold_columns.h"
#include "kernels/folds/norms.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using namespace folds;

constexpr Index kGuard = 70;  // elements before and after the results

template <class T>
std::vector<T> some_values(Index count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<double>(hash(i) % 4001) / 8 - 250);
  return values;
}

struct Way {
  bool past_caches;
  Index skipped;  // elements from a line to the first result
};

/// Memory with the results of `columns` columns of `rows` rows, as `Out`, and a guard around them.
template <template <class> class F, class A, class Out = A>
std::vector<Out> results(const std::vector<A>& in, Index rows, Index columns, Way way) {
  const std::vector<Axis> kept = {{.size = columns, .in = 1, .out = 1}};
  const std::vector<Axis> reduced = {{.size = rows, .in = columns, .out = columns}};
  cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
  step.input = simd::kTypeOf<A>, step.output = simd::kTypeOf<Out>;
  step.part = step.count = rows, step.panel = 1024, step.past_caches = way.past_caches;
  std::vector<Out> memory(static_cast<std::size_t>(columns + 2 * kGuard), static_cast<Out>(77));
  std::size_t first = 0;
  while (!simd::begins_line(memory.data() + first)) ++first;
  first += static_cast<std::size_t>(way.skipped);
  step.in = reinterpret_cast<const std::byte*>(in.data());
  step.out = reinterpret_cast<std::byte*>(memory.data() + first);
  simd::fold_columns<F, A>(step, 0, (columns + step.panel - 1) / step.panel);
  std::rotate(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(first), memory.end());
  return memory;
}

template <template <class> class F, class A, class Out = A>
void expect_as_through_caches() {
  for (const Index rows : {1, 2, 7, 8, 9, 32, 33})
    for (const Index columns : {1, 15, 16, 17, 250, 1024, 1025, 5003}) {
      const auto in = some_values<A>(rows * columns);
      const auto expected = results<F, A, Out>(in, rows, columns, {.past_caches = false, .skipped = 0});
      for (const Index skipped : {0, 1, 5, 15})
        ASSERT_EQ((results<F, A, Out>(in, rows, columns, {.past_caches = true, .skipped = skipped})), expected)
            << rows << " rows of " << columns << ", " << skipped << " elements from a line";
      ASSERT_EQ(std::count(expected.begin() + columns, expected.end(), static_cast<Out>(77)), 2 * kGuard);
    }
}

TEST(column_sink, past_the_caches_as_through_them) {
  expect_as_through_caches<Sum, float>();
  expect_as_through_caches<Sum, double>();
  expect_as_through_caches<Mean, float>();
  expect_as_through_caches<Max, double>();
  expect_as_through_caches<Variance, float>();
  expect_as_through_caches<Max, std::int32_t>();
  expect_as_through_caches<Sum, float, double>();  // which is no type of its own lanes
}

TEST(column_sink, a_lone_row_comes_out_as_it_is) {
  for (const Index columns : {3, 16, 1000, 4099}) {
    const auto in = some_values<float>(columns);
    for (const bool past_caches : {false, true}) {
      auto out = results<Max, float>(in, 1, columns, {.past_caches = past_caches, .skipped = 3});
      out.resize(in.size());
      EXPECT_EQ(out, in) << columns;
    }
  }
}

}  // namespace
}  // namespace ndfold::test
