// The judges judged: conversions, the reference against values computed by hand, and bounds that are not vacuous.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

Real reduce_row(ReduceOp op, const Row& row, Index ddof = 0, DType type = DType::f64) {
  return reduced({.op = op, .axes = AxisSet::all(), .ddof = ddof}, type, row);
}

TEST(convert, all_16_bit_patterns_round_trip) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (int bits = 0; bits < 0x10000; ++bits) {
      const auto pattern = static_cast<std::uint16_t>(bits);
      const Real value = decode16(format_of(type), pattern);
      if (std::isnan(value)) continue;
      ASSERT_EQ(encode16(format_of(type), value), pattern) << name(type);
    }
  }
}

TEST(convert, known_16_bit_values) {
  const FloatFormat half = format_of(DType::f16), brain = format_of(DType::bf16);
  EXPECT_EQ(decode16(half, 0x3c00), 1);
  EXPECT_EQ(decode16(half, 0x7bff), 65504);
  EXPECT_EQ(decode16(half, 0x0001), 0x1p-24L);
  EXPECT_EQ(decode16(half, 0xc000), -2);
  EXPECT_EQ(decode16(brain, 0x3f80), 1);
  EXPECT_EQ(encode16(half, 65519.99L), 0x7bff);
  EXPECT_EQ(encode16(half, 65520), 0x7c00);  // the tie goes to even, which is infinity
  EXPECT_EQ(encode16(half, 2049), 0x6800);   // ties: 2049 → 2048, 2051 → 2052
  EXPECT_EQ(encode16(half, 2051), 0x6802);
  EXPECT_EQ(encode16(half, 0x1p-25L), 0x0000);
  EXPECT_EQ(encode16(half, 0x1.8p-25L), 0x0001);
  EXPECT_EQ(encode16(half, -0.0L), 0x8000);
  EXPECT_EQ(encode16(half, 0x1.ffep-15L), 0x0400);  // rounds up to the smallest normal number
  EXPECT_EQ(encode16(brain, 256.5L), 0x4380);
  EXPECT_EQ(encode16(brain, -kInfinity), 0xff80);
  EXPECT_TRUE(std::isnan(decode16(brain, encode16(brain, kNaN))));
}

TEST(convert, f32_and_f64_agree_with_the_processor) {
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const Real x = std::ldexp(uniform(i) - 0.5L, static_cast<int>(hash(i + 99) % 300) - 150);
    EXPECT_EQ(round_to(format_of(DType::f32), x), static_cast<Real>(static_cast<float>(x)));
    EXPECT_EQ(round_to(format_of(DType::f64), x), static_cast<Real>(static_cast<double>(x)));
  }
}

TEST(convert, integers_keep_their_low_bits) {
  EXPECT_EQ(stored(DType::i8, 200), -56);
  EXPECT_EQ(stored(DType::u64, -1), 18446744073709551615.0L);
  EXPECT_EQ(stored(DType::i64, -9223372036854775808.0L), -9223372036854775808.0L);
  EXPECT_EQ(stored(DType::boolean, 255), 1);
}

TEST(reference, values_by_hand) {
  const Row row = {1, 2, 3, 4};
  EXPECT_EQ(reduce_row(ReduceOp::sum, row), 10);
  EXPECT_EQ(reduce_row(ReduceOp::prod, row), 24);
  EXPECT_EQ(reduce_row(ReduceOp::mean, row), 2.5L);
  EXPECT_EQ(reduce_row(ReduceOp::var, row), 1.25L);
  EXPECT_EQ(reduce_row(ReduceOp::var, row, 1), 5.0L / 3);
  EXPECT_EQ(reduce_row(ReduceOp::std_dev, {2281.5L, 2281.25L}, 1), std::sqrt(0.03125L));
  EXPECT_EQ(reduce_row(ReduceOp::sumsq, row), 30);
  EXPECT_EQ(reduce_row(ReduceOp::l1, {-1, 2, -3}), 6);
  EXPECT_EQ(reduce_row(ReduceOp::l2, {3, -4}), 5);
  EXPECT_EQ(reduce_row(ReduceOp::linf, {-3, 2}), 3);
  EXPECT_EQ(reduce_row(ReduceOp::count_nonzero, {0, -0.0L, kNaN, 2}), 2);
  EXPECT_EQ(reduce_row(ReduceOp::argmin, {3, 1, 1}), 1);
  EXPECT_NEAR(static_cast<double>(reduce_row(ReduceOp::logsumexp, {0, 0})), 0.6931471805599453, 1e-16);
}

