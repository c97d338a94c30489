// A dense run is visited once, in order, in leaves of at most so many elements, where it lies.
#include "kernels/cpu/one_run_walk.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using simd::Loading;
using Walk = simd::OneRunWalk<float>;

TEST(one_run_walk, visits_a_part_in_leaves) {
  const std::vector<Axis> axes = {{.size = 3000, .in = 1, .out = 7}};
  const Numbered<float> data(3000);
  const cpu::Arguments step{.kept = {}, .reduced = list(axes), .input = DType::f32};
  for (const auto& [begin, end] : {std::pair<Index, Index>{0, 3000}, {1, 1025}, {2999, 3000}, {5, 2053}}) {
    Walk walk(step, data.zero(), begin, end, 1024);
    simd::Leaf<float> leaf;
    Index at = begin;
    while (walk.next(leaf)) {
      ASSERT_EQ(leaf.count, 1);
      const auto& segment = leaf.segments[0];
      EXPECT_EQ(leaf.elements, std::min<Index>(1024, end - at));
      EXPECT_EQ(segment.length, leaf.elements);
      EXPECT_EQ(segment.start, reinterpret_cast<const float*>(data.zero()) + at);
      EXPECT_EQ(segment.index, at * 7);
      EXPECT_EQ(segment.weight, 7);
      at += leaf.elements;
    }
    EXPECT_EQ(at, end);
  }
}

TEST(one_run_walk, suits_dense_runs_of_its_type_alone) {
  const std::vector<Axis> dense = {{.size = 9, .in = 1, .out = 1}}, apart = {{.size = 9, .in = 2, .out = 1}},
                          two = {{.size = 3, .in = 9, .out = 9}, {.size = 9, .in = 1, .out = 1}};
  const auto suits = [](const std::vector<Axis>& axes, DType type) {
    return Walk::suits<Loading::values>({.kept = {}, .reduced = list(axes), .input = type});
  };
  EXPECT_TRUE(suits(dense, DType::f32));
  EXPECT_TRUE(suits({}, DType::f32));
  EXPECT_FALSE(suits(dense, DType::f64));
  EXPECT_FALSE(suits(apart, DType::f32));
  EXPECT_FALSE(suits(two, DType::f32));
}

}  // namespace
}  // namespace ndfold::test
