// Every reduced element is visited once, in order, whatever the strides, the element type and the part's boundaries.
#include "kernels/cpu/row_walk.h"

#include "kernels/cpu/run_walk.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using namespace folds;

using simd::Loading;

struct Visit {
  std::vector<double> values;
  std::vector<Index> indices;
};

// What a walk of [begin, end) sees; checks what a leaf promises.
template <class A>
Visit walked(const cpu::Arguments& step, const std::byte* base, Index begin, Index end) {
  Visit visit;
  simd::RowWalk<A, Loading::values> walk(step, base, begin, end);
  simd::Leaf<A> leaf;
  while (walk.next(leaf)) {
    EXPECT_LE(leaf.count, simd::Leaf<A>::kSegments);
    EXPECT_LE(leaf.elements, cpu::kChunk);
    Index elements = 0;
    for (int s = 0; s < leaf.count; ++s) {
      const auto& segment = leaf.segments[s];
      EXPECT_GT(segment.length, 0);
      elements += segment.length;
      for (Index i = 0; i < segment.length; ++i) {
        visit.values.push_back(static_cast<double>(segment.start[i]));
        visit.indices.push_back(segment.index + i * segment.weight);
      }
    }
    EXPECT_EQ(elements, leaf.elements);
  }
  EXPECT_FALSE(walk.next(leaf)) << "it goes on after its end";
  return visit;
}

std::vector<std::pair<Index, Index>> some_parts(Index n, std::uint64_t seed) {
  std::vector<std::pair<Index, Index>> parts = {{0, n}, {0, 1}, {n - 1, n}, {n / 2, n}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto a = static_cast<Index>(hash(seed + i) % static_cast<std::uint64_t>(n));
    parts.emplace_back(a, a + 1 + static_cast<Index>(hash(seed + 100 + i) % static_cast<std::uint64_t>(n - a)));
  }
  for (Index edge : {Index{1023}, Index{1024}, Index{1025}, Index{2048}})
    if (edge < n) parts.emplace_back(edge, n), parts.emplace_back(0, edge);
  return parts;
}

template <class A, class T>
void expect_each_once(DType type) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const auto& sizes : kWalkShapes) {
      const auto axes = axes_of(sizes, seed);
      const auto expected = offsets_in(axes);
      const auto n = static_cast<Index>(expected.size());
      const Numbered<T> data(2 * n);
      const cpu::Arguments step{.kept = {}, .reduced = list(axes), .input = type};
      for (const auto& [begin, end] : some_parts(n, seed)) {
        const Visit visit = walked<A>(step, data.zero(), begin, end);
        ASSERT_EQ(static_cast<Index>(visit.values.size()), end - begin);
        for (Index i = begin; i < end; ++i) {
          const auto at = static_cast<std::size_t>(i - begin);
          ASSERT_EQ(visit.values[at], static_cast<double>(expected[static_cast<std::size_t>(i)]));
          ASSERT_EQ(visit.indices[at], i);
        }
      }
    }
}

TEST(row_walk, where_elements_lie) { expect_each_once<float, float>(DType::f32); }
TEST(row_walk, doubles) { expect_each_once<double, double>(DType::f64); }
TEST(row_walk, staged_from_integers) { expect_each_once<float, std::int16_t>(DType::i16); }
TEST(row_walk, staged_from_floats) { expect_each_once<double, float>(DType::f32); }
TEST(row_walk, integers) { expect_each_once<std::int32_t, std::int32_t>(DType::i32); }

// Dense runs of the right type are not copied.
TEST(row_walk, dense_runs_are_folded_where_they_lie) {
  const std::vector<Axis> axes = {{.size = 3, .in = 2000, .out = 2000}, {.size = 2000, .in = 1, .out = 1}};
  const Numbered<float> data(6000);
  simd::RowWalk<float, Loading::values> walk({.kept = {}, .reduced = list(axes), .input = DType::f32}, data.zero(), 0,
                                             6000);
  simd::Leaf<float> leaf;
  while (walk.next(leaf))
    for (int s = 0; s < leaf.count; ++s)
      EXPECT_EQ(leaf.segments[s].start, reinterpret_cast<const float*>(data.zero()) + leaf.segments[s].index);
}

TEST(row_walk, short_runs_share_a_leaf) {
  const std::vector<Axis> axes = {{.size = 200, .in = 10, .out = 7}, {.size = 7, .in = 1, .out = 1}};
  const Numbered<float> data(2000);
  simd::RowWalk<float, Loading::values> walk({.kept = {}, .reduced = list(axes), .input = DType::f32}, data.zero(), 0,
                                             1400);
  simd::Leaf<float> leaf;
  ASSERT_TRUE(walk.next(leaf));
  EXPECT_EQ(leaf.count, simd::Leaf<float>::kSegments);
  EXPECT_EQ(leaf.elements, 7 * simd::Leaf<float>::kSegments);
}