TEST(reference, empty_sets) {
  EXPECT_EQ(reduce_row(ReduceOp::sum, {}), 0);
  EXPECT_EQ(reduce_row(ReduceOp::prod, {}), 1);
  EXPECT_EQ(reduce_row(ReduceOp::any, {}), 0);
  EXPECT_EQ(reduce_row(ReduceOp::all, {}), 1);
  EXPECT_EQ(reduce_row(ReduceOp::linf, {}), 0);
  EXPECT_EQ(reduce_row(ReduceOp::logsumexp, {}), -kInfinity);
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::mean, {})));
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::var, {})));
}

TEST(reference, specials) {
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::max, {1, kNaN, kInfinity})));
  EXPECT_FALSE(std::signbit(reduce_row(ReduceOp::max, {-0.0L, 0.0L, -0.0L})));
  EXPECT_TRUE(std::signbit(reduce_row(ReduceOp::min, {0.0L, -0.0L, 0.0L})));
  EXPECT_EQ(reduce_row(ReduceOp::argmax, {1, 5, 5}), 1);
  EXPECT_EQ(reduce_row(ReduceOp::argmax, {1, kNaN, kInfinity, kNaN}), 1);
  EXPECT_EQ(reduce_row(ReduceOp::argmax, {-kInfinity, -kInfinity}), 0);
  EXPECT_EQ(reduce_row(ReduceOp::logsumexp, {-kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(reduce_row(ReduceOp::logsumexp, {1, kInfinity}), kInfinity);
  EXPECT_EQ(reduce_row(ReduceOp::sum, {kInfinity, 1}), kInfinity);
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::sum, {kInfinity, -kInfinity})));
  EXPECT_TRUE(std::isnan(reduce_row(ReduceOp::var, {3}, 1)));
  EXPECT_EQ(reduce_row(ReduceOp::any, {0, kNaN}), 1);
}

TEST(reference, integers_wrap) {
  const Real largest = 9223372036854775807.0L;
  EXPECT_EQ(reduce_row(ReduceOp::sum, {largest, 1}, 0, DType::i64), -9223372036854775808.0L);
  EXPECT_EQ(reduce_row(ReduceOp::sum, {18446744073709551615.0L, 2}, 0, DType::u64), 1);
  EXPECT_EQ(reduce_row(ReduceOp::prod, {4294967296.0L, 4294967296.0L}, 0, DType::u32), 0);
  EXPECT_EQ(reduce_row(ReduceOp::sum, {1, 1, 0}, 0, DType::boolean), 2);
}

TEST(reference, softmax_by_hand) {
  const Row even = softmax_of({.axes = {0}}, {7, 7});
  EXPECT_EQ(even[0], 0.5L);
  const Row scaled = softmax_of({.axes = {0}, .kind = SoftmaxKind::log_softmax, .scale = 2, .alpha = 3}, {0, 0});
  EXPECT_NEAR(static_cast<double>(scaled[1]), -3 * std::log(2.0), 1e-15);
  EXPECT_TRUE(std::isnan(softmax_of({.axes = {0}}, {-kInfinity, -kInfinity})[0]));
  EXPECT_TRUE(std::isnan(softmax_of({.axes = {0}}, {kInfinity, 1})[1]));
  EXPECT_EQ(softmax_of({.axes = {0}}, {-kInfinity, 1})[0], 0);
}

