// Softmax and log_softmax over every set of axes, in every layout, against the reference and its bound.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr SoftmaxKind kKinds[] = {SoftmaxKind::softmax, SoftmaxKind::log_softmax};

// One shape a rank; sizes differ, so that an axis taken for another one shows.
const Sizes kShapes[] = {{}, {19}, {5, 7}, {3, 5, 4}, {3, 2, 5, 4}, {2, 3, 4, 2, 3}, {2, 3, 2, 3, 2, 4}};

class Worst {
 public:
  void see(const Outcome& outcome) { worst_ = std::max(worst_, outcome.worst); }
  ~Worst() { ::testing::Test::RecordProperty("worst_error_over_bound", std::to_string(static_cast<double>(worst_))); }

 private:
  Real worst_ = 0;
};

Array filled(const ViewDesc& view, Values values, std::uint64_t seed = 1, Index shift = 0) {
  Array array(view, shift);
  fill(array, values, seed);
  return array;
}

class EverySetOfAxes : public ::testing::TestWithParam<std::tuple<int, DType>> {};

TEST_P(EverySetOfAxes, in_every_layout) {
  const auto [rank, type] = GetParam();
  const Sizes& sizes = kShapes[rank];
  Worst worst;
  for (const Layout layout : kLayouts) {
    Array in = filled(lay_out(type, sizes, layout, 3), Values::mixed);
    for (const AxisSet& axes : all_axis_sets(rank))
      for (const SoftmaxKind kind : kKinds) {
        SCOPED_TRACE(::testing::Message() << name(layout) << " axes " << ::testing::PrintToString(axes.list()));
        worst.see(expect_softmax({.axes = axes, .kind = kind}, in));
      }
    if (HasFailure()) return;
  }
}

TEST_P(EverySetOfAxes, in_permuted_input_and_output) {
  const auto [rank, type] = GetParam();
  const Layout outputs[] = {Layout::permuted, Layout::stepped, Layout::reversed, Layout::padded};
  Worst worst;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Array in =
        filled(lay_out(type, kShapes[rank], seed % 2 == 0 ? Layout::permuted : Layout::stepped, seed), Values::mixed);
    for (const AxisSet& axes : all_axis_sets(rank)) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " axes " << ::testing::PrintToString(axes.list()));
      Array out(lay_out(type, kShapes[rank], outputs[seed % 4], seed + 100), static_cast<Index>(seed % 5));
      worst.see(expect_right(SoftmaxSpec{.axes = axes}, in, out));
    }
    if (HasFailure()) return;
  }
}

