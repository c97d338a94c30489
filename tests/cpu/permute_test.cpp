// Permutes move each element once, of any width, in any cut into blocks.
#include "kernels/cpu/permute.h"

#include "kernels/cpu/instances/maps.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ndfold::test {
namespace {

// Input strides of a dense array whose axes lie in the order `order`, output strides of a dense one as written.
std::vector<Axis> permuted_axes(const std::vector<Index>& sizes, const std::vector<std::size_t>& order, Index step) {
  std::vector<Axis> axes(sizes.size());
  Index in = step, out = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    axes[order[i]].in = in, in *= sizes[order[i]];
    axes[i].size = sizes[i], axes[i].out = out, out *= sizes[i];
  }
  return axes;
}

Index count(const std::vector<Axis>& axes) { return simd::elements(list(axes)); }

template <class T>
void expect_moved(const std::vector<Axis>& axes, DType type, std::uint64_t seed) {
  const Index n = count(axes);
  Index low = 0, high = 0;
  for (const Axis& axis : axes) (axis.in < 0 ? low : high) += (axis.size - 1) * axis.in;
  std::vector<T> in(static_cast<std::size_t>(high - low + 1));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(hash(i));
  std::vector<T> out(static_cast<std::size_t>(n), T(0x55)), expected;
  for (const Index offset : offsets_in(axes)) expected.push_back(in[static_cast<std::size_t>(offset - low)]);
  cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(in.data() - low),
                      .out = reinterpret_cast<std::byte*>(out.data()),
                      .kept = list(axes),
                      .reduced = {}};
  const auto run = simd::permute_kernel(type);
  const Index blocks = simd::permute_blocks(step);
  ASSERT_GT(blocks, 0);
  for (Index first = 0, i = 0; first < blocks; ++i) {
    const Index last = std::min(blocks, first + 1 + static_cast<Index>(hash(seed + static_cast<std::uint64_t>(i)) % 7));
    run(step, first, last);
    first = last;
  }
  EXPECT_TRUE(out == expected);
}

const std::vector<std::vector<Index>> kShapes = {{1},         {31},           {33, 65},
                                                 {32, 32},    {100, 3},       {3, 100},
                                                 {5, 33, 34}, {2, 40, 3, 41}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
                                                 {2, 20000}};

template <class T>
void expect_every_order(DType type) {
  for (const auto& sizes : kShapes) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    int tried = 0;
    do {
      expect_moved<T>(permuted_axes(sizes, order, 1), type, static_cast<std::uint64_t>(tried));
      if (tried % 3 == 0) expect_moved<T>(permuted_axes(sizes, order, 2), type, 5);
      if (::testing::Test::HasFailure()) return;
    } while (std::next_permutation(order.begin(), order.end()) && ++tried < 24);
  }
}

TEST(permute, of_1_byte) { expect_every_order<std::uint8_t>(DType::boolean); }
TEST(permute, of_2_bytes) { expect_every_order<std::uint16_t>(DType::bf16); }
TEST(permute, of_4_bytes) { expect_every_order<std::uint32_t>(DType::f32); }
TEST(permute, of_8_bytes) { expect_every_order<std::uint64_t>(DType::i64); }

TEST(permute, backwards_and_repeated) {
  expect_moved<float>({{.size = 40, .in = -70, .out = 50}, {.size = 50, .in = -1, .out = 1}}, DType::f32, 1);
  expect_moved<float>({{.size = 40, .in = 0, .out = 50}, {.size = 50, .in = 1, .out = 1}}, DType::f32, 2);
  expect_moved<float>({{.size = 40, .in = 1, .out = 50}, {.size = 50, .in = 1, .out = 1}}, DType::f32, 3);
}

TEST(permute, of_one_element) { expect_moved<double>({}, DType::f64, 0); }

// NaN payloads are bits like any other.
TEST(permute, keeps_every_bit) {
  const std::uint32_t in[] = {0x7f800001, 0xffc12345, 0x00000001, 0x80000000};
  std::uint32_t out[4] = {};
  const std::vector<Axis> axes = {{.size = 4, .in = 1, .out = 1}};
  const cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(in),
                            .out = reinterpret_cast<std::byte*>(out),
                            .kept = list(axes),
                            .reduced = {}};
  simd::permute_kernel(DType::f32)(step, 0, simd::permute_blocks(step));
  EXPECT_TRUE(std::equal(std::begin(in), std::end(in), out));
}

TEST(permute, most_axes_fit) {
  const std::vector<Axis> axes(62, Axis{.size = 2, .in = 0, .out = 0});
  const simd::PermutePlan plan(list(axes));
  EXPECT_EQ(plan.other_count, 60);
  EXPECT_EQ(plan.blocks, Index{1} << 60);
}

}  // namespace
}  // namespace ndfold::test
