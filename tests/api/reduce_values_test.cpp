// Reductions of special values: NaN, infinities, signed zeros, ties, nothing at all, and unusual ranks.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

std::vector<ReduceOp> all_ops() {
  std::vector<ReduceOp> ops;
  for (int op = 0; op < kReduceOpCount; ++op) ops.push_back(static_cast<ReduceOp>(op));
  return ops;
}

Real reduce_to_one(const ReduceSpec& spec, Array& in) {
  Array out(dense(default_output(spec.op, in.desc().dtype), output_sizes(in.desc().sizes, spec.axes)));
  expect_right(spec, in, out);
  return out.get(0);
}

class EveryOp : public ::testing::TestWithParam<ReduceOp> {};

// One special value at every place of a row and of a column; the neighbours must not notice.
TEST_P(EveryOp, one_special_at_every_place) {
  for (const DType type : kFloats)
    for (const Real special : specials(type))
      for (const Index n : {1, 7, 16, 33, 70})
        for (Index place = 0; place<n; place += n> 20 ? 3 : 1)
          for (const bool rows : {true, false}) {
            SCOPED_TRACE(::testing::Message() << name(type) << ' ' << static_cast<double>(special) << " at " << place
                                              << " of " << n << (rows ? " in a row" : " in a column"));
            Array in(rows ? dense(type, {3, n}) : dense(type, {n, 3}));
            fill(in, GetParam() == ReduceOp::prod ? Values::factors : Values::whole);
            in.set(rows ? n + place : place * 3 + 1, special);
            expect_reduced({.op = GetParam(), .axes = {rows ? 1 : 0}}, in);
            if (HasFailure()) return;
          }
}

TEST_P(EveryOp, rows_of_one_special) {
  for (const DType type : kFloats)
    for (const Real special : specials(type))
      for (const Index n : {1, 2, 15, 64, 1025, 8192, 8193}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << static_cast<double>(special) << " x " << n);
        Array in(dense(type, {n}));
        fill_with(in, special);
        expect_reduced({.op = GetParam(), .axes = {0}}, in);
        if (HasFailure()) return;
      }
}

TEST_P(EveryOp, several_specials) {
  const Row mixes[] = {{kNaN, kInfinity}, {kInfinity, -kInfinity}, {-kInfinity, kNaN}, {0, -0.0L},
                       {-0.0L, 0},        {kNaN, kNaN, 0}};
  for (const DType type : kFloats)
    for (const Row& mix : mixes)
      for (const Index gap : {1, 5, 16, 700}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << static_cast<double>(mix[0]) << " gap " << gap);
        Array in(dense(type, {2, gap * 3 + 2}));
        fill_with(in, mix.back() == 0 && !std::isnan(mix[0]) ? mix.back() : 1);
        for (std::size_t i = 0; i < mix.size(); ++i) in.set(1 + static_cast<Index>(i) * gap, mix[i]);
        expect_reduced({.op = GetParam(), .axes = {1}}, in);
        expect_reduced({.op = GetParam(), .axes = {0}}, in);
      }
}

TEST_P(EveryOp, of_nothing) {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i32, DType::u8, DType::boolean}) {
    if (default_output(GetParam(), type) == DType::best) continue;
    const std::pair<Sizes, AxisSet> shapes[] = {{{0}, {0}}, {{3, 0}, {1}}, {{0, 4}, {0}}, {{2, 0, 3}, AxisSet::all()}};
    for (const auto& [sizes, axes] : shapes) {
      SCOPED_TRACE(::testing::Message() << name(type) << ' ' << ::testing::PrintToString(sizes));
      Array in(dense(type, sizes)), out(dense(default_output(GetParam(), type), output_sizes(sizes, axes)));
      const ReduceSpec spec{.op = GetParam(), .axes = axes};
      if (facts(GetParam()).needs_elements) {
        EXPECT_EQ(plan_for(spec, in.desc(), out.desc()).error().code(), Code::empty_reduction);
      } else {
        expect_right(spec, in, out);
      }
    }
    Array in(dense(type, {0, 5})), out(dense(default_output(GetParam(), type), {0}));
    expect_right(ReduceSpec{.op = GetParam(), .axes = {1}}, in, out);  // no outputs: nothing to refuse
    EXPECT_TRUE(out.untouched());
  }
}

TEST_P(EveryOp, over_no_axes_and_of_scalars) {
  for (const DType type : {DType::f32, DType::i16, DType::u64, DType::boolean, DType::bf16}) {
    if (default_output(GetParam(), type) == DType::best) continue;
    SCOPED_TRACE(name(type));
    Array in(lay_out(type, {4, 1, 5}, Layout::permuted, 3)), scalar(dense(type, {}));
    fill(in, Values::bits), fill(scalar, Values::bits, 7);
    expect_reduced({.op = GetParam(), .axes = AxisSet::none()}, in);
    expect_reduced({.op = GetParam(), .axes = {1}}, in);
    expect_reduced({.op = GetParam(), .axes = AxisSet::all()}, scalar);
    expect_reduced({.op = GetParam(), .axes = AxisSet::none()}, scalar);
  }
}

