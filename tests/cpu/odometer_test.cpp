// Index tuples in row-major order with both their offsets, from any place on, of any rank.
#include "kernels/cpu/odometer.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::simd {
namespace {

AxisList list(const std::vector<Axis>& axes) { return {axes.data(), static_cast<int>(axes.size())}; }

struct Offsets {
  Index in = 0, out = 0;
  friend bool operator==(const Offsets&, const Offsets&) = default;
};

std::vector<Offsets> all_offsets(const std::vector<Axis>& axes) {
  std::vector<Offsets> offsets = {{}};
  for (const Axis& axis : axes) {
    std::vector<Offsets> next;
    for (const Offsets& base : offsets)
      for (Index i = 0; i < axis.size; ++i) next.push_back({base.in + i * axis.in, base.out + i * axis.out});
    offsets = std::move(next);
  }
  return offsets;
}

const std::vector<std::vector<Axis>> kShapes = {
    {},
    {{.size = 1, .in = 5, .out = 7}},
    {{.size = 4, .in = -3, .out = 1}},
    {{.size = 3, .in = 10, .out = -100}, {.size = 5, .in = 0, .out = 2}},
    {{.size = 2, .in = 1000, .out = 1},
     {.size = 1, .in = 99, .out = 99},
     {.size = 4, .in = -7, .out = 3},
     {.size = 3, .in = 1, .out = 50}},
};

TEST(odometer, counts_in_row_major_order) {
  for (const auto& axes : kShapes) {
    const auto expected = all_offsets(axes);
    EXPECT_EQ(elements(list(axes)), static_cast<Index>(expected.size()));
    Odometer odometer(list(axes));
    for (const Offsets& offsets : expected) {
      EXPECT_EQ((Offsets{odometer.in(), odometer.out()}), offsets);
      odometer.next();
    }
    EXPECT_EQ((Offsets{odometer.in(), odometer.out()}), Offsets{}) << "after the last comes the first";
  }
}

TEST(odometer, starts_anywhere) {
  for (const auto& axes : kShapes) {
    const auto expected = all_offsets(axes);
    for (std::size_t start = 0; start < expected.size(); ++start) {
      Odometer odometer(list(axes), static_cast<Index>(start));
      for (std::size_t i = start; i < expected.size(); ++i, odometer.next())
        EXPECT_EQ((Offsets{odometer.in(), odometer.out()}), expected[i]);
    }
  }
}

// The most axes of size 2 that 2^63 elements leave room for, and the offsets of the last of 2^62.
TEST(odometer, of_62_axes) {
  std::vector<Axis> axes;
  for (int i = 0; i < 62; ++i) axes.push_back({.size = 2, .in = Index{1} << (61 - i), .out = -(Index{1} << i)});
  const Index many = Index{1} << 62;
  EXPECT_EQ(elements(list(axes)), many);
  for (const Index start : {Index{0}, Index{1}, many / 3, many - 2}) {
    Odometer odometer(list(axes), start);
    EXPECT_EQ(odometer.in(), start);
    const Index out = odometer.out();
    odometer.next();
    EXPECT_EQ(odometer.in(), start + 1);
    EXPECT_NE(odometer.out(), out);
  }
  Odometer last(list(axes), many - 1);
  EXPECT_EQ(last.out(), -(many - 1));
  last.next();
  EXPECT_EQ(last.in(), 0);
  EXPECT_EQ(last.out(), 0);
}

TEST(odometer, inner_and_outer_axes) {
  const auto& axes = kShapes[3];
  EXPECT_EQ(inner(list(axes)), axes[1]);
  EXPECT_EQ(outer(list(axes)).rank, 1);
  EXPECT_EQ(elements(outer(list(axes))), 3);
  EXPECT_EQ(inner({}).size, 1);
  EXPECT_EQ(outer({}).rank, 0);
  EXPECT_EQ(elements(AxisList{}), 1);
}

// The same tuples as an odometer's, however many are asked for at a time and wherever it begins.
TEST(stretches, visit_what_an_odometer_does) {
  for (const auto& axes : kShapes) {
    const Index n = elements(list(axes));
    for (const Index begin : {Index{0}, n / 3, n - 1})
      for (const Index most : {Index{1}, Index{2}, n}) {
        Stretches stretches(list(axes), begin);
        Odometer odometer(list(axes), begin);
        for (Index at = begin; at < n;) {
          const auto stretch = stretches.next(std::min(most, n - at));
          ASSERT_TRUE(stretch.count > 0 && stretch.count <= std::min(most, n - at));
          for (Index i = 0; i < stretch.count; ++i, ++at, odometer.next()) {
            ASSERT_EQ(stretch.in + i * stretches.run().in, odometer.in());
            ASSERT_EQ(stretch.out + i * stretches.run().out, odometer.out());
          }
        }
      }
  }
}

}  // namespace
}  // namespace ndfold::simd