TEST_P(EverySetOfAxes, in_place) {
  const auto [rank, type] = GetParam();
  for (const Layout layout : kLayouts) {
    if (!is_distinct(layout)) continue;
    for (const AxisSet& axes : all_axis_sets(rank)) {
      SCOPED_TRACE(::testing::Message() << name(layout) << " axes " << ::testing::PrintToString(axes.list()));
      Array array = filled(lay_out(type, kShapes[rank], layout, 5), Values::mixed);
      expect_right(SoftmaxSpec{.axes = axes}, array, array);
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(softmax, EverySetOfAxes,
                         ::testing::Combine(::testing::Range(0, 7), ::testing::ValuesIn(kFloats)),
                         [](const auto& entry) {
                           return "rank" + std::to_string(std::get<0>(entry.param)) + "_" +
                                  std::string(name(std::get<1>(entry.param)));
                         });

// Larger than lanes and tiles in every direction, and not a multiple of either: what crosses over between an input and
// an output that lie in different orders, what is gathered, and few rows of many columns.
TEST(softmax, layouts_that_cross) {
  const Sizes shapes[] = {{40, 70}, {300, 7}, {5, 131}, {20, 3, 40}, {3, 33, 4, 20}, {23, 1, 16, 12}};
  const Layout inputs[] = {Layout::row_major, Layout::column_major, Layout::reversed, Layout::stepped};
  const Layout outputs[] = {Layout::row_major, Layout::column_major, Layout::reversed, Layout::permuted};
  Worst worst;
  std::uint64_t seed = 0;
  for (const DType type : kFloats)
    for (const Sizes& sizes : shapes)
      for (const Layout from : inputs) {
        ++seed;
        Array in = filled(lay_out(type, sizes, from, seed), Values::mixed, seed, static_cast<Index>(seed % 3));
        for (const Layout to : outputs)
          for (const AxisSet& axes : all_axis_sets(static_cast<int>(sizes.size()))) {
            SCOPED_TRACE(::testing::Message()
                         << name(type) << ' ' << ::testing::PrintToString(sizes) << " axes "
                         << ::testing::PrintToString(axes.list()) << ' ' << name(from) << " to " << name(to));
            Array out(lay_out(type, sizes, to, seed + 1), static_cast<Index>(seed % 5));
            worst.see(expect_right(SoftmaxSpec{.axes = axes, .kind = kKinds[axes.list().size() % 2]}, in, out));
            if (HasFailure()) return;
          }
      }
}

// Few outputs with much to fold are split: states from one layout, results in another.
TEST(softmax, long_columns_that_cross) {
  Worst worst;
  for (const auto& [from, to] :
       {std::pair(Layout::row_major, Layout::column_major), std::pair(Layout::column_major, Layout::row_major)})
    for (const int axis : {0, 1}) {
      const Sizes sizes = axis == 0 ? Sizes{20011, 35} : Sizes{35, 20011};
      SCOPED_TRACE(::testing::Message() << name(from) << " axis " << axis);
      Array in = filled(lay_out(DType::f32, sizes, from), Values::mixed), out(lay_out(DType::f32, sizes, to));
      worst.see(expect_right(SoftmaxSpec{.axes = {axis}}, in, out));
      worst.see(expect_right(SoftmaxSpec{.axes = {axis}, .kind = SoftmaxKind::log_softmax}, in, out));
    }
}

TEST(softmax, scale_and_alpha) {
  Worst worst;
  for (const DType type : kFloats)
    for (const SoftmaxKind kind : kKinds)
      for (const double scale : {0.125, 0.1, 3.0, -1.5})
        for (const double alpha : {1.0, 0.3, -2.0}) {
          SCOPED_TRACE(::testing::Message() << name(type) << " scale " << scale << " alpha " << alpha);
          Array in = filled(lay_out(type, {37, 5, 6}, Layout::permuted, 2), Values::mixed);
          worst.see(expect_softmax({.axes = {0, 2}, .kind = kind, .scale = scale, .alpha = alpha}, in));
          worst.see(expect_softmax({.axes = {1}, .kind = kind, .scale = scale, .alpha = alpha}, in));
        }
}

TEST(softmax, every_length_and_shift) {
  Worst worst;
  for (Index n = 1; n <= 300; ++n)
    for (const DType type : {DType::f32, DType::f16}) {
      SCOPED_TRACE(::testing::Message() << name(type) << " n " << n);
      Array rows = filled(dense(type, {3, n}), Values::mixed, 1, n % 16);
      worst.see(expect_softmax({.axes = {1}}, rows));
      Array columns = filled(dense(type, {n, 5}), Values::mixed, 2, n % 7);
      worst.see(expect_softmax({.axes = {0}}, columns));
    }
}

TEST(softmax, long_rows_and_columns) {
  Worst worst;
  for (const Values values : {Values::mixed, Values::ascending})
    for (const SoftmaxKind kind : kKinds) {
      Array row = filled(dense(DType::f32, {1 << 20}), values);
      worst.see(expect_softmax({.axes = {0}, .kind = kind}, row));
      Array columns = filled(dense(DType::f32, {1 << 17, 5}), values);
      worst.see(expect_softmax({.axes = {0}, .kind = kind}, columns));
      Array few = filled(dense(DType::f32, {3, 70001, 2}), values);
      worst.see(expect_softmax({.axes = {0, 1}, .kind = kind}, few));
    }
}

// A masked position is exactly 0, whatever the packet exp makes of -inf; special rows spoil no other row.
TEST(softmax, specials_at_every_place) {
  const Row marks[] = {{-kInfinity}, {kInfinity}, {kNaN}, {-kInfinity, kInfinity}, {kNaN, -kInfinity}};
  for (const DType type : kFloats)
    for (const SoftmaxKind kind : kKinds)
      for (const Index n : {1, 2, 15, 16, 17, 67})
        for (const Row& mark : marks)
          for (Index place = 0; place<n; place += n> 20 ? 7 : 1) {
            SCOPED_TRACE(::testing::Message()
                         << name(type) << " n " << n << " mark " << static_cast<double>(mark[0]) << " at " << place);
            for (const auto& [rows, others] : {std::pair(true, 3), std::pair(false, 3), std::pair(true, 20)}) {
              Array in = filled(rows ? dense(type, {others, n}) : dense(type, {n, others}), Values::mixed);
              const auto places = in.elements();
              for (std::size_t i = 0; i < mark.size(); ++i) {
                const Index along = (place + static_cast<Index>(i)) % n;
                in.set(places[static_cast<std::size_t>(rows ? n + along : along * others + 1)], mark[i]);
              }
              expect_softmax({.axes = {rows ? 1 : 0}, .kind = kind}, in);
            }
            if (HasFailure()) return;
          }
}

TEST(softmax, rows_of_nothing_but_minus_infinity_are_nan) {
  for (const DType type : kFloats)
    for (const Index n : {1, 3, 64, 5000}) {
      Array in(dense(type, {2, n}));
      fill_with(in, -kInfinity);
      for (const int axis : {0, 1})
        for (const SoftmaxKind kind : kKinds) expect_softmax({.axes = {axis}, .kind = kind}, in);
    }
}

TEST(softmax, extremes_do_not_overflow) {
  for (const DType type : kFloats) {
    const Real largest = format_of(type).largest();
    for (const Row& row :
         {Row{largest, 0, 1}, Row{-largest, -largest, -largest}, Row{largest, largest}, Row{0, -100, -1000}}) {
      Array in(dense(type, {2, static_cast<Index>(row.size())}));
      fill_with(in, row);
      for (const SoftmaxKind kind : kKinds) expect_softmax({.axes = {1}, .kind = kind}, in);
    }
  }
}

// Near 0 powers are measured from there, elsewhere from a row's maximum: the same bits wherever that is.
TEST(softmax, is_right_under_exact_shifts_and_the_same_far_from_0) {
  Array in(dense(DType::f32, {4, 1000})), near(in.desc()), far(in.desc()), out(in.desc()), out_far(in.desc());
  fill(in, Values::whole);
  for (const Index place : in.elements()) near.set(place, in.get(place) + 4096), far.set(place, in.get(place) + 8192);
  expect_right(SoftmaxSpec{.axes = {1}}, in, out);
  expect_right(SoftmaxSpec{.axes = {1}}, near, out);
  expect_right(SoftmaxSpec{.axes = {1}}, far, out_far);
  EXPECT_TRUE(out == out_far);
}

// The NaN that a processor makes of 0/0 has a sign.
TEST(softmax, of_a_nan_of_either_sign_is_nan) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64})
    for (const Sizes& sizes : {Sizes{5, 7}, Sizes{5, 70}, Sizes{5, 700}, Sizes{5, 7000}, Sizes{70, 45}, Sizes{7, 45}})
      for (const int axis : {0, 1})
        for (const Real sign : {1.0L, -1.0L}) {
          SCOPED_TRACE(::testing::Message() << name(type) << ' ' << sizes[1] << " axis " << axis << " sign " << sign);
          Array in = filled(dense(type, sizes), Values::mixed), out(in.desc());
          in.set(2 * sizes[1] + 3, std::copysign(kNaN, sign));
          for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
            expect_right(SoftmaxSpec{.axes = {axis}, .kind = kind}, in, out);
        }
}

