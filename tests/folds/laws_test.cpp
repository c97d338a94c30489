// Every fold obeys the laws of kernels/folds/fold.h, on numbers and on SIMD lanes; folds known to be wrong do not.
#include "tests/folds/laws.h"

#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/compensated_sum.h"
#include "kernels/folds/logical.h"
#include "kernels/folds/moments.h"
#include "kernels/folds/norms.h"
#include "kernels/folds/online_softmax.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using namespace folds;

template <template <class> class F, class... A>
void expect_laws_of(const Subject& subject) {
  const auto expect = [](DType type, const std::string& broken) { EXPECT_EQ(broken, "") << name(type); };
  (expect(dtype_of<A>::value, broken_law<F, A>(subject)), ...);
}

template <template <class> class F>
void expect_laws_of_floats(const Subject& subject) {
  expect_laws_of<F, float, double>(subject);
}

template <template <class> class F>
void expect_laws_of_integers(const Subject& subject) {
  expect_laws_of<F, std::int8_t, std::int16_t, std::int32_t, std::int64_t>(subject);
  expect_laws_of<F, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(subject);
}

TEST(laws, sum) {
  expect_laws_of_floats<Sum>({.op = ReduceOp::sum, .range = Range::sums});
  expect_laws_of<Sum, std::uint64_t>({.op = ReduceOp::sum, .exact = true});
}

TEST(laws, mean) { expect_laws_of_floats<Mean>({.op = ReduceOp::mean, .range = Range::sums}); }

TEST(laws, prod) {
  expect_laws_of_floats<Prod>({.op = ReduceOp::prod, .range = Range::factors});
  expect_laws_of<Prod, std::uint64_t>({.op = ReduceOp::prod, .exact = true});
}

TEST(laws, compensated_sum) {
  expect_laws_of_floats<CompensatedSum>({.op = ReduceOp::sum, .range = Range::sums, .compensated = true});
}

TEST(laws, compensated_mean) {
  expect_laws_of_floats<CompensatedMean>({.op = ReduceOp::mean, .range = Range::sums, .compensated = true});
}

TEST(laws, max) {
  expect_laws_of_floats<Max>({.op = ReduceOp::max, .exact = true});
  expect_laws_of_integers<Max>({.op = ReduceOp::max, .exact = true});
}

TEST(laws, min) {
  expect_laws_of_floats<Min>({.op = ReduceOp::min, .exact = true});
  expect_laws_of_integers<Min>({.op = ReduceOp::min, .exact = true});
}

TEST(laws, argmax) {
  expect_laws_of<ArgMax, float, double>({.op = ReduceOp::argmax, .exact = true});
  expect_laws_of_integers<ArgMax>({.op = ReduceOp::argmax, .exact = true});
}

TEST(laws, argmin) {
  expect_laws_of<ArgMin, float, double>({.op = ReduceOp::argmin, .exact = true});
  expect_laws_of_integers<ArgMin>({.op = ReduceOp::argmin, .exact = true});
}

TEST(laws, var) {
  for (const Index ddof : {0, 1, 3})
    expect_laws_of_floats<Variance>({.op = ReduceOp::var, .range = Range::squares, .commutes = false, .ddof = ddof});
}

TEST(laws, std) {
  for (const Index ddof : {0, 1})
    expect_laws_of_floats<StandardDeviation>(
        {.op = ReduceOp::std_dev, .range = Range::squares, .commutes = false, .ddof = ddof});
}

TEST(laws, any) { expect_laws_of<Any, std::uint8_t>({.op = ReduceOp::any, .exact = true}); }
TEST(laws, all) { expect_laws_of<All, std::uint8_t>({.op = ReduceOp::all, .exact = true}); }
TEST(laws, count_nonzero) {
  expect_laws_of<CountNonzero, std::uint8_t>({.op = ReduceOp::count_nonzero, .exact = true});
}

TEST(laws, sumsq) {
  expect_laws_of_floats<SumOfSquares>({.op = ReduceOp::sumsq, .range = Range::squares});
  expect_laws_of_floats<SumOfSquares>({.op = ReduceOp::sumsq, .range = Range::sums});  // overflows to inf
  expect_laws_of<SumOfSquares, std::uint64_t>({.op = ReduceOp::sumsq, .exact = true});
}

TEST(laws, l1) { expect_laws_of_floats<L1>({.op = ReduceOp::l1, .range = Range::sums}); }
TEST(laws, l2) { expect_laws_of_floats<L2>({.op = ReduceOp::l2, .range = Range::squares}); }
TEST(laws, linf) { expect_laws_of_floats<Linf>({.op = ReduceOp::linf, .exact = true}); }

