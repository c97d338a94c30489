// Long rows of 16 bits, which wait in registers as elements: whole packs and cut ones, by a block and by a cluster's,
// scales of either sign, specials that all of a lane's packs or one element may be.
#include "tests/simt/forced.h"

namespace simt {
namespace {

constexpr DType kHalves[] = {DType::bf16, DType::f16};

TEST(kept_lines, by_a_block) {
  Tally tally;
  for (const DType type : kHalves)
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -0.5, 0.0}) {
        const SoftmaxSpec spec{.axes = {1}, .kind = kind, .scale = scale, .alpha = 3};
        for (const Index length : {16392, 20000, 32768, 16401, 32769})
          softmax({2, length}, spec, "rows_in_block", {.type = type}, tally);
      }
  softmax({2, 16387}, {.axes = {1}}, "rows_in_block", {}, tally);  // as many packs as registers have, and ends
  EXPECT_EQ(tally.whole_packs, 36);
  EXPECT_EQ(tally.cut_lines, 25);
}

TEST(kept_lines, by_a_warp) {
  Tally tally;
  for (const DType type : kHalves)
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const Index length : {1032, 1536, 1025, 1033, 1663})
        softmax({5, length}, {.axes = {1}, .kind = kind, .scale = -0.5}, "rows_in_lanes", {.type = type}, tally);
  for (const Index length : {520, 640, 513, 515}) softmax({5, length}, {.axes = {1}}, "rows_in_lanes", {}, tally);
  EXPECT_EQ(tally.whole_packs, 10);
  EXPECT_EQ(tally.cut_lines, 14);
}

TEST(kept_lines, by_clusters) {
  Tally tally;
  for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
    for (const double scale : {1.0, -2.0})
      for (const Index length : {40000, 65536, 128256, 40007, 65537, 128255})
        softmax({2, length}, {.axes = {1}, .kind = kind, .scale = scale}, "rows_in_cluster", {.type = DType::bf16},
                tally);
  softmax({2, 65537}, {.axes = {1}}, "rows_in_cluster", {}, tally);
  EXPECT_EQ(tally.whole_packs, 12);
  EXPECT_EQ(tally.cut_lines, 13);
}

TEST(kept_lines, buffers_that_begin_anywhere) {
  Tally tally;
  for (const Index in_shift : {0, 1, 5})
    for (const Index out_shift : {1, 4})
      softmax({2, 17001}, {.axes = {1}, .scale = -0.5}, "rows_in_block",
              {.type = DType::bf16, .in_shift = in_shift, .out_shift = out_shift}, tally);
  EXPECT_GE(tally.cut_lines, 6);
}

TEST(kept_lines, in_place) {
  Tally tally;
  for (const Index length : {16800, 16801}) {
    Array buffer(dense(DType::f16, {3, length}), 1);
    fill(buffer, Values::mixed);
    run_forced(SoftmaxSpec{.axes = {1}}, buffer, buffer, small(DeviceFacts::h200(), 2), "rows_in_block", tally);
  }
  EXPECT_EQ(tally.cut_lines, 2);
}

TEST(kept_lines, special_values) {
  Tally tally;
  for (const Real special : specials(DType::bf16))
    for (const Index length : {16600, 16601}) {
      SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << length);
      Array in(dense(DType::bf16, {3, length})), out(dense(DType::bf16, {3, length}));
      fill(in, Values::mixed);
      for (Index i = 0; i < length; ++i) in.set(length + i, special);  // a row of nothing else, between others
      in.set(3 * length - 1, special);
      run_forced(SoftmaxSpec{.axes = {1}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_block", tally);
      run_forced(SoftmaxSpec{.axes = {1}, .scale = -0.1}, in, out, small(DeviceFacts::h200(), 2), "rows_in_block",
                 tally);
    }
  EXPECT_GT(tally.whole_packs, 0);
  EXPECT_GT(tally.cut_lines, 0);
}

}  // namespace
}  // namespace simt
