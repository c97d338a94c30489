// Softmax of rows in batches: right, the same bits wherever results go and whoever takes which rows, and nothing else
// is written.
#include "kernels/cpu/batched_softmax.h"

#include "tests/cpu/dense_softmax_rows.h"

namespace ndfold::test {
namespace {

template <class A>
constexpr Index kWidth = simd::kLanes<simd::LanesOf<A>>;

// Fewer rows than a batch, none left over, some left over; rows of whole vectors and with ends of every length.
template <class T>
void expect_softmax(double bound) {
  using A = simd::NumberOf<T>;
  const Index short_row = simd::kShortRowBytes / static_cast<Index>(sizeof(A)), longest = simd::kLongRow<A> - 1;
  for (Index length = short_row + 1; length <= longest;
       length += length < short_row + kWidth<A> ? 1 : 3 * kWidth<A> + 7)
    for (const Index rows : {2 * kWidth<A>, 2 * kWidth<A> + 1, 5 * kWidth<A> - 1})
      DenseSoftmaxRows<T>(rows, length, 0.75).expect_right(bound);
}

TEST(batched_softmax, of_floats) { expect_softmax<float>(3e-6); }
TEST(batched_softmax, of_doubles) { expect_softmax<double>(1e-6); }
TEST(batched_softmax, of_halves) {
  if constexpr (simd::kHasElementLanes<simd::Half>) expect_softmax<simd::Half>(2e-3);
}
TEST(batched_softmax, of_bfloats) {
  if constexpr (simd::kHasElementLanes<simd::Bfloat16>) expect_softmax<simd::Bfloat16>(2e-2);
}

TEST(batched_softmax, of_many_side_by_side_rows_of_a_few_vectors_alone) {
  const auto is_batched = [](Index rows, Index length, Index stride_out) {
    return simd::are_batched_rows<float>({.size = rows, .in = length, .out = stride_out}, length);
  };
  EXPECT_FALSE(is_batched(1000, 64, 64)) << "short";
  EXPECT_TRUE(is_batched(1000, 65, 65));
  EXPECT_TRUE(is_batched(1000, 33 * kWidth<float> - 1, 33 * kWidth<float> - 1));
  EXPECT_FALSE(is_batched(1000, 33 * kWidth<float>, 33 * kWidth<float>)) << "long";
  EXPECT_FALSE(is_batched(1000, 65, 66)) << "results apart";
  EXPECT_FALSE(is_batched(2 * kWidth<float> - 1, 65, 65)) << "few";
}

// Whatever the distance between input and results: batches are as large as keeps loads from waiting for stores.
TEST(batched_softmax, at_every_distance_from_its_input) {
  constexpr Index kRows = 70, kLength = 127, kPage = 4096 / sizeof(float);
  DenseSoftmaxRows<float> some(kRows, kLength, 0.75);
  const auto expected = some.softmax(SinkKind::softmax, false, 0, 1000);
  std::vector<float> memory(2 * kRows * kLength + 2 * kPage);
  float* const x = memory.data();
  std::copy(some.in.begin(), some.in.end(), x);
  for (Index apart = 0; apart < kPage; apart += 61) {
    float* const y = x + kRows * kLength + apart;
    simd::BatchedSoftmax<float, MapKind::softmax, false>(kLength, kLength, 0.75, 1.5).map(x, y, kRows);
    ASSERT_TRUE(std::equal(y, y + kRows * kLength, expected.begin())) << apart << " elements apart";
  }
}

TEST(batched_softmax, in_place) {
  for (const MapKind map : {MapKind::softmax, MapKind::log_softmax})
    for (const Index length : {65, 100, 128}) {
      DenseSoftmaxRows<float> some(100, length, 0.75);
      const SinkKind sink = map == MapKind::softmax ? SinkKind::softmax : SinkKind::log_softmax;
      const auto expected = some.softmax(sink, false, 0, 1000);
      float* const x = some.in.data();
      if (map == MapKind::softmax)
        simd::BatchedSoftmax<float, MapKind::softmax, false>(length, length, 0.75, 1.5).map(x, x, 100);
      else
        simd::BatchedSoftmax<float, MapKind::log_softmax, false>(length, length, 0.75, 1.5).map(x, x, 100);
      ASSERT_TRUE(std::equal(some.in.begin(), some.in.end(), expected.begin())) << length;
    }
}

TEST(batched_softmax, what_is_not_finite_stays_in_its_row) {
  for (const Index length : {65, 100, 128}) expect_what_is_not_finite_to_stay(100, length);
}

}  // namespace
}  // namespace ndfold::test
