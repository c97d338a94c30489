// var and std: {count, mean, variance}, merged as by Chan, Golub and LeVeque 1979. The state keeps the variance rather
// than Σ(x - mean)², which overflows n times earlier.
#pragma once
#include "kernels/folds/sum.h"

namespace ndfold::folds {

template <class V>
struct Moments {
  V count, mean, variance;
};

/// Σ (x - mean)² / n, a term at a time.
template <class V>
struct Spread : Sum<V> {
  V mean = splat<V>(0), share = splat<V>(1);
  ND_HD V map(V x, Index) const {
    const V distance = x - mean;
    return distance * (distance * share);
  }
};

template <class V>
struct Variance {
  using Value = V;
  using State = Moments<V>;
  Index ddof = 0;

  ND_HD State identity() const { return {splat<V>(0), splat<V>(0), splat<V>(0)}; }
  ND_HD State map(V x, Index) const { return {splat<V>(1), x, (x - x) * splat<V>(0)}; }  // inf - inf: NaN, as it should

  /// Of all elements, and each state's part of them: the same for all pairs of states with these counts.
  struct Shares {
    V count, of_a, of_b;
  };
  ND_HD Shares shares(State a, State b) const {
    const V count = a.count + b.count;
    const V some = select(equal(count, splat<V>(0)), splat<V>(1), count);
    return {count, a.count / some, b.count / some};
  }
  ND_HD State combine(State a, State b, Shares share) const {
    const V distance = select(equal(share.of_a, splat<V>(0)), splat<V>(0), b.mean - a.mean);
    const V between = distance * share.of_b;
    return {share.count, select(equal(share.of_a, splat<V>(0)), b.mean, a.mean + between),
            a.variance * share.of_a + b.variance * share.of_b + between * (distance * share.of_a)};
  }
  ND_HD State combine(State a, State b) const { return combine(a, b, shares(a, b)); }
  /// NaN for no elements; divides by max(n - ddof, 0) as NumPy does.
  ND_HD V finalize(State s, Index n) const {
    const V total = static_cast<V>(n), rest = static_cast<V>(n > ddof ? n - ddof : 0);
    return rest == total && n > 0 ? s.variance : s.variance * total / rest;
  }

  ND_HD Sum<V> pivot_fold() const { return {}; }
  ND_HD V pivot(V sum, Index n) const { return sum / splat<V>(static_cast<ScalarOf<V>>(n)); }
  ND_HD Spread<V> around(V mean, Index n) const {
    Spread<V> spread;
    spread.mean = mean;
    spread.share = splat<V>(ScalarOf<V>(1) / static_cast<ScalarOf<V>>(n));
    return spread;
  }
  ND_HD State join(V, V mean, V spread, Index n) const { return {splat<V>(static_cast<ScalarOf<V>>(n)), mean, spread}; }
};

template <class V>
struct StandardDeviation : Variance<V> {
  ND_HD V finalize(Moments<V> s, Index n) const { return std::sqrt(Variance<V>::finalize(s, n)); }
};

}  // namespace ndfold::folds