TEST(softmax, converts_its_output) {
  Array half = filled(dense(DType::f16, {9, 33}), Values::mixed);
  expect_softmax({.axes = {1}}, half, DType::f32);
  Array single = filled(dense(DType::f32, {9, 33}), Values::mixed);
  for (const DType output : {DType::f64, DType::f16, DType::bf16}) expect_softmax({.axes = {0}}, single, output);
}

TEST(softmax, of_no_elements_writes_nothing) {
  for (const Sizes& sizes : {Sizes{0}, Sizes{3, 0, 2}, Sizes{0, 0}}) {
    Array in(dense(DType::f32, sizes)), out(dense(DType::f32, sizes));
    for (const AxisSet& axes : {AxisSet{}, AxisSet{0}, AxisSet::all()})
      expect_right(SoftmaxSpec{.axes = axes}, in, out);
    EXPECT_TRUE(out.untouched());
  }
}

TEST(softmax, of_a_scalar_and_of_many_axes) {
  Array scalar(dense(DType::f32, {})), out(dense(DType::f32, {}));
  scalar.set(0, 5);
  expect_right(SoftmaxSpec{.axes = AxisSet::all()}, scalar, out);
  Sizes sizes(70, 1);
  sizes[3] = 4, sizes[40] = 3, sizes[69] = 5;
  Array in = filled(lay_out(DType::f32, sizes, Layout::permuted, 4), Values::mixed);
  expect_softmax({.axes = {3, 69}}, in);
  expect_softmax({.axes = {-30}}, in);
}

}  // namespace
}  // namespace ndfold::test
