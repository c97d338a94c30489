// Softmax and log_softmax on the device: every set of axes up to rank 6, every layout, lengths around every width.
#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr Layout kOutputs[] = {Layout::row_major, Layout::permuted, Layout::stepped, Layout::reversed, Layout::padded};
constexpr double kScales[] = {1, 1, 0.125, -1.5}, kAlphas[] = {1, 1, 0.3, -2};

// One shape a rank; sizes differ, so that an axis taken for another one shows.
const Sizes kShapes[] = {{}, {1013}, {37, 61}, {5, 33, 14}, {4, 7, 9, 10}, {3, 4, 5, 6, 7}, {3, 2, 5, 4, 7, 6}};

class softmax : public OnDevice {};

SoftmaxSpec spec_of(const AxisSet& axes, std::uint64_t random) {
  return {.axes = axes,
          .kind = random % 2 == 0 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax,
          .scale = kScales[random / 2 % 4],
          .alpha = kAlphas[random / 8 % 4]};
}

std::string name_of(DType type, const Sizes& sizes, Layout layout, const AxisSet& axes) {
  return std::string(name(type)) + ' ' + ::testing::PrintToString(sizes) + ' ' + std::string(name(layout)) + " axes " +
         text(axes);
}

std::vector<Trial> every_set_of_axes(int first_rank, int last_rank) {
  std::vector<Trial> trials;
  std::uint64_t number = 0;
  for (int rank = first_rank; rank <= last_rank; ++rank)
    for (const DType type : kFloats)
      for (const Layout layout : kLayouts)
        for (const AxisSet& axes : all_axis_sets(rank)) {
          const Sizes& sizes = kShapes[rank];
          const std::uint64_t random = hash(++number);
          trials.push_back({.name = name_of(type, sizes, layout, axes),
                            .request = spec_of(axes, random),
                            .in = lay_out(type, sizes, layout, number),
                            .out = lay_out(type, sizes, kOutputs[random / 32 % 5], number + 1),
                            .in_shift = static_cast<Index>(random / 256 % 8),
                            .out_shift = static_cast<Index>(random / 2048 % 8)});
        }
  return trials;
}

TEST_F(softmax, every_set_of_axes_up_to_rank_4) { expect_right(every_set_of_axes(0, 4)); }
TEST_F(softmax, every_set_of_axes_of_rank_5) { expect_right(every_set_of_axes(5, 5)); }
TEST_F(softmax, every_set_of_axes_of_rank_6) { expect_right(every_set_of_axes(6, 6)); }

TEST_F(softmax, in_place) {
  std::vector<Trial> trials;
  std::uint64_t number = 0;
  for (int rank = 1; rank <= 4; ++rank)
    for (const DType type : kFloats)
      for (const Layout layout : kOutputs)
        for (const AxisSet& axes : all_axis_sets(rank)) {
          const ViewDesc view = lay_out(type, kShapes[rank], layout, ++number);
          trials.push_back({.name = name_of(type, kShapes[rank], layout, axes),
                            .request = spec_of(axes, hash(number)),
                            .in = view,
                            .out = view,
                            .in_shift = static_cast<Index>(number % 5),
                            .in_place = true});
        }
  expect_right(trials);
}

// Rows and columns of each length: heads, tails, and the edges between strategies.
TEST_F(softmax, every_length) {
  std::vector<Trial> trials;
  std::vector<Index> lengths;
  for (Index n = 1; n <= 280; ++n) lengths.push_back(n);
  for (Index power = 512; power <= 32768; power *= 2)
    for (const Index n : {power - 1, power, power + 1}) lengths.push_back(n);
  for (const Index n : lengths)
    for (const DType type : {DType::f32, DType::f16})
      for (const int axis : {0, 1}) {
        const Index others = n <= 300 ? 5 + n % 7 : 3;
        const Sizes sizes = axis == 1 ? Sizes{others, n} : Sizes{n, others};
        trials.push_back({.name = name_of(type, sizes, Layout::row_major, {axis}),
                          .request = SoftmaxSpec{.axes = {axis}},
                          .in = dense(type, sizes),
                          .out = dense(type, sizes),
                          .in_shift = n % 8,
                          .out_shift = n / 8 % 8,
                          .replays = n <= 64 ? 1 : 0});
      }
  expect_right(trials);
}

struct Types {
  DType in, out;
};

TEST_F(softmax, into_another_type) {
  constexpr Types kTypes[] = {
      {DType::f16, DType::f32}, {DType::bf16, DType::f32}, {DType::f32, DType::f16}, {DType::f32, DType::bf16}};
  std::vector<Trial> trials;
  for (const auto& [in, out] : kTypes)
    for (const AxisSet& axes : {AxisSet{2}, AxisSet{1}, AxisSet{0, 2}, AxisSet::all()})
      for (const Layout layout : {Layout::row_major, Layout::stepped}) {
        const Sizes sizes = {9, 35, 130};
        trials.push_back({.name = name_of(in, sizes, layout, axes) + " into " + std::string(name(out)),
                          .request = SoftmaxSpec{.axes = axes},
                          .in = lay_out(in, sizes, layout, 2),
                          .out = lay_out(out, sizes, layout, 3),
                          .in_shift = 1});
      }
  expect_right(trials);
}

// As they come in practice: what the planner chooses, not what it can be forced to.
TEST_F(softmax, larger_ones) {
  struct Shape {
    Sizes sizes;
    AxisSet axes;
  };
  const Shape kLarge[] = {{{3, 1 << 20}, {1}},   {{1 << 18, 3}, {0}},      {{1 << 16, 5}, {1}},      {{300000}, {0}},
                          {{17, 513, 65}, {1}},  {{4096, 130}, {0}},       {{7, 65, 9, 70}, {1, 3}}, {{12, 40000}, {1}},
                          {{130, 2050}, {0, 1}}, {{5, 100, 1000}, {0, 2}}, {{2, 70001}, {1}},        {{70001, 9}, {0}}};
  std::vector<Trial> trials;
  for (const Shape& shape : kLarge)
    for (const DType type : {DType::f32, DType::bf16})
      trials.push_back({.name = name_of(type, shape.sizes, Layout::row_major, shape.axes),
                        .request = SoftmaxSpec{.axes = shape.axes},
                        .in = dense(type, shape.sizes),
                        .out = dense(type, shape.sizes),
                        .replays = 1});
  expect_right(trials);
}

}  // namespace
}  // namespace ndfold::test
