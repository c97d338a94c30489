// argmax and argmin: (value, index); NaN beats everything, equal values (±0 among them) go to the lower index.
#pragma once
#include "kernels/folds/extremum.h"

namespace ndfold::folds {

template <class V>
struct ValueAndIndex {
  V value;
  Index index;
};

/// `Extremum` is Max or Min. The identity has the last possible index, so that any element beats it.
template <class V, template <class> class Extremum>
struct ArgExtremum {
  using Value = V;
  using State = ValueAndIndex<V>;
  using Values = Extremum<V>;
  ND_HD State identity() const { return {Values().identity(), std::numeric_limits<Index>::max()}; }
  ND_HD State map(V x, Index i) const { return {x, i}; }
  ND_HD State combine(State a, State b) const {
    if (same(a.value, b.value)) return a.index <= b.index ? a : b;
    const V best = Values().combine(a.value, b.value);
    return same(best, a.value) ? a : b;
  }
  ND_HD Index finalize(State s, Index) const { return s.index; }

  /// Whether elements whose best value is `best` can change the state; `in_order`: all come after those it has seen.
  ND_HD static bool may_change(State s, V best, bool in_order) {
    if (same(best, s.value)) return !in_order || s.index == std::numeric_limits<Index>::max();
    return !same(Values().combine(s.value, best), s.value);
  }

  /// Two values that tie.
  ND_HD static bool same(V a, V b) { return a == b || (a != a && b != b); }
};

template <class V>
using ArgMax = ArgExtremum<V, Max>;
template <class V>
using ArgMin = ArgExtremum<V, Min>;

}  // namespace ndfold::folds
