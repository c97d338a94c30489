// max and min by the machine's own instruction, which may lose a NaN or the sign of a zero: it tells whether it might
// have, and then the exact fold looks again.
#pragma once
#include "kernels/cpu/half_lanes.h"
#include "kernels/folds/extremum.h"

namespace ndfold::simd {

/// For an exact fold of lanes: Max, Min or Linf.
template <class LaneFold>
struct Quick {
  using V = typename LaneFold::Value;

  static V identity() { return LaneFold().identity(); }
  static V map(V x) { return LaneFold().map(x, 0); }
  /// Of what is known and what comes: Eigen's packets let a machine load the first where it is used.
  static V nearest(V a, V b) {
    if constexpr (std::is_same_v<LaneFold, Min<V>>)
      return {packet::pmin(b.value, a.value)};
    else
      return {packet::pmax(b.value, a.value)};
  }
  static bool has_zero(V best) { return any(equal(best, splat<V>(0))); }
};

/// The same, to fold lanes with.
template <class LaneFold>
struct Nearest {
  using Value = typename LaneFold::Value;
  using State = Value;
  State identity() const { return Quick<LaneFold>::identity(); }
  State map(Value x, Index) const { return Quick<LaneFold>::map(x); }
  State combine(State a, State b) const { return Quick<LaneFold>::nearest(a, b); }
};

template <class F>
inline constexpr bool kHasQuick = false;
template <class T>
inline constexpr bool kHasQuick<Max<Lanes<T>>> = true;
template <class T>
inline constexpr bool kHasQuick<Min<Lanes<T>>> = true;
template <class T>
inline constexpr bool kHasQuick<Linf<Lanes<T>>> = true;
template <class F>
concept HasQuick = kHasQuick<F>;

}  // namespace ndfold::simd
