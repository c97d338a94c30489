// Softmaxes of numbers so large that their neighbours are far away, as masks leave them: alone, beside half of
// themselves and beside ordinary ones, whatever a scale makes of them.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

struct Lines {
  Sizes sizes;
  AxisSet axes;
};
const Lines kLines[] = {{{7, 100}, {1}},  {{40, 9}, {1}},       {{300, 40}, {1}}, {{3, 6000}, {1}},
                        {{100, 64}, {0}}, {{4, 50, 7}, {0, 2}}, {{500, 3}, {0}}};

enum class Beside { nothing, halves, ordinary_ones };

void expect_right_of(DType type, Real huge, double scale, Beside beside, const Lines& lines) {
  SCOPED_TRACE(::testing::Message() << name(type) << ' ' << static_cast<double>(huge) << " * " << scale << ' '
                                    << static_cast<int>(beside) << ' ' << ::testing::PrintToString(lines.sizes));
  Array in(lay_out(type, lines.sizes, Layout::row_major, 1));
  fill(in, Values::mixed);
  const auto places = in.elements();
  for (std::size_t i = 0; i < places.size(); ++i)
    if (beside != Beside::ordinary_ones || i % 3 != 0)
      in.set(places[i], beside == Beside::halves && i % 2 == 0 ? huge / 2 : huge);
  Array out(lay_out(type, lines.sizes, Layout::row_major, 1));
  for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
    expect_right(SoftmaxSpec{.axes = lines.axes, .kind = kind, .scale = scale}, in, out);
  if (scale != 1) return;
  Array sums(lay_out(type, output_sizes(lines.sizes, lines.axes), Layout::row_major, 1));
  expect_right(ReduceSpec{.op = ReduceOp::logsumexp, .axes = lines.axes}, in, sums);
}

TEST(huge_numbers, softmaxes) {
  struct {
    DType type;
    std::vector<Real> numbers;
  } const kHuge[] = {{DType::f32, {-1e10L, -1e30L, -3.4028234663852886e38L, 2e9L, 1e20L}},
                     {DType::bf16, {-1e10L, -3.38e38L}},
                     {DType::f64, {-1e10L, -1e30L, -1.7e308L, 1e200L}}};
  for (const auto& of_type : kHuge)
    for (const Real huge : of_type.numbers)
      for (const double scale : {1.0, 0.10206207, -0.3})
        for (const Beside beside : {Beside::nothing, Beside::halves, Beside::ordinary_ones})
          for (const Lines& lines : kLines) {
            expect_right_of(of_type.type, huge, scale, beside, lines);
            if (HasFailure()) return;
          }
}

}  // namespace
}  // namespace ndfold::test
