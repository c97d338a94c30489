// {max, Σ exp(x - max)}: all that a softmax must know of its elements. Milakov and Gimelshein, arXiv:1805.02867.
#pragma once
#include "kernels/folds/extremum.h"
#include "kernels/folds/sum.h"

namespace ndfold::folds {

template <class V>
struct MaxAndSum {
  V max, sum;
};

/// A maximum of scale · x that may lose a NaN: the sum brings it back.
template <class V>
struct ScaledMax : Max<V> {
  V scale = splat<V>(1);
  ND_HD V map(V x, Index) const { return x * scale; }
  ND_HD V combine(V a, V b) const { return any_maximum(a, b); }
};

/// exp(scale · x - pivot)
template <class V>
struct SumOfPowers : Sum<V> {
  V scale = splat<V>(1), pivot = splat<V>(0);
  ND_HD V map(V x, Index) const { return exponential(x * scale - pivot); }
};

template <class V>
struct OnlineSoftmax {
  using Value = V;
  using State = MaxAndSum<V>;
  V scale = splat<V>(1);

  ND_HD State identity() const { return {splat<V>(-kInfinity<V>), splat<V>(0)}; }
  ND_HD State map(V x, Index) const { return {x * scale, splat<V>(1)}; }
  ND_HD State combine(State a, State b) const {
    const V max = maximum(a.max, b.max);
    return {max, a.sum * shrink(a.max, max) + b.sum * shrink(b.max, max)};
  }
  ND_HD State finalize(State s, Index) const { return s; }

  /// exp(from - to), where equal infinities mean "no change"; a NaN is equal to nothing and goes through.
  ND_HD static V shrink(V from, V to) { return select(equal(from, to), splat<V>(1), exponential(from - to)); }

  ND_HD ScaledMax<V> pivot_fold() const {
    ScaledMax<V> fold;
    fold.scale = scale;
    return fold;
  }
  /// Around an infinite maximum nothing can be measured: measure around 0 instead, where exp(±inf) says what is right.
  ND_HD V pivot(V max, Index) const { return select(is_infinite(max), splat<V>(0), max); }
  ND_HD SumOfPowers<V> around(V pivot, Index) const {
    SumOfPowers<V> fold;
    fold.scale = scale;
    fold.pivot = pivot;
    return fold;
  }
  ND_HD State join(V max, V, V sum, Index) const { return {max, sum}; }
};

/// log Σ exp(x) = max + log sum; -inf for no elements or only -inf.
template <class V>
struct LogSumExp : OnlineSoftmax<V> {
  ND_HD V finalize(MaxAndSum<V> s, Index) const { return s.max + std::log(s.sum); }
};

}  // namespace ndfold::folds
