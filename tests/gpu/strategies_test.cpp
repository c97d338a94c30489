// Every strategy by name on every case that it can take, on the device as it is and on smaller plans for it; and the
// fused ones against the literal chain.
#include "tests/support/strategies.h"

#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

struct Shape {
  Sizes sizes;
  AxisSet axes;
};

const Shape kShapes[] = {{{5, 300}, {1}},        {{300, 19}, {0}},       {{3, 40, 5}, {1}}, {{4, 6, 5, 8}, {0, 2}},
                         {{4, 6, 5, 8}, {1, 3}}, {{2, 4500}, {1}},       {{3000, 2}, {0}},  {{5, 4}, {}},
                         {{6, 50}, {0, 1}},      {{2, 3, 4}, {0, 2}},    {{0, 4}, {1}},     {{3, 0}, {1}},
                         {{1, 1}, {0, 1}},       {{2, 9, 310}, {0, 2}},  {{33, 3}, {1}},    {{2, 90, 9}, {1}},
                         {{700, 3}, {1}},        {{2, 130, 70}, {1, 2}}, {{130, 65}, {0}}};

// Enough for several blocks to share an output.
const Shape kLarge[] = {{{2, 40000}, {1}}, {{9000, 40}, {0}}, {{3, 2500, 18}, {1}}, {{40, 33, 65}, {0, 2}},
                        {{30000}, {0}},    {{2, 66000}, {1}}, {{5000, 8}, {0}}};

class strategies : public OnDevice {};

/// Few multiprocessors: groups of blocks take several turns.
DeviceFacts few(int multiprocessors) {
  DeviceFacts device = facts();
  device.multiprocessors = multiprocessors;
  return device;
}

/// Little shared memory: tiles of a few thousand elements need several blocks.
DeviceFacts tight() {
  DeviceFacts device = few(7);
  device.shared_bytes_per_multiprocessor = 32 * 1024;
  device.shared_bytes_per_block = 31 * 1024;
  return device;
}

struct Subject {
  AnyRequest request;
  DType in, out;
  Values values = Values::mixed;
};

Subject reduction(ReduceOp op, const AxisSet& axes, DType type, Values values = Values::mixed) {
  return {ReduceSpec{.op = op, .axes = axes}, type, default_output(op, type), values};
}

Subject softmax_of(const AxisSet& axes, DType type, SoftmaxKind kind) {
  return {SoftmaxSpec{.axes = axes, .kind = kind, .scale = 0.7, .alpha = 1.3}, type, type};
}

using Subjects = std::vector<Subject> (*)(const AxisSet& axes);

std::vector<Subject> softmaxes(const AxisSet& axes) {
  return {softmax_of(axes, DType::f32, SoftmaxKind::softmax), softmax_of(axes, DType::f16, SoftmaxKind::softmax),
          softmax_of(axes, DType::bf16, SoftmaxKind::log_softmax), softmax_of(axes, DType::f64, SoftmaxKind::softmax),
          softmax_of(axes, DType::f32, SoftmaxKind::log_softmax)};
}

std::vector<Subject> reductions(const AxisSet& axes) {
  return {reduction(ReduceOp::sum, axes, DType::f32),
          reduction(ReduceOp::sum, axes, DType::f16),
          reduction(ReduceOp::sum, axes, DType::i16, Values::bits),
          reduction(ReduceOp::argmax, axes, DType::f32, Values::ties),
          reduction(ReduceOp::argmin, axes, DType::u8, Values::bits),
          reduction(ReduceOp::var, axes, DType::f32),
          reduction(ReduceOp::var, axes, DType::f64, Values::shifted),
          reduction(ReduceOp::max, axes, DType::bf16),
          reduction(ReduceOp::logsumexp, axes, DType::f32),
          reduction(ReduceOp::any, axes, DType::boolean, Values::ties)};
}

bool may_be_empty(const Subject& subject) {
  const auto* reduce = std::get_if<ReduceSpec>(&subject.request);
  return reduce == nullptr || !ndfold::facts(reduce->op).needs_elements;
}

void add(std::vector<Trial>& trials, const Shape& shape, const Subject& subject, Layout layout,
         const DeviceFacts& device, int replays) {
  const bool folds = std::holds_alternative<ReduceSpec>(subject.request);
  const Sizes out = folds ? output_sizes(shape.sizes, shape.axes) : shape.sizes;
  const bool stepped = !folds && layout == Layout::stepped;
  for (const char* strategy : kGpuStrategies)
    trials.push_back({.name = std::string(name(subject.in)) + ' ' + ::testing::PrintToString(shape.sizes) + " axes " +
                              text(shape.axes) + ' ' + std::string(name(layout)) + " with " +
                              std::to_string(device.multiprocessors) + " multiprocessors",
                      .request = subject.request,
                      .in = lay_out(subject.in, shape.sizes, layout, 6),
                      .out = lay_out(subject.out, out, stepped ? layout : Layout::row_major),
                      .in_shift = 1,
                      .out_shift = 3,
                      .values = subject.values,
                      .strategy = strategy,
                      .device = device,
                      .replays = replays});
}

