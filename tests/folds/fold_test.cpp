// The concepts that folds model, and the pieces of kernels/folds/fold.h.
#include "kernels/folds/fold.h"

#include "kernels/cpu/states.h"
#include "kernels/folds/logical.h"
#include "kernels/folds/norms.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold {
namespace {

using namespace folds;

using simd::Lanes;

template <template <class> class F, class... A>
inline constexpr bool kAreFolds = (FinalFold<F<A>> && ...);
template <template <class> class F>
inline constexpr bool kFoldsFloats = kAreFolds<F, float, double>&& Fold<F<Lanes<float>>>&& Fold<F<Lanes<double>>>;
template <template <class> class F>
inline constexpr bool kFoldsIntegers = kAreFolds<F, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                                 std::uint16_t, std::uint32_t, std::uint64_t>;
template <template <class> class F>
inline constexpr bool kSplits = FinalFold<Partial<F<float>>>&& Fold<Merge<F<float>>>&& Fold<Merge<Partial<F<double>>>>&&
    std::is_same_v<typename Merge<F<float>>::Value, typename F<float>::State>;

static_assert(kFoldsFloats<Sum> && kFoldsFloats<Mean> && kFoldsFloats<Prod>);
static_assert(kFoldsFloats<CompensatedSum> && kFoldsFloats<CompensatedMean>);
static_assert(kFoldsFloats<Max> && kFoldsFloats<Min> && kFoldsFloats<Linf>);
static_assert(kFoldsFloats<Variance> && kFoldsFloats<StandardDeviation>);
static_assert(kFoldsFloats<SumOfSquares> && kFoldsFloats<L1> && kFoldsFloats<L2>);
static_assert(kFoldsFloats<OnlineSoftmax> && kFoldsFloats<LogSumExp>);
static_assert(kAreFolds<ArgMax, float, double> && kAreFolds<ArgMin, float, double>);
static_assert(kFoldsIntegers<Max> && kFoldsIntegers<Min> && kFoldsIntegers<ArgMax> && kFoldsIntegers<ArgMin>);
static_assert(kAreFolds<Sum, std::uint64_t> && kAreFolds<Prod, std::uint64_t> &&
              kAreFolds<SumOfSquares, std::uint64_t>);
static_assert(kAreFolds<Any, std::uint8_t> && kAreFolds<All, std::uint8_t> && kAreFolds<CountNonzero, std::uint8_t>);

static_assert(kSplits<Sum> && kSplits<Max> && kSplits<ArgMin> && kSplits<Variance> && kSplits<LogSumExp>);
static_assert(kSplits<CompensatedSum> && kSplits<CountNonzero>);

static_assert(PivotFold<Variance<float>> && PivotFold<Variance<Lanes<double>>> && PivotFold<StandardDeviation<double>>);
static_assert(PivotFold<OnlineSoftmax<Lanes<float>>> && PivotFold<LogSumExp<double>>);
static_assert(!PivotFold<Sum<float>> && !PivotFold<Max<Lanes<float>>> && !PivotFold<ArgMax<double>>);

struct NoIdentity {
  using Value = float;
  using State = float;
  float map(float x, Index) const { return x; }
  float combine(float a, float b) const { return a + b; }
};
struct StateWithMemory : NoIdentity {
  using State = std::vector<float>;
  State identity() const { return {}; }
  State map(float x, Index) const { return {x}; }
  State combine(State a, State) const { return a; }
};
static_assert(!Fold<NoIdentity> && !Fold<StateWithMemory> && !Fold<int>);

TEST(fold, repeated_combines_n_times) {
  for (const Index n : {0, 1, 2, 3, 7, 8, 100, 12345}) {
    EXPECT_EQ(repeated(Sum<double>(), 3., n), 3. * static_cast<double>(n));
    EXPECT_EQ(repeated(Max<float>(), 2.f, n), n == 0 ? -std::numeric_limits<float>::infinity() : 2.f);
    EXPECT_EQ(repeated(CountNonzero<std::uint8_t>(), std::uint64_t{1}, n), static_cast<std::uint64_t>(n));
  }
}

// 2^62 elements of stride 0 are one element and 62 combines.
TEST(fold, repeated_is_logarithmic) {
  constexpr Index kMany = Index{1} << 62;
  EXPECT_EQ(repeated(Sum<double>(), 1., kMany), 0x1p62);
  const auto powers = repeated(LogSumExp<double>(), LogSumExp<double>().map(1, 0), kMany);
  EXPECT_DOUBLE_EQ(LogSumExp<double>().finalize(powers, kMany), 1 + 62 * std::log(2.));
  const auto moments = repeated(Variance<double>(), Variance<double>().map(5, 0), kMany);
  EXPECT_EQ(Variance<double>().finalize(moments, kMany), 0);
}

TEST(fold, merged_indices_count_from_where_their_state_stands) {
  const Merge<ArgMax<double>> merge;
  const auto moved = merge.map({3.5, 7}, 100);
  EXPECT_EQ(moved.index, 107);
  EXPECT_EQ(moved.value, 3.5);
  EXPECT_EQ(Merge<Sum<double>>().map(3.5, 100), 3.5);
}

TEST(fold, make_fold_hands_over_what_the_fold_asks_for) {
  const FoldParameters parameters{.scale = 3, .ddof = 2};
  EXPECT_EQ(make_fold<OnlineSoftmax<float>>(parameters).scale, 3);
  EXPECT_EQ(make_fold<OnlineSoftmax<float>>(parameters).pivot_fold().scale, 3);
  EXPECT_EQ(make_fold<OnlineSoftmax<float>>(parameters).around(1, 4).scale, 3);
  EXPECT_EQ(simd::lane(make_fold<LogSumExp<Lanes<double>>>(parameters).scale, 1), 3);
  EXPECT_EQ(make_fold<StandardDeviation<double>>(parameters).ddof, 2);
  EXPECT_EQ(make_fold<Sum<float>>(parameters).identity(), 0);
}

}  // namespace
}  // namespace ndfold
