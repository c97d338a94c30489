// Softmaxes over runs that begin and end anywhere in a pack: every number of runs, packs and lanes, elements of
// neighbours that would change a result, scales of either sign, and what keeps rows from being taken so.
#include "tests/simt/forced.h"

namespace simt {
namespace {

TEST(cut_runs, every_length_of_runs) {
  Tally tally;
  for (Index length = 2; length <= 37; ++length)
    for (const Index runs : {2, 5})
      for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
        for (const char* strategy : {"rows_in_lanes", "rows_in_block"})
          softmax({3, runs, 3, length},
                  {.axes = {1, 3}, .kind = kind, .scale = static_cast<double>(length % 3 - 1), .alpha = 3}, strategy,
                  {}, tally);
  EXPECT_GE(tally.cut_runs, 200);
}

TEST(cut_runs, halves_and_several_axes) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16, DType::f64})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const char* strategy : {"rows_in_lanes", "rows_in_block"}) {
        for (const Index length : {5, 9, 12, 31})
          softmax({3, 7, 5, length}, {.axes = {1, 3}, .kind = kind}, strategy, {.type = type}, tally);
        softmax({2, 2, 3, 3, 2, 2, 2, 2, 9}, {.axes = {1, 3, 5, 8}, .kind = kind}, strategy, {.type = type}, tally);
      }
  EXPECT_GE(tally.cut_runs, 50);
}

TEST(cut_runs, rows_of_many_warps) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
      softmax({3, 31, 5, 33}, {.axes = {1, 3}, .kind = kind}, "rows_in_block", {.type = type}, tally);
      softmax({2, 13, 3, 257}, {.axes = {1, 3}, .kind = kind}, "rows_in_block", {.type = type}, tally);
      softmax({2, 65, 2, 129}, {.axes = {1, 3}, .kind = kind}, "rows_in_block", {.type = type}, tally);
    }
  EXPECT_EQ(tally.cut_runs, 12);
}

TEST(cut_runs, buffers_that_begin_anywhere) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index shift : {1, 2, 3}) {
      softmax({3, 7, 5, 31}, {.axes = {1, 3}}, "rows_in_block", {.type = type, .in_shift = shift, .out_shift = shift},
              tally);
      softmax({3, 8, 3, 104}, {.axes = {1, 3}}, "rows_in_block", {.type = type, .in_shift = shift, .out_shift = shift},
              tally);
      softmax({3, 7, 5, 30}, {.axes = {1, 3}}, "rows_in_lanes", {.type = type, .in_shift = shift, .out_shift = shift},
              tally);
    }
  EXPECT_GE(tally.cut_runs, 15);
}

TEST(cut_runs, layouts) {
  Tally tally;
  const Sizes sizes = {3, 7, 5, 31};
  for (const Layout in : {Layout::row_major, Layout::padded, Layout::reversed})
    for (const Layout out : {Layout::row_major, Layout::padded, Layout::reversed})
      for (const char* strategy : {"rows_in_lanes", "rows_in_block"})
        softmax(sizes, {.axes = {1, 3}}, strategy, {.in = in, .out = out}, tally);
  EXPECT_GE(tally.cut_runs, 2);
}

// More rows than blocks have lanes for, of more packs than lanes have one each of.
TEST(cut_runs, blocks_that_take_several_turns) {
  Tally tally;
  for (const Index run : {3, 4, 16})
    for (const Index runs : {2, 20})
      for (const DType type : {DType::f32, DType::bf16})
        for (const Layout layout : {Layout::row_major, Layout::padded})
          for (const char* strategy : {"rows_in_lanes", ""})
            softmax({1200, runs, 3, run}, {.axes = {1, 3}}, strategy, {.type = type, .in = layout}, tally);
  EXPECT_GE(tally.strategies["rows_in_lanes"], 24);
  EXPECT_GE(tally.whole_packs, 10);
}

TEST(cut_runs, in_place) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const char* strategy : {"rows_in_lanes", "rows_in_block"})
      for (const Sizes& sizes : {Sizes{9, 3, 2, 31}, Sizes{3, 5, 4, 7}, Sizes{2, 31, 2, 33}}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ' ' << strategy << ::testing::PrintToString(sizes));
        Array buffer(dense(type, sizes));
        fill(buffer, Values::mixed);
        run_forced(SoftmaxSpec{.axes = {1, 3}}, buffer, buffer, small(DeviceFacts::h200(), 2), strategy, tally);
      }
  EXPECT_GE(tally.cut_runs, 10);
}

TEST(cut_runs, special_values) {
  Tally tally;
  for (const Real special : specials(DType::f32)) {
    SCOPED_TRACE(::testing::Message() << static_cast<double>(special));
    const Sizes sizes = {3, 5, 2, 7};
    Array in(dense(DType::f32, sizes)), out(dense(DType::f32, sizes));
    fill(in, Values::mixed);
    for (Index run = 0; run < 5; ++run)
      for (Index i = 0; i < 7; ++i) in.set(70 + run * 14 + i, special);  // a row of nothing else, between others
    in.set(3 * 70 - 1, special);
    run_forced(SoftmaxSpec{.axes = {1, 3}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_lanes", tally);
    run_forced(SoftmaxSpec{.axes = {1, 3}, .scale = -2}, in, out, small(DeviceFacts::h200(), 2), "rows_in_block",
               tally);
  }
  EXPECT_GT(tally.cut_runs, 0);
}

TEST(cut_runs, not_where_results_begin_elsewhere_in_a_pack) {
  Tally tally;
  softmax({3, 7, 5, 31}, {.axes = {1, 3}}, "rows_in_block", {.in_shift = 1}, tally);
  softmax({3, 7, 5, 31}, {.axes = {1, 3}}, "rows_in_block", {.out_shift = 1}, tally);
  softmax({3, 7, 5, 31}, {.axes = {1, 3}}, "rows_in_block", {.out = Layout::stepped}, tally);
  softmax({3, 7, 5, 32}, {.axes = {1, 3}}, "rows_in_block", {}, tally);  // whole packs
  EXPECT_EQ(tally.strategies["rows_in_block"], 4);
  EXPECT_EQ(tally.cut_runs, 0);
}

}  // namespace
}  // namespace simt