// A stride-0 reduced axis is resolved without visiting it: the answer must be as if it were.
TEST_P(EveryOp, broadcast_axes) {
  for (const DType type : {DType::f32, DType::i64, DType::f16}) {
    if (default_output(GetParam(), type) == DType::best) continue;
    const Sizes strides[] = {{0, 5, 1}, {5, 0, 1}, {1, 3, 0}, {0, 0, 1}, {0, 0, 0}};
    for (const Sizes& stride : strides)
      for (const AxisSet& axes : all_axis_sets(3)) {
        SCOPED_TRACE(::testing::Message() << name(type) << ::testing::PrintToString(stride) << " axes "
                                          << ::testing::PrintToString(axes.list()));
        Array in({.dtype = type, .sizes = {3, 4, 5}, .strides = stride});
        fill(in, GetParam() == ReduceOp::prod ? Values::factors : Values::whole);
        expect_reduced({.op = GetParam(), .axes = axes, .ddof = 1}, in);
      }
  }
}

TEST_P(EveryOp, seventy_axes) {
  Sizes sizes(70, 1);
  sizes[0] = 3, sizes[33] = 2, sizes[64] = 4, sizes[69] = 5;
  Array in(lay_out(DType::f32, sizes, Layout::garbage)), moved(lay_out(DType::f32, sizes, Layout::permuted, 9));
  fill(in, Values::whole), fill(moved, Values::whole);
  for (const AxisSet& axes : {AxisSet{33, -1}, AxisSet{0, 64, 10}, AxisSet::all(), AxisSet::none()}) {
    expect_reduced({.op = GetParam(), .axes = axes}, in);
    expect_reduced({.op = GetParam(), .axes = axes, .keep_axes = true}, moved);
  }
}

INSTANTIATE_TEST_SUITE_P(reduce, EveryOp, ::testing::ValuesIn(all_ops()),
                         [](const auto& entry) { return std::string(name(entry.param)); });

TEST(argmax, ties_across_every_edge_take_the_lowest_index) {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i8, DType::u64})
    for (const Index n : {2, 16, 17, 64, 100, 1024, 1025, 40000})
      for (const Index first : {Index{0}, n / 3, n / 2, n - 2})
        for (const bool rows : {true, false}) {
          SCOPED_TRACE(::testing::Message()
                       << name(type) << " n " << n << " first " << first << (rows ? " row" : " column"));
          Array in(rows ? dense(type, {n}) : dense(type, {n, 1, 2}));
          fill_with(in, 1);
          for (Index i = first; i < n; i += std::max<Index>(1, n / 7)) in.set(rows ? i : i * 2, 5);
          EXPECT_EQ(reduce_to_one({.op = ReduceOp::argmax, .axes = {0}}, in), static_cast<Real>(first));
        }
}

TEST(argmax, takes_the_first_nan_and_row_major_indices) {
  Array in(lay_out(DType::f32, {3, 4, 50}, Layout::column_major));
  fill_with(in, 1);
  const auto places = in.elements();
  in.set(places[117], kNaN), in.set(places[121], kNaN), in.set(places[30], kInfinity);
  EXPECT_EQ(reduce_to_one({.op = ReduceOp::argmax, .axes = AxisSet::all()}, in), 117);
  EXPECT_EQ(reduce_to_one({.op = ReduceOp::argmin, .axes = AxisSet::all()}, in), 117);
}

TEST(argmax, of_flipped_axes_counts_from_the_callers_end) {
  for (std::uint64_t seed = 1; seed < 16; ++seed) {
    Array in(lay_out(DType::i32, {3, 5, 2, 4}, Layout::reversed, seed));
    fill(in, Values::ties, seed);
    for (const AxisSet& axes : all_axis_sets(4))
      for (const ReduceOp op : {ReduceOp::argmax, ReduceOp::argmin}) expect_reduced({.op = op, .axes = axes}, in);
  }
}

TEST(maximum, of_identities_is_an_element) {
  Array lowest(dense(DType::f32, {100})), smallest(dense(DType::i64, {100}));
  fill_with(lowest, -kInfinity), fill_with(smallest, -9223372036854775808.0L);
  for (Array* in : {&lowest, &smallest}) {
    EXPECT_EQ(reduce_to_one({.op = ReduceOp::max, .axes = {0}}, *in), in->get(0));
    EXPECT_EQ(reduce_to_one({.op = ReduceOp::argmax, .axes = {0}}, *in), 0);
  }
}

}  // namespace
}  // namespace ndfold::test
