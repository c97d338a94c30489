// exp on lanes: error bounds in docs/numerics.md, measured over all floats by tests/cpu/exponential_test.cpp.
// Results below the smallest normal number become 0; exp(-inf) is 0, exp(NaN) is NaN.
#pragma once
#include "kernels/cpu/lanes.h"

namespace ndfold::simd {

inline constexpr float kLogSmallestFloat = -87.33654f;  // of the smallest normal number

template <class T>
Lanes<T> multiply_add(Lanes<T> a, Lanes<T> b, Lanes<T> c) {
  return {packet::pmadd(a.value, b.value, c.value)};
}

// Adding it leaves an integer in a float's low bits: 1.5 · 2^23.
inline constexpr float kRound = 12582912.f;

#if defined(__AVX2__) && !defined(__AVX512F__)

/// 2^(n/8 + raise) of n + kRound. Entry k is the float less k << 20, which the bits of n bring along when they are
/// shifted into the exponent.
template <int raise>
[[gnu::always_inline]] inline Lanes<float> power_of_eighths(Lanes<float> shifted) {
  alignas(32) static constexpr auto kRoots = [] {
    constexpr float kValues[8] = {0x1p0f,        0x1.172b84p0f, 0x1.306fe0p0f, 0x1.4bfdaep0f,
                                  0x1.6a09e6p0f, 0x1.8ace54p0f, 0x1.ae89fap0f, 0x1.d5818ep0f};
    std::array<std::uint32_t, 8> bits{};
    for (std::uint32_t k = 0; k < 8; ++k)
      bits[k] = std::bit_cast<std::uint32_t>(kValues[k]) + (raise << 23) - (k << 20);
    return bits;
  }();
  const __m256i bits = _mm256_castps_si256(shifted.value);
  const __m256i roots = _mm256_load_si256(reinterpret_cast<const __m256i*>(kRoots.data()));
  const __m256i root = _mm256_permutevar8x32_epi32(roots, bits);
  return {_mm256_castsi256_ps(_mm256_add_epi32(root, _mm256_slli_epi32(bits, 20)))};
}

#endif

#if defined(__AVX512F__)

/// exp(x) for x ≤ 88.3: the exponential of a softmax.
// exp(x) = 2^(n/16) · exp(r), |r| ≤ log 2 / 32: there a cubic is enough, and one permutation looks 2^(n/16) up. Entry k
// is the float less k << 19, which the bits of n bring along when they are shifted into the exponent.
[[gnu::always_inline]] inline Lanes<float> power_below_one(Lanes<float> x) {
  using V = Lanes<float>;
  alignas(64) static constexpr auto kRoots = [] {
    constexpr float kValues[16] = {0x1p0f,        0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f,
                                   0x1.306fe0p0f, 0x1.3dea64p0f, 0x1.4bfdaep0f, 0x1.5ab07ep0f,
                                   0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f,
                                   0x1.ae89fap0f, 0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};
    std::array<std::uint32_t, 16> bits{};
    for (std::uint32_t k = 0; k < 16; ++k) bits[k] = std::bit_cast<std::uint32_t>(kValues[k]) - (k << 19);
    return bits;
  }();
  const V shifted = multiply_add(x, splat<V>(16 * 1.44269504f), splat<V>(kRound));
  const V n = shifted - splat<V>(kRound);
  const V r = multiply_add(n, splat<V>(2.12194440e-4f / 16), multiply_add(n, splat<V>(-0.693359375f / 16), x));
  const __m512i bits = _mm512_castps_si512(shifted.value);
  const __m512i root = _mm512_permutexvar_epi32(bits, _mm512_load_si512(kRoots.data()));
  const V power = {_mm512_castsi512_ps(_mm512_add_epi32(root, _mm512_slli_epi32(bits, 19)))};
  const V rest = multiply_add(r * r, multiply_add(r, splat<V>(0.16666667f), splat<V>(0.50001621f)), r);
  const auto normal = _mm512_cmp_ps_mask(x.value, splat<V>(kLogSmallestFloat).value, _CMP_NLT_UQ);
  return {_mm512_maskz_fmadd_ps(normal, power.value, rest.value, power.value)};
}

#elif defined(__AVX2__)

/// exp(x) for x ≤ 88.3: the exponential of a softmax.
// As above in 8ths, all that a permutation looks up; a polynomial's degree more, and its error is below one unit.
[[gnu::always_inline]] inline Lanes<float> power_below_one(Lanes<float> x) {
  using V = Lanes<float>;
  const V shifted = multiply_add(x, splat<V>(8 * 1.44269504f), splat<V>(kRound));
  const V n = shifted - splat<V>(kRound);
  const V r = multiply_add(n, splat<V>(2.12194440e-4f / 8), multiply_add(n, splat<V>(-0.693359375f / 8), x));
  const V power = power_of_eighths<0>(shifted);
  const V more = multiply_add(r, multiply_add(r, splat<V>(0.041666668f), splat<V>(0.16667917f)), splat<V>(0.5f));
  const V rest = multiply_add(r * r, more, r);
  return without(less(x, splat<V>(kLogSmallestFloat)), multiply_add(power, rest, power));
}

#else

/// exp(x) for x ≤ 88.3: the exponential of a softmax.
// Cody and Waite: exp(x) = 2^n · exp(r), |r| ≤ ½ log 2, with Cephes' polynomial for exp(r). Eigen's own, of the same
// form, clamps: its exp(-inf) is 3e-39, and a softmax over masked elements must give exact zeros.
[[gnu::always_inline]] inline Lanes<float> power_below_one(Lanes<float> x) {
  using V = Lanes<float>;
  const V shifted = multiply_add(x, splat<V>(1.44269504f), splat<V>(kRound));
  const V n = shifted - splat<V>(kRound);
  const V r = multiply_add(n, splat<V>(2.12194440e-4f), multiply_add(n, splat<V>(-0.693359375f), x));
  V p = splat<V>(1.9875691500e-4f);
  for (const float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
    p = multiply_add(p, r, splat<V>(c));
  const V power = multiply_add(p * r, r, r + splat<V>(1));
  using Integers = typename packet::unpacket_traits<V::Packet>::integer_packet;
  const auto whole = packet::psub(packet::preinterpret<Integers>(shifted.value),
                                  packet::pset1<Integers>(std::bit_cast<std::int32_t>(kRound) - 127));
  const V scale = {packet::preinterpret<V::Packet>(packet::plogical_shift_left<23>(whole))};
  return without(less(x, splat<V>(kLogSmallestFloat)), power * scale);
}

#endif

/// exp(x), right up to 88 and inf beyond.
[[gnu::always_inline]] inline Lanes<float> exponential(Lanes<float> x) {
  using V = Lanes<float>;
  return select(less(splat<V>(88.3f), x), splat<V>(std::numeric_limits<float>::infinity()), power_below_one(x));
}

inline constexpr double kLogSmallestDouble = -708.3964185322641;  // of the smallest normal number
inline constexpr double kRoundDouble = 0x1.8p52;                  // as kRound

/// x = n · log 2 / kParts + r, |r| ≤ log 2 / (2 · kParts): n + kRoundDouble, and r. Log 2 is its upper 33 bits, whose
/// products with n are exact, and the rest.
struct ReducedDouble {
  Lanes<double> shifted, r;
};
template <int kParts>
[[gnu::always_inline]] inline ReducedDouble reduced_double(Lanes<double> x) {
  using V = Lanes<double>;
  const V shifted = multiply_add(x, splat<V>(kParts * 1.4426950408889634), splat<V>(kRoundDouble));
  const V n = shifted - splat<V>(kRoundDouble);
  const V r = multiply_add(n, splat<V>(-1.90821492927058770e-10 / kParts),
                           multiply_add(n, splat<V>(-6.93147180369123816e-01 / kParts), x));
  return {shifted, r};
}

/// exp(r) - 1 = r + r² (c[0] + c[1] r + ...), the even powers beside the odd ones: chains of half the length.
template <std::size_t kCount>
[[gnu::always_inline]] inline Lanes<double> power_less_one(Lanes<double> r, const double (&c)[kCount]) {
  using V = Lanes<double>;
  static_assert(kCount >= 4);
  const V square = r * r;
  V lower = splat<V>(c[(kCount - 1) / 2 * 2]), upper = splat<V>(c[kCount / 2 * 2 - 1]);
  for (int k = static_cast<int>((kCount - 1) / 2 * 2) - 2; k >= 0; k -= 2)
    lower = multiply_add(lower, square, splat<V>(c[k]));
  for (int k = static_cast<int>(kCount / 2 * 2) - 3; k >= 1; k -= 2)
    upper = multiply_add(upper, square, splat<V>(c[k]));
  return multiply_add(square, multiply_add(upper, r, lower), r);
}

#if defined(__AVX512F__)

/// exp(x) for x ≤ 709.4. As for floats, in 16ths; minimax, to 1.2e-17 of a power.
[[gnu::always_inline]] inline Lanes<double> power_below_one(Lanes<double> x) {
  alignas(64) static constexpr auto kRoots = [] {
    constexpr double kValues[16] = {
        0x1p0,
        0x1.0b5586cf9890fp+0,
        0x1.172b83c7d517bp+0,
        0x1.2387a6e756238p+0,
        0x1.306fe0a31b715p+0,
        0x1.3dea64c123422p+0,
        0x1.4bfdad5362a27p+0,
        0x1.5ab07dd485429p+0,
        0x1.6a09e667f3bcdp+0,
        0x1.7a11473eb0187p+0,
        0x1.8ace5422aa0dbp+0,
        0x1.9c49182a3f090p+0,
        0x1.ae89f995ad3adp+0,
        0x1.c199bdd85529cp+0,
        0x1.d5818dcfba487p+0,
        0x1.ea4afa2a490dap+0,
    };
    std::array<std::uint64_t, 16> bits{};
    for (std::uint64_t k = 0; k < 16; ++k) bits[k] = std::bit_cast<std::uint64_t>(kValues[k]) - (k << 48);
    return bits;
  }();
  static constexpr double kPolynomial[] = {0x1.fffffffffffb9p-2, 0x1.555555548f890p-3, 0x1.55555558fcac0p-5,
                                           0x1.11123aae78c66p-7, 0x1.6c14c6e5f87a2p-10};
  const auto [shifted, r] = reduced_double<16>(x);
  const __m512i bits = _mm512_castpd_si512(shifted.value);
  const __m512i root =
      _mm512_permutex2var_epi64(_mm512_load_si512(kRoots.data()), bits, _mm512_load_si512(kRoots.data() + 8));
  const __m512d power = _mm512_castsi512_pd(_mm512_add_epi64(root, _mm512_slli_epi64(bits, 48)));
  const Lanes<double> rest = power_less_one(r, kPolynomial);
  const auto normal = _mm512_cmp_pd_mask(x.value, splat<Lanes<double>>(kLogSmallestDouble).value, _CMP_NLT_UQ);
  return {_mm512_maskz_fmadd_pd(normal, power, rest.value, power)};
}

#else

/// exp(x) for x ≤ 709.4. Without a table, which takes as long to look up; minimax, to 3.6e-18 of a power.
[[gnu::always_inline]] inline Lanes<double> power_below_one(Lanes<double> x) {
  using V = Lanes<double>;
  using Bits [[gnu::vector_size(sizeof(V))]] = std::uint64_t;
  static constexpr double kPolynomial[] = {0x1.000000000000ap-1,  0x1.55555555554fap-3,  0x1.555555555088cp-5,
                                           0x1.1111111127b9ep-7,  0x1.6c16c1842676cp-10, 0x1.a01a012a68f64p-13,
                                           0x1.a0199a16c5232p-16, 0x1.71df253bd8733p-19, 0x1.28ad68bee8a2cp-22,
                                           0x1.ad7f7857a29d2p-26};
  const auto [shifted, r] = reduced_double<1>(x);
  const V power = power_less_one(r, kPolynomial) + splat<V>(1);
  const Bits scale = (std::bit_cast<Bits>(shifted.value) << 52) + (std::uint64_t{1023} << 52);
  return without(less(x, splat<V>(kLogSmallestDouble)), power * V{std::bit_cast<typename V::Packet>(scale)});
}

#endif

/// exp(x), right up to 709 and inf beyond.
[[gnu::always_inline]] inline Lanes<double> exponential(Lanes<double> x) {
  using V = Lanes<double>;
  return select(less(splat<V>(709.4), x), splat<V>(std::numeric_limits<double>::infinity()), power_below_one(x));
}

}  // namespace ndfold::simd