TEST(row_walk, truth) {
  const std::vector<Axis> axes = {{.size = 3001, .in = 1, .out = 1}};
  const Numbered<float> data(3001);
  simd::RowWalk<std::uint8_t, Loading::truth> walk({.kept = {}, .reduced = list(axes), .input = DType::f32},
                                                   data.zero() - 40, 0, 3001);
  simd::Leaf<std::uint8_t> leaf;
  Index zeros = 0, ones = 0;
  while (walk.next(leaf))
    for (Index i = 0; i < leaf.segments[0].length; ++i) ++(leaf.segments[0].start[i] == 0 ? zeros : ones);
  EXPECT_EQ(zeros, 1);  // at offset 0 of [-10, 2990]
  EXPECT_EQ(ones, 3000);
}

TEST(row_walk, of_62_axes) {
  std::vector<Axis> axes;
  for (int i = 0; i < 62; ++i) axes.push_back({.size = 2, .in = 0, .out = Index{1} << (61 - i)});
  const Numbered<float> data(1);
  const Index last = Index{1} << 62;
  const Visit visit =
      walked<float>({.kept = {}, .reduced = list(axes), .input = DType::f32}, data.zero(), last - 3, last);
  EXPECT_EQ(visit.indices, (std::vector<Index>{last - 3, last - 2, last - 1}));
}

TEST(run_walk, each_run_covers_its_part) {
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for (const auto& sizes : kWalkShapes) {
      const auto axes = axes_of(sizes, seed);
      const auto expected = offsets_in(axes);
      const cpu::Arguments step{.kept = {}, .reduced = list(axes)};
      const Axis run = simd::inner(step.reduced);
      for (const auto& [begin, end] : some_parts(static_cast<Index>(expected.size()), seed)) {
        Index at = begin;
        simd::each_run(step, begin, end, [&](Index in, Index out, Index n) {
          EXPECT_TRUE(n > 0 && n <= cpu::kChunk);
          for (Index i = 0; i < n; ++i, ++at) {
            EXPECT_EQ(in + i * run.in, expected[static_cast<std::size_t>(at)]);
            EXPECT_EQ(out + i * run.out, at);
          }
        });
        ASSERT_EQ(at, end);
      }
    }
}

TEST(run_walk, converts_only_when_it_must) {
  float buffer[4] = {}, values[] = {1, 2, 3, 4};
  auto* bytes = reinterpret_cast<std::byte*>(values);
  EXPECT_EQ(simd::run_of<float>(DType::f32, bytes, 1, 4, buffer), values);
  EXPECT_EQ(simd::run_of<float>(DType::f32, bytes, 2, 2, buffer), buffer);
  EXPECT_TRUE(buffer[0] == 1 && buffer[1] == 3);
}

// Strided f32 in, f64 at another stride out; then f32 to f32 side by side, which is mapped where it lies.
TEST(run_walk, maps_between_any_layouts) {
  const std::vector<float> in = {1, 2, 3, 4, 5, 6};
  const auto* from = reinterpret_cast<const std::byte*>(in.data());
  const auto doubled = [](const float* x, float* y, Index n) {
    for (Index i = 0; i < n; ++i) y[i] = 2 * x[i];
  };
  const std::vector<Axis> apart = {{.size = 3, .in = 2, .out = 3}};
  std::vector<double> wide(9, -1);
  const cpu::Arguments strided{.kept = {}, .reduced = list(apart), .input = DType::f32, .output = DType::f64};
  simd::map_runs<float>(strided, from, reinterpret_cast<std::byte*>(wide.data()), 1, 3, doubled);
  EXPECT_EQ(wide, (std::vector<double>{-1, -1, -1, 6, -1, -1, 10, -1, -1}));

  const std::vector<Axis> dense = {{.size = 6, .in = 1, .out = 1}};
  std::vector<float> same(6, -1);
  const cpu::Arguments direct{.kept = {}, .reduced = list(dense), .input = DType::f32, .output = DType::f32};
  simd::map_runs<float>(direct, from, reinterpret_cast<std::byte*>(same.data()), 0, 6,
                        [&](const float* x, float* y, Index n) {
                          EXPECT_TRUE(x == in.data() && y == same.data());
                          doubled(x, y, n);
                        });
  EXPECT_EQ(same, (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

}  // namespace
}  // namespace ndfold::test
