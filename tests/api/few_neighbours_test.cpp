// Outputs of which few lie side by side, more than fit a tile, whatever is folded, its type and its layout.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

struct Few {
  Sizes sizes;
  AxisSet axes;
};

// Some lines of columns end within a tile, some rows are folded one by one, some by halves.
const Few kFew[] = {{{1500, 4, 2}, {1}},        {{700, 7, 5}, {1}},          {{300, 60, 8}, {1}},
                    {{2, 900, 3, 3}, {0, 2}},   {{3, 5, 160, 2}, {0, 1}},    {{4, 41, 63, 4}, {0, 2}},
                    {{90, 33, 17}, {1}},        {{2, 50, 2, 4, 31}, {0, 2}}, {{1, 600, 1000}, {2}},
                    {{70, 2, 2, 3, 2}, {1, 3}}, {{6, 30, 10, 9}, {0, 2}}};

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8, DType::i64};
constexpr Layout kViews[] = {Layout::row_major, Layout::stepped, Layout::reversed, Layout::permuted};

std::string text_of(const Few& few) {
  return ::testing::PrintToString(few.sizes) + " axes " + ::testing::PrintToString(few.axes.list());
}

TEST(few_neighbours, reductions) {
  std::uint64_t seed = 1;
  for (const Few& few : kFew)
    for (const DType type : kTypes)
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::argmax, ReduceOp::argmin, ReduceOp::var,
                                ReduceOp::logsumexp, ReduceOp::all}) {
        if (default_output(op, type) == DType::best || (!is_floating(type) && op == ReduceOp::logsumexp)) continue;
        const Layout layout = kViews[++seed % 4];
        SCOPED_TRACE(::testing::Message()
                     << name(op) << ' ' << name(type) << ' ' << text_of(few) << ' ' << name(layout));
        Array in(lay_out(type, few.sizes, layout, seed), static_cast<Index>(seed % 3));
        fill(in, seed % 5 == 0 ? Values::ties : Values::mixed, seed);
        Array out(lay_out(default_output(op, type), output_sizes(few.sizes, few.axes), kViews[seed / 4 % 4], seed), 1);
        expect_right(ReduceSpec{.op = op, .axes = few.axes}, in, out);
        if (HasFailure()) return;
      }
}

TEST(few_neighbours, softmaxes) {
  std::uint64_t seed = 1;
  for (const Few& few : kFew)
    for (const DType type : {DType::f32, DType::f64, DType::bf16})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        for (const Layout layout : kViews) {
          SCOPED_TRACE(::testing::Message() << name(type) << ' ' << text_of(few) << ' ' << name(layout));
          Array in(lay_out(type, few.sizes, layout, ++seed)), out(lay_out(type, few.sizes, kViews[seed % 4], seed), 3);
          fill(in, Values::mixed, seed);
          expect_right(SoftmaxSpec{.axes = few.axes, .kind = kind, .scale = 0.7, .alpha = 1.3}, in, out);
          if (HasFailure()) return;
        }
}

// Few results side by side of rows that are runs: transposed on their way.
TEST(few_neighbours, softmaxes_of_turned_views) {
  for (const Sizes& stored : {Sizes{700, 4, 4}, Sizes{900, 3, 2}, Sizes{90, 5, 32}, Sizes{40, 3, 60}, Sizes{50, 8, 9}})
    for (const DType type : {DType::f32, DType::f64, DType::f16})
      for (const int axis : {0, 1, 2}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << ::testing::PrintToString(stored) << " axis " << axis);
        ViewDesc view = dense(type, stored);
        std::swap(view.sizes[1], view.sizes[2]), std::swap(view.strides[1], view.strides[2]);
        Array in(view, 1), out(dense(type, view.sizes), 2);
        fill(in, Values::mixed);
        expect_right(SoftmaxSpec{.axes = {axis}}, in, out);
      }
}

}  // namespace
}  // namespace ndfold::test
