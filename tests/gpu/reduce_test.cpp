// Every reduction of every element type on the device, over several axes of every layout.
#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

struct Shape {
  Sizes sizes;
  AxisSet axes;
};

const Shape kShapes[] = {{{5, 300}, {1}}, {{300, 19}, {0}},        {{4, 6, 5, 8}, {1, 3}}, {{4, 6, 5, 8}, {0, 2}},
                         {{2100}, {0}},   {{2, 9, 70}, {0, 1, 2}}, {{3, 40, 5}, {1}}};

class reduce : public OnDevice {};

Values values_for(ReduceOp op, DType type, std::uint64_t seed) {
  if (op == ReduceOp::prod) return Values::factors;
  if (type == DType::boolean || op == ReduceOp::any || op == ReduceOp::all) return Values::ties;
  if (!is_floating(type)) return seed % 2 == 0 ? Values::bits : Values::whole;
  return seed % 3 == 0 ? Values::ties : Values::mixed;
}

// A whole row of zeros, or one zero among others: what any and all tell apart.
void set_zeros(Array& in, std::uint64_t seed) {
  const auto places = in.elements();
  for (std::size_t i = 0; i < places.size(); ++i)
    if (seed % 2 == 0 || i % 97 != 5) in.set(places[i], seed % 2 == 0 ? 0 : 1);
}

Trial trial_of(const ReduceSpec& spec, DType type, const Shape& shape, Layout layout, std::uint64_t number) {
  const std::uint64_t random = hash(number);
  Trial trial{.name = std::string(name(spec.op)) + ' ' + std::string(name(type)) + ' ' +
                      ::testing::PrintToString(shape.sizes) + ' ' + std::string(name(layout)) + " axes " +
                      text(shape.axes),
              .request = spec,
              .in = lay_out(type, shape.sizes, layout, number),
              .out = dense(default_output(spec.op, type), output_sizes(shape.sizes, shape.axes, spec.keep_axes)),
              .in_shift = static_cast<Index>(random % 16),
              .out_shift = static_cast<Index>(random / 16 % 4),
              .values = values_for(spec.op, type, random / 64)};
  if (spec.op == ReduceOp::any || spec.op == ReduceOp::all) trial.touch = set_zeros;
  return trial;
}

void expect_every_type_of(std::initializer_list<ReduceOp> ops) {
  std::vector<Trial> trials;
  for (const ReduceOp op : ops)
    for (int type = 1; type < kDTypeCount; ++type) {
      if (default_output(op, static_cast<DType>(type)) == DType::best) continue;
      for (const Layout layout : kLayouts)
        for (const Shape& shape : kShapes)
          trials.push_back(
              trial_of({.op = op, .axes = shape.axes}, static_cast<DType>(type), shape, layout, trials.size()));
    }
  expect_right(trials);
}

TEST_F(reduce, sums_of_every_type) { expect_every_type_of({ReduceOp::sum, ReduceOp::prod, ReduceOp::sumsq}); }
TEST_F(reduce, means_of_every_type) { expect_every_type_of({ReduceOp::mean, ReduceOp::var, ReduceOp::std_dev}); }
TEST_F(reduce, norms_of_every_type) { expect_every_type_of({ReduceOp::l1, ReduceOp::l2, ReduceOp::linf}); }
TEST_F(reduce, extrema_of_every_type) { expect_every_type_of({ReduceOp::max, ReduceOp::min, ReduceOp::logsumexp}); }
TEST_F(reduce, indices_of_every_type) { expect_every_type_of({ReduceOp::argmax, ReduceOp::argmin}); }
TEST_F(reduce, truths_of_every_type) { expect_every_type_of({ReduceOp::any, ReduceOp::all, ReduceOp::count_nonzero}); }

TEST_F(reduce, every_set_of_axes) {
  const Sizes kSizes[] = {{}, {700}, {31, 45}, {9, 11, 16}, {5, 4, 9, 8}, {3, 5, 4, 3, 7}, {3, 2, 5, 4, 3, 6}};
  std::vector<Trial> trials;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::var})
    for (const DType type : {DType::f32, DType::i16})
      for (const Layout layout : {Layout::row_major, Layout::permuted, Layout::reversed, Layout::broadcast})
        for (int rank = 0; rank <= 6; ++rank)
          for (const AxisSet& axes : all_axis_sets(rank))
            trials.push_back(trial_of({.op = op, .axes = axes}, type, {kSizes[rank], axes}, layout, trials.size()));
  expect_right(trials);
}

TEST_F(reduce, options) {
  std::vector<Trial> trials;
  for (const Shape& shape : kShapes)
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const ReduceSpec kSpecs[] = {{.op = ReduceOp::sum, .axes = shape.axes, .accumulate = DType::f64},
                                   {.op = ReduceOp::sum, .axes = shape.axes, .compensated = true},
                                   {.op = ReduceOp::mean, .axes = shape.axes, .compensated = true},
                                   {.op = ReduceOp::mean, .axes = shape.axes, .keep_axes = true},
                                   {.op = ReduceOp::var, .axes = shape.axes, .ddof = 1},
                                   {.op = ReduceOp::std_dev, .axes = shape.axes, .accumulate = DType::f64, .ddof = 3},
                                   {.op = ReduceOp::logsumexp, .axes = shape.axes, .accumulate = DType::f64}};
      for (const ReduceSpec& spec : kSpecs)
        for (const Values values : {Values::cancelling, Values::shifted, Values::decades}) {
          trials.push_back(trial_of(spec, type, shape, Layout::permuted, trials.size()));
          trials.back().values = values;
        }
    }
  expect_right(trials);
}

TEST_F(reduce, nothing_and_single_elements) {
  const Shape kEmpty[] = {{{0, 4}, {0}}, {{0, 4}, {1}},    {{3, 0}, {1}},    {{3, 0}, {0}},
                          {{0}, {0}},    {{1, 1}, {0, 1}}, {{4, 1, 3}, {1}}, {{}, {}}};
  std::vector<Trial> trials;
  for (const Shape& shape : kEmpty)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::mean, ReduceOp::any, ReduceOp::all,
                              ReduceOp::logsumexp, ReduceOp::count_nonzero})
      trials.push_back(trial_of({.op = op, .axes = shape.axes}, DType::f32, shape, Layout::row_major, trials.size()));
  expect_right(trials);
}

// Few outputs of many elements, and many outputs of few: what the planner chooses for them.
TEST_F(reduce, larger_ones) {
  const Shape kLarge[] = {{{3000001}, {0}},     {{3, 700001}, {1}},  {{700001, 3}, {0}},  {{5, 1 << 17}, {1}},
                          {{1 << 18, 5}, {1}},  {{2000, 1030}, {0}}, {{2000, 1030}, {1}}, {{65, 40, 333}, {0, 2}},
                          {{1 << 17, 12}, {0}}, {{40, 65, 333}, {1}}};
  std::vector<Trial> trials;
  for (const Shape& shape : kLarge)
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmin})
      for (const DType type : {DType::f32, DType::u8}) {
        trials.push_back(trial_of({.op = op, .axes = shape.axes}, type, shape, Layout::row_major, trials.size()));
        trials.back().replays = 1;
      }
  expect_right(trials);
}

}  // namespace
}  // namespace ndfold::test
