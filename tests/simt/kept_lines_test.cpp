// Rows of 16 bits, which wait in registers as elements: whole packs and cut ones, by a warp, and by a block where
// results begin elsewhere in a pack; scales of either sign, specials that all of a lane's packs or one element may be.
#include "tests/simt/forced.h"

namespace simt {
namespace {

TEST(kept_lines, by_a_warp) {
  Tally tally;
  for (const DType type : {DType::bf16, DType::f16})
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      for (const Index length : {1032, 1536, 1025, 1033, 1663})
        softmax({5, length}, {.axes = {1}, .kind = kind, .scale = -0.5}, "rows_in_lanes", {.type = type}, tally);
  for (const Index length : {520, 640, 513, 515}) softmax({5, length}, {.axes = {1}}, "rows_in_lanes", {}, tally);
  EXPECT_EQ(tally.whole_packs, 10);
  EXPECT_EQ(tally.cut_lines, 14);
}

TEST(kept_lines, special_values) {
  Tally tally;
  for (const Real special : specials(DType::bf16))
    for (const Index length : {1536, 1537}) {
      SCOPED_TRACE(::testing::Message() << static_cast<double>(special) << ' ' << length);
      Array in(dense(DType::bf16, {3, length})), out(dense(DType::bf16, {3, length}));
      fill(in, Values::mixed);
      for (Index i = 0; i < length; ++i) in.set(length + i, special);  // a row of nothing else, between others
      in.set(3 * length - 1, special);
      for (const double scale : {1.0, -0.1})
        run_forced(SoftmaxSpec{.axes = {1}, .scale = scale}, in, out, small(DeviceFacts::h200(), 2), "rows_in_lanes",
                   tally);
    }
  EXPECT_GT(tally.whole_packs, 0);
  EXPECT_GT(tally.cut_lines, 0);
}

}  // namespace
}  // namespace simt
