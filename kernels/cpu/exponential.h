// exp on lanes: error bounds in docs/numerics.md, measured over all floats by tests/cpu/exponential_test.cpp.
// Results below the smallest normal number become 0; exp(-inf) is 0, exp(NaN) is NaN. Made for x ≤ 0, right up to 88.
#pragma once
#include "kernels/cpu/lanes.h"

namespace ndfold::simd {

// Cody and Waite: exp(x) = 2^n · exp(r), |r| ≤ ½ log 2, with Cephes' polynomial of degree 6 for exp(r). Eigen's own, of
// the same form, clamps: its exp(-inf) is 3e-39, and a softmax over masked elements must give exact zeros.
[[gnu::always_inline]] inline Lanes<float> exponential(Lanes<float> x) {
  using V = Lanes<float>;
  constexpr float kSmallest = -87.33654f;  // log of the smallest normal number
  constexpr float kLargest = 89.f;         // from 88.4 on: inf
  const V safe = {packet::pmin(packet::pmax(x.value, splat<V>(kSmallest).value), splat<V>(kLargest).value)};
#if defined(__AVX512F__)
  const V n = {_mm512_roundscale_ps((safe * splat<V>(1.44269504f)).value, 0)};
#else
  constexpr float kRound = 12582912.f;  // 1.5 · 2^23: adding it leaves an integer in the low bits
  const V shifted = {packet::pmadd(safe.value, splat<V>(1.44269504f).value, splat<V>(kRound).value)};
  const V n = shifted - splat<V>(kRound);
#endif
  const V r = {packet::pmadd(n.value, splat<V>(2.12194440e-4f).value,
                             packet::pmadd(n.value, splat<V>(-0.693359375f).value, safe.value))};
  V p = splat<V>(1.9875691500e-4f);
  for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = {packet::pmadd(p.value, r.value, splat<V>(c).value)};
  const V power = {packet::pmadd((p * r).value, r.value, (r + splat<V>(1)).value)};
#if defined(__AVX512F__)
  const auto normal = _mm512_cmp_ps_mask(x.value, splat<V>(kSmallest).value, _CMP_NLT_UQ);
  return {_mm512_maskz_scalef_ps(normal, power.value, n.value)};
#else
  using Integers = typename packet::unpacket_traits<V::Packet>::integer_packet;
  const auto whole = packet::psub(packet::preinterpret<Integers>(shifted.value),
                                  packet::pset1<Integers>(std::bit_cast<std::int32_t>(kRound) - 127));
  const V scale = {packet::preinterpret<V::Packet>(packet::plogical_shift_left<23>(whole))};
  return select(less(x, splat<V>(kSmallest)), splat<V>(0), power * scale);
#endif
}

// Eigen's, with its clamped tail cut off.
[[gnu::always_inline]] inline Lanes<double> exponential(Lanes<double> x) {
  using V = Lanes<double>;
  constexpr double kSmallest = -708.3964185322641;  // log of the smallest normal number
  return select(less(x, splat<V>(kSmallest)), splat<V>(0), V{packet::pexp(x.value)});
}

}  // namespace ndfold::simd
