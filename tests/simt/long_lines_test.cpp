// Long lines of a softmax, wherever in a pack they begin: in the registers of a block or of a cluster's, and beyond
// them in shared memory; scales of either sign, specials at the ends, in registers and beyond.
#include "tests/simt/forced.h"

namespace simt {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f64};
constexpr DType kHalves[] = {DType::bf16, DType::f16};

// Elements that the registers of a block keep.
Index kept(DType type) { return 57344 / static_cast<Index>(size_bytes(type)); }

TEST(long_lines, in_registers) {
  Tally tally;
  for (const DType type : kHalves)
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -0.5, 0.0}) {
        const SoftmaxSpec spec{.axes = {1}, .kind = kind, .scale = scale, .alpha = 3};
        for (const Index length : {16392, 20000, 32768, 16401, 32769})
          softmax({2, length}, spec, "rows_in_block", {.type = type}, tally);
      }
  for (const Index length : {8200, 12289, 16384, 16387})
    softmax({2, length}, {.axes = {1}}, "rows_in_block", {}, tally);
  EXPECT_EQ(tally.whole_packs, 64);
}

TEST(long_lines, beyond_registers) {
  Tally tally;
  for (const DType type : kTypes)
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -0.5, 0.0}) {
        const SoftmaxSpec spec{.axes = {1}, .kind = kind, .scale = scale, .alpha = 3};
        for (const Index length : {kept(type) + 64, kept(type) * 3 / 2, kept(type) + 57, kept(type) * 5 / 2 + 1})
          softmax({2, length}, spec, "rows_in_block", {.type = type}, tally);
      }
  EXPECT_EQ(tally.whole_packs, 72);
}

TEST(long_lines, by_clusters) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -2.0})
        for (const Index length : {kept(type) * 2, kept(type) * 3 + 8, kept(type) + 7239, kept(type) * 4 + 1})
          softmax({2, length}, {.axes = {1}, .kind = kind, .scale = scale}, "rows_in_cluster", {.type = type}, tally);
  softmax({1, 700001}, {.axes = {1}}, "rows_in_cluster", {.type = DType::bf16}, tally);
  EXPECT_EQ(tally.whole_packs, 33);
}

TEST(long_lines, buffers_that_begin_anywhere) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16, DType::f64})
    for (const Index length : {kept(type) - 1000, kept(type) + 2001})
      for (const Index in_shift : {0, 1, 3})
        for (const Index out_shift : {0, 1, 6})
          softmax({3, length}, {.axes = {1}, .scale = -0.5}, "rows_in_block",
                  {.type = type, .in_shift = in_shift, .out_shift = out_shift}, tally);
  EXPECT_EQ(tally.whole_packs + tally.cut_lines, 54);
  EXPECT_EQ(tally.whole_packs, 4 + 4 + 8);  // where results begin in a pack as their elements do
}

TEST(long_lines, results_elsewhere_in_a_pack) {
  Tally tally;
  for (const DType type : {DType::f32, DType::f16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const double scale : {1.0, -2.0}) {
        const SoftmaxSpec spec{.axes = {1}, .kind = kind, .scale = scale};
        softmax({2, kept(type) + 16}, spec, "rows_in_block", {.type = type, .in = Layout::padded}, tally);
        softmax({2, kept(type) * 2 + 1}, spec, "rows_in_cluster", {.type = type, .out_shift = 1}, tally);
        softmax({2, kept(type) * 4 - 3}, spec, "rows_in_cluster", {.type = type, .in_shift = 3, .out_shift = 2}, tally);
      }
  for (const Real special : specials(DType::f32)) {
    Array in(dense(DType::f32, {2, 17001})), out(dense(DType::f32, {2, 17001}), 1);
    fill(in, Values::mixed);
    for (Index i = 0; i < 9000; ++i) in.set(i, special);  // all that one block has
    run_forced(SoftmaxSpec{.axes = {1}}, in, out, small(DeviceFacts::h200(), 2), "rows_in_cluster", tally);
  }
  EXPECT_GE(tally.cut_lines, 24);
}

TEST(long_lines, in_place) {
  Tally tally;
  for (const Index length : {16800, 16801, 40000, 40001})
    for (const Index shift : {0, 1}) {
      Array buffer(dense(DType::f16, {3, length}), shift);
      fill(buffer, Values::mixed);
      run_forced(SoftmaxSpec{.axes = {1}}, buffer, buffer, small(DeviceFacts::h200(), 2), "rows_in_block", tally);
    }
  EXPECT_EQ(tally.whole_packs, 8);
}

// Of one row all elements are special, of others those of one end, of what is kept, or of what waits beyond.
TEST(long_lines, special_values) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Real special : specials(type))
      for (const Index length : {kept(type) - 100, kept(type) + 2001}) {
        SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << length);
        Array in(dense(type, {5, length})), out(dense(type, {5, length}));
        fill(in, Values::mixed);
        for (Index i = 0; i < length; ++i) in.set(length + i, special);
        for (Index i = 0; i < kept(type) - 100; ++i) in.set(2 * length + i, special);
        for (Index i = kept(type) - 200; i < length; ++i) in.set(3 * length + i, special);
        in.set(0, special);
        in.set(5 * length - 1, special);
        for (const double scale : {1.0, -0.1})
          run_forced(SoftmaxSpec{.axes = {1}, .scale = scale}, in, out, small(DeviceFacts::h200(), 2), "rows_in_block",
                     tally);
      }
  EXPECT_GT(tally.whole_packs, 0);
}

}  // namespace
}  // namespace simt
