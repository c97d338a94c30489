// Sums of squares and of absolute values, and the norms they end in.
#pragma once
#include "kernels/folds/sum.h"

namespace ndfold::folds {

template <class V>
struct SumOfSquares : Sum<V> {
  ND_HD V map(V x, Index) const { return x * x; }
};

template <class V>
struct L1 : Sum<V> {
  ND_HD V map(V x, Index) const { return absolute(x); }
};

template <class V>
struct L2 : SumOfSquares<V> {
  ND_HD V finalize(V s, Index) const { return std::sqrt(s); }
};

}  // namespace ndfold::folds
