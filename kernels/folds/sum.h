// sum, mean and prod.
#pragma once
#include "kernels/folds/fold.h"

namespace ndfold::folds {

template <class V>
struct Sum {
  using Value = V;
  using State = V;
  ND_HD State identity() const { return splat<V>(0); }
  ND_HD State map(V x, Index) const { return x; }
  ND_HD State combine(State a, State b) const { return a + b; }
  ND_HD V finalize(State s, Index) const { return s; }
};

/// Divides once: a product with 1/n would round twice.
template <class V>
struct Mean : Sum<V> {
  ND_HD V finalize(V s, Index n) const { return s / static_cast<V>(n); }
};

template <class V>
struct Prod {
  using Value = V;
  using State = V;
  ND_HD State identity() const { return splat<V>(1); }
  ND_HD State map(V x, Index) const { return x; }
  ND_HD State combine(State a, State b) const { return a * b; }
  ND_HD V finalize(State s, Index) const { return s; }
};

}  // namespace ndfold::folds
