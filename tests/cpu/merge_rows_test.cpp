// States of many outputs merge as a tree of each would, whatever their number, and however outputs lie.
#include "kernels/cpu/merge_rows.h"

#include "tests/support/values.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::test {
namespace {

using folds::Sum;
using folds::Variance;

template <template <class> class F, class State>
std::vector<State> merged(const std::vector<State>& states, const std::vector<Axis>& kept, Index parts, Index grouped,
                          Index pitch) {
  const Index outputs = simd::elements(simd::AxisList{kept.data(), static_cast<int>(kept.size())});
  const Axis reduced{.size = parts, .in = pitch, .out = 0};
  std::vector<State> results(static_cast<std::size_t>(outputs));
  cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(states.data()),
                      .out = reinterpret_cast<std::byte*>(results.data()),
                      .kept = {kept.data(), static_cast<int>(kept.size())},
                      .reduced = {&reduced, 1}};
  step.sink = SinkKind::store_state;
  step.part = parts;
  for (Index first = 0; first < outputs; first += grouped)
    simd::merge_rows<F, float>(step, first, std::min(outputs, first + grouped));
  return results;
}

template <template <class> class F>
void expect_trees(const std::vector<Axis>& kept, Index outputs, Index parts, Index pitch = 1) {
  using State = typename F<float>::State;
  std::vector<State> states;
  for (Index i = 0; i < outputs * parts; ++i)
    states.push_back(F<float>().combine(F<float>().map(1.f / static_cast<float>(i + 3), 0),
                                        F<float>().map(static_cast<float>(i % 17), 0)));
  for (const Index grouped : {outputs, Index{7}}) {
    const auto results = merged<F>(states, kept, parts, grouped, pitch);
    for (Index o = 0; o < outputs; ++o) {
      simd::Tree<F<float>> tree{F<float>()};
      for (Index p = 0; p < parts; ++p)
        tree.push(states[static_cast<std::size_t>(o * (pitch == 1 ? parts : 1) + p * pitch)]);
      const State expected = tree.result(), got = results[static_cast<std::size_t>(o)];
      ASSERT_EQ(std::memcmp(&expected, &got, sizeof got), 0) << parts << " parts, output " << o;
    }
  }
}

TEST(merge_rows, is_a_tree_an_output) {
  for (Index parts = 1; parts <= 70; parts += parts < 35 ? 1 : 7) {
    const std::vector<Axis> line = {{.size = 600, .in = parts, .out = 1}};
    expect_trees<Sum>(line, 600, parts);
    expect_trees<Variance>(line, 600, parts);
    const std::vector<Axis> lines = {{.size = 3, .in = 11 * parts, .out = 11}, {.size = 11, .in = parts, .out = 1}};
    expect_trees<Sum>(lines, 33, parts);
  }
}

TEST(merge_rows, of_outputs_side_by_side) {
  for (Index parts = 1; parts <= 70; parts += parts < 35 ? 1 : 7) {
    const std::vector<Axis> line = {{.size = 600, .in = 1, .out = 1}};
    expect_trees<Sum>(line, 600, parts, 600);
    expect_trees<Variance>(line, 600, parts, 600);
    const std::vector<Axis> lines = {{.size = 3, .in = 11, .out = 11}, {.size = 11, .in = 1, .out = 1}};
    expect_trees<Variance>(lines, 33, parts, 33);
  }
}

TEST(merge_rows, of_more_states_than_its_scratch_holds_for_many_outputs) {
  const std::vector<Axis> line = {{.size = 300, .in = 5000, .out = 1}};
  expect_trees<Variance>(line, 300, 5000);
}

}  // namespace
}  // namespace ndfold::test
