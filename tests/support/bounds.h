// The error bounds that docs/numerics.md promises, as functions of the data. u is the unit roundoff of the arithmetic.
#pragma once
#include "tests/support/reference.h"

namespace ndfold::test {

/// exp errs by at most 1.30 units in the last place in f32 and 1.6 in f64 (tests/cpu/exponential_test.cpp); logs by
/// one.
inline constexpr Real kExpUlps = 2;
inline constexpr Real kLogUlps = 2;
/// Roundings after the fold of a softmax: the reciprocal, the product with it, alpha and the product with that.
inline constexpr Real kFinalRoundings = 4;
/// A leaf of the summation tree: 1024 elements over 16 accumulators, which are then merged, make at most this height.
inline constexpr Index kLeafHeight = 80;
inline constexpr Index kMergeSlack = 4;

/// Additions on the longest path from an element to the sum of n: leaves of at most 1024 elements in 16 or more
/// independent accumulators (rows) or of at most 32 (columns), merged pairwise. docs/numerics.md cites this function.
Index tree_height(Index n);

/// The arithmetic and the output of one request.
struct Precision {
  FloatFormat arithmetic;
  FloatFormat output;

  Real u() const { return arithmetic.unit_roundoff(); }
  Real exp_error() const { return 2 * kExpUlps * u(); }  // an ulp is up to 2u
  Real log_error() const { return 2 * kLogUlps * u(); }
  /// k roundings in a row: γ(k) = ku / (1 - ku), Higham 2002, Lemma 3.1.
  Real gamma(Real k) const { return k * u() / (1 - k * u()); }
};

/// 16-bit floats and f32 are computed in f32, all else in f64, unless `accumulate` says more.
Precision precision_of(DType input, DType accumulate, DType output);

/// A value computed within `error` of `exact`, then rounded to the output type.
Real with_output(const Precision& p, Real exact, Real error);

/// Chan, Golub, LeVeque 1983: (h + 3) u κ, κ = √(1 + mean² / var); the second term is what is left at var = 0.
Real variance_error(const Precision& p, const Row& row, Index ddof);

/// Relative, of Σ exp(y - max). Roundings of y - max count by their share of the sum, and Σ p (max - y) <= ln n.
/// Merging two states scales a sum by one more exponential: on each of the merges of a path.
Real exp_sum_error(const Precision& p, Index n);

/// How far a correct reduction may be from `exact`; 0 where the result must be bitwise right.
Real reduce_bound(const ReduceSpec& spec, const Precision& p, const Row& row, Real exact);

/// What the elements of a row share.
struct SoftmaxFacts {
  Real max;        ///< of scale · x
  Real log_sum;    ///< log Σ exp(scale · x - max)
  Real sum_error;  ///< relative, of the sum
};

/// A scale is rounded once and its product with x once, so y and max carry roundings of their own.
SoftmaxFacts softmax_facts(const SoftmaxSpec& spec, const Precision& p, const Row& row);

/// How far a correct softmax or log_softmax of x may be from `exact`.
Real softmax_bound(const SoftmaxSpec& spec, const Precision& p, const SoftmaxFacts& row, Real x, Real exact);

}  // namespace ndfold::test
