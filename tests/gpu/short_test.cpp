// Few elements an output: short rows in bundles, many of them and of any length, and columns of few rows.
#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

class short_runs : public OnDevice {};

struct Subject {
  ReduceOp op;
  DType type, out;
};

constexpr Subject kSubjects[] = {{ReduceOp::sum, DType::f32, DType::f32}, {ReduceOp::sum, DType::bf16, DType::bf16},
                                 {ReduceOp::sum, DType::f16, DType::f32}, {ReduceOp::argmax, DType::f32, DType::i64},
                                 {ReduceOp::var, DType::f32, DType::f32}, {ReduceOp::logsumexp, DType::f32, DType::f32},
                                 {ReduceOp::sum, DType::i32, DType::i64}, {ReduceOp::max, DType::f16, DType::f16}};

// As many elements as keep the blocks of a GPU busy for several turns; a host is content with less.
Index elements() { return is_gpu() ? 3 << 20 : 30000; }

Trial reduction(const Subject& subject, const Sizes& sizes, const AxisSet& axes, const char* strategy, Index shift) {
  return {.name = std::string(name(subject.op)) + ' ' + std::string(name(subject.type)) + ' ' +
                  ::testing::PrintToString(sizes) + " shift " + std::to_string(shift),
          .request = ReduceSpec{.op = subject.op, .axes = axes},
          .in = dense(subject.type, sizes),
          .out = dense(subject.out, output_sizes(sizes, axes)),
          .in_shift = shift,
          .out_shift = shift,
          .values = subject.op == ReduceOp::argmax ? Values::ties : Values::mixed,
          .strategy = strategy,
          .replays = 1};
}

Trial softmax(DType type, Index rows, Index length, Index shift, bool in_place) {
  return {
      .name = std::string(name(type)) + " softmax " + std::to_string(rows) + "×" + std::to_string(length) + " shift " +
              std::to_string(shift),
      .request = SoftmaxSpec{.axes = {1}, .kind = length % 2 == 0 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax},
      .in = dense(type, {rows, length}),
      .out = dense(type, {rows, length}),
      .in_shift = shift,
      .out_shift = in_place ? shift : shift / 2,
      .in_place = in_place,
      .strategy = "rows_in_bundles",
      .replays = 1};
}

TEST_F(short_runs, rows_in_bundles) {
  std::vector<Trial> trials;
  for (const Index length : {2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 33, 64, 65, 127, 257, 600, 1023})
    for (const Index shift : {0, 1})
      for (const Subject& subject : kSubjects)
        trials.push_back(reduction(subject, {elements() / length + length % 5, length}, {1}, "rows_in_bundles", shift));
  const Tally tally = expect_right(trials);
  EXPECT_TRUE(!is_gpu() || tally.refused == 0);
}

TEST_F(short_runs, softmaxes_in_bundles) {
  std::vector<Trial> trials;
  for (const Index length : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 33, 64, 65, 127, 257, 600, 1023})
    for (const DType type : {DType::f32, DType::bf16, DType::f64})
      for (const Index shift : {0, 1, 2})
        if (length * static_cast<Index>(size_bytes(type)) <= 4096)
          trials.push_back(softmax(type, elements() / length + length % 5, length, shift, shift == 2));
  const Tally tally = expect_right(trials);
  EXPECT_TRUE(!is_gpu() || tally.refused == 0);
}

// Rows of several runs, as many as make blocks take several turns.
TEST_F(short_runs, softmaxes_of_runs) {
  std::vector<Trial> trials;
  for (const Index length : {2, 3, 4, 8, 15, 16})
    for (const Index runs : {2, 8, 20})
      for (const DType type : {DType::f32, DType::bf16})
        for (const Layout layout : {Layout::row_major, Layout::padded}) {
          const Sizes sizes = {std::max<Index>(1, elements() / (runs * 3 * length)), runs, 3, length};
          trials.push_back({.name = std::string(name(type)) + " softmax of " + ::testing::PrintToString(sizes),
                            .request = SoftmaxSpec{.axes = {1, 3}},
                            .in = lay_out(type, sizes, layout, 5),
                            .out = dense(type, sizes),
                            .values = Values::mixed,
                            .replays = 1});
        }
  expect_right(trials);
}

TEST_F(short_runs, columns_of_few_rows) {
  std::vector<Trial> trials;
  for (const Index rows : {1, 2, 3, 7, 8, 9, 31, 32, 33})
    for (const Index columns : {elements() / rows / 8 * 8, elements() / rows / 8 * 8 + 3})
      for (const Subject& subject : kSubjects)
        trials.push_back(
            reduction(subject, {rows, columns}, {0}, rows == 1 ? "copy" : "columns_in_block", columns % 3));
  for (const Index columns : {2, 4, 5, 12, 100, 131})
    for (const Subject& subject : kSubjects)
      trials.push_back(reduction(subject, {elements() / columns / 3, 3, columns}, {1}, "columns_in_block", 1));
  expect_right(trials);
}

}  // namespace
}  // namespace ndfold::test
