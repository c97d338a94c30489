// Rows of 1, 2, 4 and 8 elements in slots: right, the same bits wherever their results go and whoever takes which rows,
// and nothing else is written.
#include "kernels/cpu/slot_softmax.h"

#include "tests/cpu/dense_softmax_rows.h"

namespace ndfold::test {
namespace {

constexpr double kScale = -0.75;

template <class T>
void expect_softmax(double bound) {
  for (const Index length : {1, 2, 4, 8})
    for (const Index rows : {1, 2, 3, 31, 33, 256, 257, 1021})
      DenseSoftmaxRows<T>(rows, length, kScale).expect_right(bound);
}

TEST(slot_softmax, of_floats) { expect_softmax<float>(3e-6); }
TEST(slot_softmax, of_doubles) { expect_softmax<double>(1e-6); }
TEST(slot_softmax, of_halves) { expect_softmax<simd::Half>(2e-3); }

TEST(slot_softmax, a_nan_stays_in_its_row) {
  DenseSoftmaxRows<float> some(100, 4, kScale);
  some.in[13] = std::numeric_limits<float>::quiet_NaN();
  some.in[40] = std::numeric_limits<float>::infinity();  // times a negative scale: a power of 0
  for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax}) {
    const auto results = some.softmax(sink, false, 0, 1000);
    for (std::size_t i = 0; i < some.in.size(); ++i) EXPECT_EQ(results[i] != results[i], i / 4 == 3) << i;
  }
  EXPECT_EQ(some.softmax(SinkKind::softmax, false, 0, 1000)[40], 0);
}

}  // namespace
}  // namespace ndfold::test
