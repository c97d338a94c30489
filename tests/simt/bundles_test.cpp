// Short rows in bundles: every length up to a few packs and some longer ones, aligned and not, several bundles a block.
#include "tests/simt/forced.h"

namespace simt {
namespace {

const DeviceFacts kDevice = small(DeviceFacts::h200(), 2);

void reduce(ReduceOp op, DType type, DType output, Index rows, Index length, Index shift, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(op) << ' ' << name(type) << "→" << name(output) << ' ' << rows << "×"
                                    << length << " shift " << shift);
  Array in(dense(type, {rows, length}), shift), out(dense(output, {rows}), shift / 2);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed);
  run_forced(ReduceSpec{.op = op, .axes = {1}}, in, out, kDevice, "rows_in_bundles", tally);
}

void map(DType type, SoftmaxKind kind, Index rows, Index length, Index shift, bool in_place, Tally& tally) {
  SCOPED_TRACE(::testing::Message() << name(type) << ' ' << rows << "×" << length << " shift " << shift
                                    << (in_place ? " in place" : ""));
  Array in(dense(type, {rows, length}), shift), out(dense(type, {rows, length}), shift / 2);
  fill(in, Values::mixed);
  run_forced(SoftmaxSpec{.axes = {1}, .kind = kind, .scale = 0.7, .alpha = 1.3}, in, in_place ? in : out, kDevice,
             "rows_in_bundles", tally);
}

// Rows enough that blocks take several bundles, the last of them short.
Index rows_of(Index length) { return 40000 / length + length % 5; }

TEST(bundles, reductions) {
  Tally tally;
  for (const Index length :
       {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20, 24, 31, 33, 40, 63, 64, 65, 100, 129, 255, 257, 384, 1023})
    for (const Index shift : {0, 1}) {
      const Index rows = rows_of(length);
      reduce(ReduceOp::sum, DType::f32, DType::f32, rows, length, shift, tally);
      reduce(ReduceOp::sum, DType::bf16, DType::bf16, rows, length, shift, tally);
      reduce(ReduceOp::argmax, DType::f32, DType::i64, rows / 4, length, shift, tally);
      reduce(ReduceOp::var, DType::f32, DType::f32, rows / 4, length, shift, tally);
    }
  reduce(ReduceOp::sum, DType::f32, DType::bf16, 999, 7, 0, tally);
  reduce(ReduceOp::sum, DType::f32, DType::f64, 999, 7, 0, tally);
  reduce(ReduceOp::sum, DType::f64, DType::f64, 999, 7, 1, tally);
  reduce(ReduceOp::sum, DType::u8, DType::u64, 999, 7, 1, tally);
  for (const Index rows : {1, 2, 3, 4, 5, 31, 33}) reduce(ReduceOp::sum, DType::f32, DType::f32, rows, 13, 0, tally);
  EXPECT_EQ(tally.strategies["rows_in_bundles"], 211);
}

TEST(bundles, softmaxes) {
  Tally tally;
  for (const Index length :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 33, 64, 65, 129, 257, 513, 1000, 1023, 1024, 1025, 1600, 4001})
    for (const Index shift : {0, 3}) {
      const SoftmaxKind kind = length % 2 == 0 ? SoftmaxKind::softmax : SoftmaxKind::log_softmax;
      map(DType::f32, kind, rows_of(length), length, shift, false, tally);
      map(DType::bf16, kind, rows_of(length), length, shift, false, tally);
    }
  map(DType::f32, SoftmaxKind::softmax, 3001, 5, 1, true, tally);
  map(DType::f32, SoftmaxKind::softmax, 7, 5001, 1, true, tally);
  map(DType::f64, SoftmaxKind::softmax, 3001, 5, 1, false, tally);
  map(DType::f64, SoftmaxKind::log_softmax, 7, 2001, 1, false, tally);
  for (const Index rows : {1, 2, 5, 33}) map(DType::f32, SoftmaxKind::softmax, rows, 11, 0, false, tally);
  EXPECT_EQ(tally.strategies["rows_in_bundles"], 108);
}

// Outputs may lie anywhere.
TEST(bundles, results_where_they_are_wanted) {
  Tally tally;
  for (const Layout layout : {Layout::stepped, Layout::permuted, Layout::reversed}) {
    Array in(dense(DType::f32, {30, 40, 7}), 1);
    Array out(lay_out(DType::f32, {30, 40}, layout, 3), 1);
    fill(in, Values::mixed);
    run_forced(ReduceSpec{.op = ReduceOp::sum, .axes = {2}}, in, out, kDevice, "rows_in_bundles", tally);
  }
  EXPECT_EQ(tally.strategies["rows_in_bundles"], 3);
}

}  // namespace
}  // namespace simt