TEST(bounds, hold_for_a_pairwise_sum_and_not_for_a_running_one) {
  constexpr Index kCount = 1 << 22;
  Row row(kCount);
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = values[i] = static_cast<float>(1 - uniform(i));
  float running = 0;
  for (const float x : values) running += x;
  for (std::size_t width = values.size() / 2; width > 0; width /= 2)
    for (std::size_t i = 0; i < width; ++i) values[i] += values[i + width];
  const Real exact = sum_of(row);
  const Real bound = reduce_bound({}, precision_of(DType::f32, DType::best, DType::f32), row, exact);
  EXPECT_LE(std::fabs(values[0] - exact), bound);
  EXPECT_GT(std::fabs(running - exact), bound);
}

TEST(bounds, stay_small) {
  const Precision p = precision_of(DType::f32, DType::best, DType::f32);
  const Row row = {0, 1, 2, 3};
  const Row exact = softmax_of({.axes = {0}}, row);
  const SoftmaxFacts facts = softmax_facts({.axes = {0}}, p, row);
  EXPECT_LT(softmax_bound({.axes = {0}}, p, facts, row[3], exact[3]), 1e-5L);
  EXPECT_LT(variance_error(p, {1, 2, 3, 4}, 0), 1e-5L);
  EXPECT_EQ(reduce_bound({.op = ReduceOp::max, .axes = {0}}, p, row, 3), 0);
  EXPECT_EQ(tree_height(1), 5);
  EXPECT_EQ(tree_height(1 << 20), 104);
}

TEST(buffers, see_a_write_into_a_gap) {
  Array array(lay_out(DType::f32, {3, 4}, Layout::padded, 2), 1);
  fill(array, Values::mixed);
  EXPECT_TRUE(array.gaps_untouched());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 4u);
  static_cast<float*>(array.data())[4] = 0;  // the rows are 4 long and more than 4 apart
  EXPECT_FALSE(array.gaps_untouched());
}

TEST(buffers, place_elements_below_the_origin) {
  Array array({.dtype = DType::i16, .sizes = {2, 3}, .strides = {-3, 1}});
  fill_with(array, Row{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(array.get(-3), 4);
  EXPECT_TRUE(array.gaps_untouched());
}

#if defined(__SANITIZE_ADDRESS__)
TEST(buffers, a_fence_faults_who_reads_beside_the_elements) {
  Array array({.dtype = DType::u8, .sizes = {2, 3}, .strides = {-3, 1}}, 5);
  const auto read = [&](Index at) { return static_cast<const volatile std::uint8_t*>(array.data())[at]; };
  {
    const Fence fence(array);
    for (Index at = -3; at < 3; ++at) EXPECT_EQ(read(at), 0xff);
    EXPECT_DEATH(read(3), "use-after-poison");
    EXPECT_DEATH(read(-11), "use-after-poison");  // the sanitizer sees groups of eight bytes
  }
  EXPECT_EQ(read(3), 0xff);
}
#endif

TEST(views, distinct_layouts_visit_distinct_addresses) {
  for (const Layout layout : kLayouts) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const ViewDesc view = lay_out(DType::f32, {3, 1, 4, 2}, layout, seed);
      auto places = offsets(view.sizes, view.strides);
      std::sort(places.begin(), places.end());
      const bool repeats = std::adjacent_find(places.begin(), places.end()) != places.end();
      EXPECT_FALSE(repeats && is_distinct(layout)) << name(layout);
    }
  }
}

TEST(judge, sees_a_wrong_element) {
  Array out(dense(DType::f32, {2}));
  fill_with(out, Row{1, 2});
  Real worst = 0;
  EXPECT_EQ(judge({{0, 1, 0}, {1, 2.001L, 0.01L}}, out, false, false, worst), "");
  EXPECT_GT(worst, 0.05L);
  EXPECT_NE(judge({{0, 1, 0}, {1, 2.001L, 0.01L}}, out, true, false, worst), "");
  EXPECT_NE(judge({{0, kNaN, 0}}, out, false, false, worst), "");
}

}  // namespace
}  // namespace ndfold::test
