// A sum that carries its rounding errors along: Neumaier 1974, with Knuth's exact two-sum, as a mergeable state.
#pragma once
#include "kernels/folds/fold.h"

namespace ndfold::folds {

template <class V>
struct SumAndError {
  V sum, error;
};

template <class V>
struct CompensatedSum {
  using Value = V;
  using State = SumAndError<V>;
  ND_HD State identity() const { return {splat<V>(0), splat<V>(0)}; }
  ND_HD State map(V x, Index) const { return {x, splat<V>(0)}; }
  ND_HD State combine(State a, State b) const {
    const V sum = a.sum + b.sum;
    const V from_b = sum - a.sum;
    const V lost = (a.sum - (sum - from_b)) + (b.sum - from_b);
    return {sum, a.error + b.error + lost};
  }
  // An infinite sum has no error to add back: inf - inf would make it NaN.
  ND_HD V finalize(State s, Index) const { return is_infinite(s.sum) ? s.sum : s.sum + s.error; }
};

template <class V>
struct CompensatedMean : CompensatedSum<V> {
  ND_HD V finalize(SumAndError<V> s, Index n) const { return CompensatedSum<V>::finalize(s, n) / static_cast<V>(n); }
};

}  // namespace ndfold::folds