void expect_all(const Tally& tally, std::initializer_list<const char*> needed) {
  for (const char* strategy : needed) EXPECT_TRUE(!is_gpu() || tally.strategies.contains(strategy)) << strategy;
  EXPECT_GT(tally.run, 0);
}

Tally expect_forced(Subjects subjects) {
  std::vector<Trial> trials;
  for (const Shape& shape : kShapes)
    for (const Layout layout :
         {Layout::row_major, Layout::permuted, Layout::stepped, Layout::reversed, Layout::broadcast, Layout::padded})
      for (const Subject& subject : subjects(shape.axes))
        if (shape.sizes != Sizes{3, 0} || may_be_empty(subject)) add(trials, shape, subject, layout, facts(), 3);
  for (const Shape& shape : kLarge)
    for (const DeviceFacts& device : {facts(), few(3), tight()})
      for (const Subject& subject : subjects(shape.axes)) add(trials, shape, subject, Layout::row_major, device, 1);
  return expect_right(trials);
}

TEST_F(strategies, softmax_by_each) {
  expect_all(expect_forced(softmaxes),
             {"nothing", "rows_in_lanes", "rows_in_block", "rows_in_cluster", "rows_in_grid", "columns_in_bundles",
              "columns_in_lanes", "columns_in_block", "columns_in_cluster", "columns_in_grid", "split", "columns_first",
              "permute_then_rows", "softmax_chain"});
}

TEST_F(strategies, reductions_by_each) {
  expect_all(expect_forced(reductions), {"nothing", "copy", "rows_in_lanes", "rows_in_block", "rows_in_cluster",
                                         "columns_in_bundles", "columns_in_lanes", "columns_in_block",
                                         "columns_in_cluster", "split", "columns_first", "permute_then_rows"});
}

TEST_F(strategies, softmax_in_place_by_each) {
  std::vector<Trial> trials;
  for (const Shape& shape : kShapes)
    for (const Subject& subject : softmaxes(shape.axes)) {
      const std::size_t first = trials.size();
      add(trials, shape, subject, Layout::padded, facts(), 1);
      for (std::size_t i = first; i < trials.size(); ++i) {
        trials[i].in_place = true;
        trials[i].out = trials[i].in;
      }
    }
  expect_right(trials);
}

// Rows that begin anywhere in a sector, of more elements than a cache keeps.
TEST_F(strategies, columns_by_sectors) {
  std::vector<Trial> trials;
  DeviceFacts device = few(3);
  device.cache_bytes = 0;
  for (const Shape& shape : {Shape{{33, 301}, {0}}, Shape{{2, 60, 517}, {1}}, Shape{{250, 405}, {0}},
                             Shape{{1301, 205}, {0}}, Shape{{3, 700, 333}, {1}}, Shape{{900, 1036}, {0}}})
    for (const Subject& subject : softmaxes(shape.axes))
      for (const Index shift : {0, 1, 6}) {
        const std::size_t first = trials.size();
        add(trials, shape, subject, Layout::row_major, device, 1);
        for (std::size_t i = first; i < trials.size(); ++i) {
          trials[i].in_shift = shift;
          trials[i].out_shift = shift == 6 ? 2 : shift;
        }
      }
  expect_all(expect_right(trials), {"columns_in_block", "columns_in_grid"});
}

// Nothing in common but the answer.
TEST_F(strategies, fused_ones_agree_with_the_chain) {
  std::vector<Trial> trials;
  for (const auto* shapes : {&kShapes[0], &kLarge[0]}) {
    const std::size_t count = shapes == &kShapes[0] ? std::size(kShapes) : std::size(kLarge);
    for (const Shape& shape : std::span(shapes, count))
      for (const Subject& subject : softmaxes(shape.axes)) {
        const std::size_t first = trials.size();
        add(trials, shape, subject, Layout::row_major, facts(), 0);
        for (std::size_t i = first; i < trials.size(); ++i) trials[i].witness = "softmax_chain";
      }
  }
  expect_right(trials);
}

}  // namespace
}  // namespace ndfold::test
