// Reductions of several vectors at once: lane i of the result is the reduction of vector i.
#pragma once
#include "kernels/cpu/states.h"

#include <functional>

namespace ndfold::simd {

/// Some maximum, of lanes and of numbers.
struct Larger {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    if constexpr (IsLanes<V>)
      return any_maximum(a, b);
    else
      return folds::any_maximum(a, b);
  }
};

/// An operation on lanes as what combines states.
template <class V, class Op>
struct Combining {
  using Value = V;
  using State = V;
  const Op& op;
  [[gnu::always_inline]] V combine(V a, V b) const { return op(a, b); }
};

/// Reduces in place, two vectors into one in each step; the order within a vector is by halves, as everywhere.
template <class V, class Op>
[[gnu::always_inline]] inline V across(V (&v)[kLanes<V>], const Op& op) {
  return fold_sections<kLanes<V>>(Combining<V, Op>{op}, v);
}

#if defined(__AVX512F__)

template <class Op>
[[gnu::always_inline]] inline Lanes<float> across(Lanes<float> (&v)[16], const Op& op) {
  using V = Lanes<float>;
  for (int i = 0; i < 8; ++i) {
    const __m512 a = v[2 * i].value, b = v[2 * i + 1].value;
    v[i] = op(V{_mm512_unpacklo_ps(a, b)}, V{_mm512_unpackhi_ps(a, b)});
  }
  for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(v[2 * i].value), b = _mm512_castps_pd(v[2 * i + 1].value);
    v[i] = op(V{_mm512_castpd_ps(_mm512_unpacklo_pd(a, b))}, V{_mm512_castpd_ps(_mm512_unpackhi_pd(a, b))});
  }
  for (int half : {2, 1})
    for (int i = 0; i < half; ++i) {
      const __m512 a = v[2 * i].value, b = v[2 * i + 1].value;
      v[i] = op(V{_mm512_shuffle_f32x4(a, b, 0x88)}, V{_mm512_shuffle_f32x4(a, b, 0xdd)});
    }
  return v[0];
}

#endif

}  // namespace ndfold::simd