TEST(laws, logsumexp) {
  for (const double scale : {1., -0.5})
    expect_laws_of_floats<LogSumExp>({.op = ReduceOp::logsumexp, .uses_exponential = true, .scale = scale});
}

TEST(laws, softmax) {
  for (const double scale : {1., -0.5})
    expect_laws_of_floats<OnlineSoftmax>({.op = ReduceOp::logsumexp, .uses_exponential = true, .scale = scale});
}

// Folds with a known defect: a checker that lets them pass would prove nothing.

/// "When everything is masked there is nothing to add": but a NaN may wait in a sum beside a maximum of -inf.
template <class V>
struct IdentityWhenMasked : LogSumExp<V> {
  MaxAndSum<V> combine(MaxAndSum<V> a, MaxAndSum<V> b) const {
    const V max = maximum(a.max, b.max);
    const MaxAndSum<V> right = LogSumExp<V>::combine(a, b), none = this->identity();
    const auto masked = equal(max, none.max);
    return {max, select(masked, none.sum, right.sum)};
  }
};

/// exp(max(from - to, -inf)): swallows the NaN of inf - inf, and every other NaN with it.
template <class V>
struct ClampedExponent : LogSumExp<V> {
  static V shrink(V from, V to) {
    const V low = splat<V>(-folds::kInfinity<V>), distance = from - to;
    return exponential(select(less(low, distance), distance, low));
  }
  MaxAndSum<V> combine(MaxAndSum<V> a, MaxAndSum<V> b) const {
    const V max = any_maximum(a.max, b.max);
    return {max, a.sum * shrink(a.max, max) + b.sum * shrink(b.max, max)};
  }
};

/// No guard at all: -inf - -inf.
template <class V>
struct NoGuard : LogSumExp<V> {
  MaxAndSum<V> combine(MaxAndSum<V> a, MaxAndSum<V> b) const {
    const V max = maximum(a.max, b.max);
    return {max, a.sum * exponential(a.max - max) + b.sum * exponential(b.max - max)};
  }
};

template <class V>
struct MaxThatLosesNaN : Max<V> {
  V combine(V a, V b) const { return any_maximum(a, b); }
};

template <class V>
struct MaxFromLowest : Max<V> {
  V identity() const { return splat<V>(std::numeric_limits<ScalarOf<V>>::lowest()); }
};

template <class V>
struct LastArgMax : ArgMax<V> {
  using State = typename ArgMax<V>::State;
  State combine(State a, State b) const { return a.value > b.value ? a : b; }
};

/// Chan's update without care for empty sides: 0/0.
template <class V>
struct CarelessVariance : Variance<V> {
  Moments<V> combine(Moments<V> a, Moments<V> b) const {
    const V count = a.count + b.count, of_b = b.count / count, distance = b.mean - a.mean;
    return {count, a.mean + distance * of_b,
            a.variance * (a.count / count) + b.variance * of_b + distance * distance * of_b};
  }
};

TEST(checker, catches_the_usual_guards_of_a_softmax) {
  const Subject subject{.op = ReduceOp::logsumexp, .uses_exponential = true};
  EXPECT_NE((broken_law<IdentityWhenMasked, float>(subject)), "");
  EXPECT_NE((broken_law<ClampedExponent, float>(subject)), "");
  EXPECT_NE((broken_law<NoGuard, float>(subject)), "");
  EXPECT_NE((Laws<IdentityWhenMasked, float, Lanes<float>>(subject).broken(1000)), "");
  EXPECT_NE((Laws<ClampedExponent, float, Lanes<float>>(subject).broken(1000)), "");
  EXPECT_NE((Laws<NoGuard, float, Lanes<float>>(subject).broken(1000)), "");
}

TEST(checker, catches_other_wrong_folds) {
  EXPECT_NE((broken_law<MaxThatLosesNaN, float>({.op = ReduceOp::max, .exact = true})), "");
  EXPECT_NE((broken_law<MaxFromLowest, float>({.op = ReduceOp::max, .exact = true})), "");
  EXPECT_NE((broken_law<LastArgMax, float>({.op = ReduceOp::argmax, .exact = true})), "");
  EXPECT_NE((broken_law<LastArgMax, int>({.op = ReduceOp::argmax, .exact = true})), "");
  EXPECT_NE((broken_law<CarelessVariance, float>({.op = ReduceOp::var, .range = Range::squares, .commutes = false})),
            "");
  EXPECT_NE((broken_law<Sum, float>({.op = ReduceOp::sum, .range = Range::sums, .exact = true})), "");  // it rounds
}

}  // namespace
}  // namespace ndfold::test
