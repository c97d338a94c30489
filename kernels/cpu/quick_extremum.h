// max and min in three instructions a step of lanes: the machine's own maximum, and whether every element was ordered.
// It may lose a NaN or the sign of a zero; when the result might have met either, the exact fold looks again.
#pragma once
#include "kernels/cpu/lanes.h"
#include "kernels/folds/extremum.h"

namespace ndfold::simd {

template <class V>
struct BestAndOrder {
  V best;
  Mask<ScalarOf<V>> ordered;  // on in lanes that saw no NaN
};

template <class T, template <class> class Extremum>
struct Quick {
  using V = Lanes<T>;
  using Value = V;
  using State = BestAndOrder<V>;

  State identity() const {
    const V zero = splat<V>(0);
    return {Extremum<V>().identity(), equal(zero, zero)};
  }
  State map(V x, Index) const { return {Extremum<V>().map(x, 0), equal(x, x)}; }
  State combine(State a, State b) const { return {nearest(a.best, b.best), both(a.ordered, b.ordered)}; }

  /// No NaN was met and the best is not a zero, in any lane.
  static bool is_certain(State s) {
    const V zero = splat<V>(0);
    return !any(equal(select(s.ordered, s.best, zero), zero));
  }

 private:
  static V nearest(V a, V b) {
    if constexpr (std::is_same_v<Extremum<V>, Min<V>>)
      return {packet::pmin(a.value, b.value)};
    else
      return {packet::pmax(a.value, b.value)};
  }
};

/// The quick fold of an exact one, where there is one.
template <class F>
struct QuickOf {
  using type = void;
};
template <class T>
struct QuickOf<Max<Lanes<T>>> {
  using type = Quick<T, Max>;
};
template <class T>
struct QuickOf<Min<Lanes<T>>> {
  using type = Quick<T, Min>;
};
template <class T>
struct QuickOf<Linf<Lanes<T>>> {
  using type = Quick<T, Linf>;
};
template <class F>
concept HasQuick = !std::is_void_v<typename QuickOf<F>::type>;

}  // namespace ndfold::simd
