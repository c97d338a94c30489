// max and min (NaN wins, +0 above -0), and the pivot of a softmax, which may lose a NaN.
#pragma once
#include "kernels/folds/fold.h"

namespace ndfold::folds {

template <class V>
struct Max {
  using Value = V;
  using State = V;
  ND_HD State identity() const {
    using S = ScalarOf<V>;
    return splat<V>(std::is_floating_point_v<S> ? -kInfinity<V> : std::numeric_limits<S>::lowest());
  }
  ND_HD State map(V x, Index) const { return x; }
  ND_HD State combine(State a, State b) const { return maximum(a, b); }
  ND_HD V finalize(State s, Index) const { return s; }
};

template <class V>
struct Min {
  using Value = V;
  using State = V;
  ND_HD State identity() const {
    using S = ScalarOf<V>;
    return splat<V>(std::is_floating_point_v<S> ? kInfinity<V> : std::numeric_limits<S>::max());
  }
  ND_HD State map(V x, Index) const { return x; }
  ND_HD State combine(State a, State b) const { return minimum(a, b); }
  ND_HD V finalize(State s, Index) const { return s; }
};

/// max |x|
template <class V>
struct Linf {
  using Value = V;
  using State = V;
  ND_HD State identity() const { return splat<V>(0); }
  ND_HD State map(V x, Index) const { return absolute(x); }
  ND_HD State combine(State a, State b) const { return maximum(a, b); }
  ND_HD V finalize(State s, Index) const { return s; }
};

}  // namespace ndfold::folds
