// What a fold is: a commutative monoid over states, with a door for elements and one for the result.
#pragma once
#include <ndfold/dtype.h>

#include "kernels/folds/vocabulary.h"

#include <concepts>
#include <type_traits>

namespace ndfold::folds {

/// Laws (tests/folds/laws_test.cpp): identity() is neutral, combine() is associative and commutative up to rounding.
/// `Value` is a number or SIMD lanes of them; finalize() is asked of numbers only. n counts the elements folded.
template <class F>
concept Fold = std::is_trivially_copyable_v<typename F::State> &&
    requires(const F fold, typename F::Value x, typename F::State s, Index i) {
  { fold.identity() } -> std::same_as<typename F::State>;
  { fold.map(x, i) } -> std::same_as<typename F::State>;
  { fold.combine(s, s) } -> std::same_as<typename F::State>;
};

template <class F>
concept FinalFold = Fold<F> && requires(const F fold, typename F::State s, Index n) {
  fold.finalize(s, n);
};

/// A fold that does better when it looks at a block of elements twice: first folding a pivot (a maximum, a mean), then
/// folding around it. `join` makes a state of both.
template <class F>
concept PivotFold = Fold<F> && requires(const F fold, typename F::Value v, Index n) {
  { fold.pivot_fold() } -> Fold;
  { fold.pivot(v, n) } -> std::same_as<typename F::Value>;
  { fold.around(v, n) } -> Fold;
  { fold.join(v, v, v, n) } -> std::same_as<typename F::State>;
};

/// Splitting needs two adaptors and no new folds: the first pass keeps states, later passes take them as elements. An
/// index is one among those that came before, from where its state is said to stand.
template <Fold F>
struct Partial : F {
  ND_HD typename F::State finalize(typename F::State s, Index) const { return s; }
};

template <Fold F>
struct Merge : F {
  using Value = typename F::State;
  ND_HD typename F::State map(typename F::State s, Index i) const {
    if constexpr (requires { s.index; }) s.index += i;
    return s;
  }
};

/// The state of n equal elements whose state is s, by doubling: O(log n) combines for any fold.
template <Fold F>
ND_HD typename F::State repeated(const F& fold, typename F::State s, Index n) {
  auto result = fold.identity();
  for (; n > 0; n >>= 1, s = fold.combine(s, s))
    if (n & 1) result = fold.combine(result, s);
  return result;
}

/// What a fold may be told at run time.
struct FoldParameters {
  double scale = 1;
  Index ddof = 0;
};

template <Fold F>
ND_HD F make_fold(const FoldParameters& parameters) {
  F fold;
  if constexpr (requires { fold.scale; }) {
    using V = decltype(fold.scale);  // not F's Value where that is a state
    fold.scale = splat<V>(static_cast<ScalarOf<V>>(parameters.scale));
  }
  if constexpr (requires { fold.ddof; }) fold.ddof = parameters.ddof;
  return fold;
}

}  // namespace ndfold::folds
