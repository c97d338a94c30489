// Each word of the vocabulary says the same on lanes and on numbers, bit for bit, whatever stands in the other lanes.
#include "kernels/cpu/states.h"
#include "tests/support/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace ndfold::test {
namespace {

using namespace folds;

template <class T>
class LanesOfType : public ::testing::Test {
 public:
  static constexpr int kWidth = simd::Lanes<T>::kCount;

  static std::vector<T> values() {
    using L = std::numeric_limits<T>;
    const T inf = L::infinity(), nan = L::quiet_NaN();
    return {0,        -T(0),       1,   -1,   2,   T(-2.5), L::min(), -L::min(), L::denorm_min(), -L::denorm_min(),
            L::max(), L::lowest(), inf, -inf, nan, -nan,    T(1e-3),  100};
  }

  // Calls work(lanes of a, lanes of b, a[i], b[i]) so that each pair of values meets in each lane.
  template <class Work>
  static void each_pair(const Work& work) {
    const auto all = values();
    for (std::size_t shift = 0; shift < all.size(); ++shift)
      for (std::size_t start = 0; start < all.size(); ++start) {
        T a[kWidth], b[kWidth];
        for (std::size_t i = 0; i < kWidth; ++i) {
          a[i] = all[(start + i) % all.size()];
          b[i] = all[(start + i + shift) % all.size()];
        }
        work(simd::load<simd::Lanes<T>>(a), simd::load<simd::Lanes<T>>(b), a, b);
      }
  }

  static void expect_same(T got, T want) {
    EXPECT_TRUE(got != got ? want != want : got == want && std::signbit(got) == std::signbit(want))
        << got << " not " << want;
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LanesOfType, Types);

TYPED_TEST(LanesOfType, arithmetic) {
  this->each_pair([&](auto va, auto vb, const auto* a, const auto* b) {
    for (int i = 0; i < this->kWidth; ++i) {
      this->expect_same(lane(va + vb, i), a[i] + b[i]);
      this->expect_same(lane(va - vb, i), a[i] - b[i]);
      this->expect_same(lane(va * vb, i), a[i] * b[i]);
      this->expect_same(lane(va / vb, i), a[i] / b[i]);
    }
  });
}

TYPED_TEST(LanesOfType, extrema) {
  this->each_pair([&](auto va, auto vb, const auto* a, const auto* b) {
    for (int i = 0; i < this->kWidth; ++i) {
      this->expect_same(lane(maximum(va, vb), i), maximum(a[i], b[i]));
      this->expect_same(lane(minimum(va, vb), i), minimum(a[i], b[i]));
      this->expect_same(lane(absolute(va), i), absolute(a[i]));
      const auto any = lane(any_maximum(va, vb), i);
      const auto best = maximum(a[i], b[i]);
      EXPECT_TRUE(best != best ? any != any || any == a[i] || any == b[i] : any == best) << any;  // may lose a NaN only
    }
  });
}

TYPED_TEST(LanesOfType, masks) {
  this->each_pair([&](auto va, auto vb, const auto* a, const auto* b) {
    using V = decltype(va);
    const V yes = splat<V>(1), no = splat<V>(2);
    for (int i = 0; i < this->kWidth; ++i) {
      EXPECT_EQ(lane(select(less(va, vb), yes, no), i), select(less(a[i], b[i]), 1, 2));
      EXPECT_EQ(lane(select(equal(va, vb), yes, no), i), select(equal(a[i], b[i]), 1, 2));
      EXPECT_EQ(lane(select(is_infinite(va), yes, no), i), select(is_infinite(a[i]), 1, 2));
      EXPECT_EQ(lane(select(either(less(va, vb), equal(va, vb)), yes, no), i), a[i] <= b[i] ? 1 : 2);
    }
  });
}

TYPED_TEST(LanesOfType, select_keeps_every_bit) {
  this->each_pair([&](auto va, auto vb, const auto* a, const auto* b) {
    const auto mixed = select(simd::first_lanes<TypeParam>(this->kWidth / 2), va, vb);
    for (int i = 0; i < this->kWidth; ++i) {
      const TypeParam got = lane(mixed, i), want = i < this->kWidth / 2 ? a[i] : b[i];
      EXPECT_EQ(std::memcmp(&got, &want, sizeof got), 0);
    }
  });
}

TYPED_TEST(LanesOfType, first_lanes) {
  using V = simd::Lanes<TypeParam>;
  for (int count = 0; count <= V::kCount; ++count)
    for (int i = 0; i < V::kCount; ++i)
      EXPECT_EQ(lane(select(simd::first_lanes<TypeParam>(count), splat<V>(1), splat<V>(0)), i), i < count ? 1 : 0);
}

// All lanes of a state as one: each lane counts once.
TYPED_TEST(LanesOfType, fold_lanes) {
  using V = simd::Lanes<TypeParam>;
  for (int hot = 0; hot < V::kCount; ++hot) {
    TypeParam x[V::kCount];
    for (int i = 0; i < V::kCount; ++i) x[i] = static_cast<TypeParam>(i == hot ? 100 : i);
    const TypeParam sum = static_cast<TypeParam>(V::kCount * (V::kCount - 1) / 2 - hot + 100);
    const auto values = simd::load<V>(x);
    EXPECT_EQ(simd::fold_lanes(Sum<TypeParam>(), Sum<V>(), values), sum);
    EXPECT_EQ(simd::fold_lanes(Max<TypeParam>(), Max<V>(), values), 100);
    const auto moments = simd::fold_lanes(Variance<TypeParam>(), Variance<V>(), Variance<V>().map(values, 0));
    EXPECT_EQ(moments.count, V::kCount);
    EXPECT_NEAR(static_cast<double>(moments.mean), static_cast<double>(sum / V::kCount), 1e-4);
    const auto powers =
        simd::fold_lanes(OnlineSoftmax<TypeParam>(), OnlineSoftmax<V>(), OnlineSoftmax<V>().map(values, 0));
    EXPECT_EQ(powers.max, 100);
    const auto two_sum =
        simd::fold_lanes(CompensatedSum<TypeParam>(), CompensatedSum<V>(), CompensatedSum<V>().map(values, 0));
    EXPECT_EQ(two_sum.sum, sum);
  }
}

// No state but the lanes' own: a number is its own only lane.
TEST(lanes, numbers_are_one_lane) {
  static_assert(simd::kLanes<float> == 1 && simd::kLanes<std::uint64_t> == 1 && simd::kLanes<simd::Lanes<float>> >= 4);
  static_assert(simd::kLanes<simd::Lanes<double>> * 2 == simd::kLanes<simd::Lanes<float>>);
  const float x = 3;
  EXPECT_EQ(simd::load<float>(&x), 3);
  EXPECT_EQ(simd::fold_lanes(Sum<float>(), Sum<float>(), 7.f), 7);
}

}  // namespace
}  // namespace ndfold::test
