// A softmax in two looks, the second of which maps: columns and lines, whole packs and cut ones, parts and one state.
#include "tests/simt/forced.h"

namespace simt {
namespace {

void softmax(DType type, const Sizes& sizes, const AxisSet& axes, Layout layout, Index shift, Tally& tally,
             SoftmaxKind kind = SoftmaxKind::softmax, int threads = 1024) {
  SCOPED_TRACE(::testing::Message() << name(type) << ' ' << ::testing::PrintToString(sizes) << ' ' << name(layout)
                                    << ' ' << shift);
  Array in(lay_out(type, sizes, layout, 5), shift);
  Array out(lay_out(type, sizes, layout == Layout::stepped ? layout : Layout::row_major, 1), shift / 2);
  fill(in, Values::mixed);
  DeviceFacts device = small(DeviceFacts::h200(), 2);
  device.threads_per_block = threads;
  run_forced(SoftmaxSpec{.axes = axes, .kind = kind}, in, out, device, "split", tally);
}

TEST(mapped, columns_and_lines) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index shift : {0, 1}) {
      softmax(type, {101, 76}, {0}, Layout::row_major, shift, tally);
      softmax(type, {333, 65}, {0}, Layout::row_major, shift, tally);
      softmax(type, {40, 1100}, {0}, Layout::row_major, shift, tally, SoftmaxKind::log_softmax);
      softmax(type, {40, 1101}, {0}, Layout::row_major, shift, tally);
      softmax(type, {700, 3}, {0}, Layout::row_major, shift, tally);
      softmax(type, {3, 300, 17}, {1}, Layout::row_major, shift, tally);
      softmax(type, {5, 3, 1027}, {2}, Layout::row_major, shift, tally);
      softmax(type, {3, 9000}, {1}, Layout::row_major, shift, tally);
      softmax(type, {2, 20003}, {1}, Layout::row_major, shift, tally, SoftmaxKind::log_softmax);
      softmax(type, {3, 50, 36}, {1}, Layout::row_major, shift, tally);
      softmax(type, {4, 5, 6, 50}, {1, 3}, Layout::row_major, shift, tally);
      softmax(type, {5, 60, 4, 12}, {0, 2}, Layout::row_major, shift, tally);
      softmax(type, {2, 36, 1102}, {1}, Layout::row_major, shift, tally);  // four rows, or two, are whole packs
    }
  EXPECT_EQ(tally.strategies["split"], 52);
}

// As many rows as are whole sectors, or whole packs, and what is left of them.
TEST(mapped, rows_that_are_joined) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index rows : {17, 18, 129, 131, 256, 261, 271})
      for (const Index columns : {37, 42, 68}) {
        softmax(type, {rows, columns}, {0}, Layout::row_major, rows % 2, tally, SoftmaxKind::softmax, 32);
        softmax(type, {3, rows, columns}, {1}, Layout::row_major, 0, tally, SoftmaxKind::log_softmax, 32);
      }
  EXPECT_EQ(tally.strategies["split"], 84);
}

TEST(mapped, layouts) {
  Tally tally;
  for (const Layout layout : {Layout::padded, Layout::stepped, Layout::reversed, Layout::column_major}) {
    softmax(DType::f32, {101, 76}, {0}, layout, 0, tally);
    softmax(DType::f32, {7, 900}, {1}, layout, 1, tally);
  }
  EXPECT_EQ(tally.strategies["split"], 8);
}

TEST(mapped, blocks_of_any_size) {
  Tally tally;
  for (const int threads : {32, 70, 96, 192})
    for (const Index columns : {5, 76, 389}) {
      softmax(DType::f32, {101, columns}, {0}, Layout::row_major, 1, tally, SoftmaxKind::softmax, threads);
      softmax(DType::f32, {5, 10 * columns}, {1}, Layout::row_major, 1, tally, SoftmaxKind::softmax, threads);
    }
  EXPECT_EQ(tally.strategies["split"], 24);
}

TEST(mapped, tiles_that_go_along_a_line_together) {
  Tally tally;
  for (const DType type : {DType::f32, DType::bf16})
    for (const Index columns : {2, 3, 24, 31}) {
      softmax(type, {9'001, columns}, {0}, Layout::row_major, columns % 3, tally, SoftmaxKind::softmax, 32);
      softmax(type, {2, 4'000, columns}, {1}, Layout::row_major, 1, tally, SoftmaxKind::log_softmax, 32);
    }
  EXPECT_EQ(tally.strategies["split"], 16);
}

}  // namespace
}  // namespace simt
