// Masks of lanes: what comparisons give. AVX-512 keeps them in registers of their own, other machines in packets.
// Included by lanes.h, which makes Lanes first.
#pragma once
#include "kernels/cpu/lanes.h"

#include <array>
#include <type_traits>

namespace ndfold::simd {

#if defined(__AVX512DQ__) && defined(__AVX512VL__)

/// Lane i is bit i.
template <class T>
struct Mask {
  std::conditional_t<Lanes<T>::kCount == 16, __mmask16, __mmask8> value;
};

inline Mask<float> less(Lanes<float> a, Lanes<float> b) { return {_mm512_cmp_ps_mask(a.value, b.value, _CMP_LT_OQ)}; }
inline Mask<double> less(Lanes<double> a, Lanes<double> b) {
  return {_mm512_cmp_pd_mask(a.value, b.value, _CMP_LT_OQ)};
}
inline Mask<float> equal(Lanes<float> a, Lanes<float> b) { return {_mm512_cmp_ps_mask(a.value, b.value, _CMP_EQ_OQ)}; }
inline Mask<double> equal(Lanes<double> a, Lanes<double> b) {
  return {_mm512_cmp_pd_mask(a.value, b.value, _CMP_EQ_OQ)};
}
inline Mask<float> unordered(Lanes<float> a, Lanes<float> b) {
  return {_mm512_cmp_ps_mask(a.value, b.value, _CMP_UNORD_Q)};
}
inline Mask<double> unordered(Lanes<double> a, Lanes<double> b) {
  return {_mm512_cmp_pd_mask(a.value, b.value, _CMP_UNORD_Q)};
}
inline Lanes<float> select(Mask<float> mask, Lanes<float> yes, Lanes<float> no) {
  return {_mm512_mask_blend_ps(mask.value, no.value, yes.value)};
}
inline Lanes<double> select(Mask<double> mask, Lanes<double> yes, Lanes<double> no) {
  return {_mm512_mask_blend_pd(mask.value, no.value, yes.value)};
}

template <class T>
Mask<T> select(Mask<T> mask, Mask<T> yes, Mask<T> no) {
  return {static_cast<decltype(Mask<T>::value)>((yes.value & mask.value) | (no.value & ~mask.value))};
}

template <class T>
Mask<T> first_lanes(int count) {
  return {static_cast<decltype(Mask<T>::value)>((1u << count) - 1)};
}
template <class T>
bool any(Mask<T> mask) {
  return mask.value != 0;
}
// In the masks' own registers: as numbers they would travel there and back.
inline Mask<float> either(Mask<float> a, Mask<float> b) { return {_kor_mask16(a.value, b.value)}; }
inline Mask<double> either(Mask<double> a, Mask<double> b) { return {_kor_mask8(a.value, b.value)}; }
template <class T>
Mask<T> both(Mask<T> a, Mask<T> b) {
  return {static_cast<decltype(Mask<T>::value)>(a.value & b.value)};
}

/// Lane i is bit i.
template <class T>
std::uint32_t bits_of(Mask<T> mask) {
  return mask.value;
}

/// from[0] to from[count - 1], then zeros; nothing beyond is read.
inline Lanes<float> load_first(const float* from, int count) {
  return {_mm512_maskz_loadu_ps(first_lanes<float>(count).value, from)};
}
inline Lanes<double> load_first(const double* from, int count) {
  return {_mm512_maskz_loadu_pd(first_lanes<double>(count).value, from)};
}
/// The first `count` lanes; nothing beyond is written.
inline void store_first(float* to, Lanes<float> lanes, int count) {
  _mm512_mask_storeu_ps(to, first_lanes<float>(count).value, lanes.value);
}
inline void store_first(double* to, Lanes<double> lanes, int count) {
  _mm512_mask_storeu_pd(to, first_lanes<double>(count).value, lanes.value);
}

#else

/// All bits of a lane, or none.
template <class T>
struct Mask {
  typename Lanes<T>::Packet value;
};

template <class T>
Mask<T> less(Lanes<T> a, Lanes<T> b) {
  return {packet::pcmp_lt(a.value, b.value)};
}
template <class T>
Mask<T> equal(Lanes<T> a, Lanes<T> b) {
  return {packet::pcmp_eq(a.value, b.value)};
}
/// Either is NaN: one comparison for two packets of elements.
#if defined(__AVX2__)
inline Mask<float> unordered(Lanes<float> a, Lanes<float> b) {
  return {_mm256_cmp_ps(a.value, b.value, _CMP_UNORD_Q)};
}
inline Mask<double> unordered(Lanes<double> a, Lanes<double> b) {
  return {_mm256_cmp_pd(a.value, b.value, _CMP_UNORD_Q)};
}
#elif defined(__SSE2__)
inline Mask<float> unordered(Lanes<float> a, Lanes<float> b) { return {_mm_cmpunord_ps(a.value, b.value)}; }
inline Mask<double> unordered(Lanes<double> a, Lanes<double> b) { return {_mm_cmpunord_pd(a.value, b.value)}; }
#else
template <class T>
Mask<T> unordered(Lanes<T> a, Lanes<T> b) {
  return {packet::pand(packet::pcmp_lt_or_nan(a.value, b.value), packet::pcmp_lt_or_nan(b.value, a.value))};
}
#endif
template <class T>
Lanes<T> select(Mask<T> mask, Lanes<T> yes, Lanes<T> no) {
  return {packet::pselect(mask.value, yes.value, no.value)};
}
/// 0 where the mask is on: one instruction, where a select has three.
template <class T>
Lanes<T> without(Mask<T> mask, Lanes<T> lanes) {
  return {packet::pandnot(lanes.value, mask.value)};
}
template <class T>
Mask<T> select(Mask<T> mask, Mask<T> yes, Mask<T> no) {
  return {packet::pselect(mask.value, yes.value, no.value)};
}

template <class T>
Mask<T> first_lanes(int count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int n = Lanes<T>::kCount;
  alignas(64) static constexpr auto kOnThenOff = [] {
    std::array<Bits, 2 * n> bits{};
    for (int i = 0; i < n; ++i) bits[static_cast<std::size_t>(i)] = ~Bits{0};
    return bits;
  }();
  if (count < 0 || count > n) __builtin_unreachable();  // nobody asks: g++ 13 warns of what would be read then
  T lanes[n];
  std::memcpy(lanes, kOnThenOff.data() + (n - count), sizeof lanes);
  return {packet::ploadu<typename Lanes<T>::Packet>(lanes)};
}
template <class T>
bool any(Mask<T> mask) {
  return packet::predux_any(mask.value);
}
template <class T>
Mask<T> either(Mask<T> a, Mask<T> b) {
  return {packet::por(a.value, b.value)};
}
template <class T>
Mask<T> both(Mask<T> a, Mask<T> b) {
  return {packet::pand(a.value, b.value)};
}

/// Lane i is bit i.
#if defined(__AVX2__)
inline std::uint32_t bits_of(Mask<float> mask) { return static_cast<std::uint32_t>(_mm256_movemask_ps(mask.value)); }
inline std::uint32_t bits_of(Mask<double> mask) { return static_cast<std::uint32_t>(_mm256_movemask_pd(mask.value)); }
#elif defined(__SSE2__)
inline std::uint32_t bits_of(Mask<float> mask) { return static_cast<std::uint32_t>(_mm_movemask_ps(mask.value)); }
inline std::uint32_t bits_of(Mask<double> mask) { return static_cast<std::uint32_t>(_mm_movemask_pd(mask.value)); }
#else
template <class T>
std::uint32_t bits_of(Mask<T> mask) {
  T all[Lanes<T>::kCount];
  store(all, select(mask, splat<Lanes<T>>(T(1)), splat<Lanes<T>>(T(0))));
  std::uint32_t bits = 0;
  for (int i = 0; i < Lanes<T>::kCount; ++i) bits |= (all[i] == T(0) ? 0u : 1u) << i;
  return bits;
}
#endif

/// from[0] to from[count - 1], then zeros; nothing beyond is read.
#if defined(__AVX2__)
inline Lanes<float> load_first(const float* from, int count) {
  return {_mm256_maskload_ps(from, _mm256_castps_si256(first_lanes<float>(count).value))};
}
inline Lanes<double> load_first(const double* from, int count) {
  return {_mm256_maskload_pd(from, _mm256_castpd_si256(first_lanes<double>(count).value))};
}
#else
template <class T>
Lanes<T> load_first(const T* from, int count) {
  T some[Lanes<T>::kCount] = {};
  for (int i = 0; i < count; ++i) some[i] = from[i];
  return load<Lanes<T>>(some);
}
#endif
/// The first `count` lanes; nothing beyond is written.
template <class T>
void store_first(T* to, Lanes<T> lanes, int count) {
  T all[Lanes<T>::kCount];
  store(all, lanes);
  for (int i = 0; i < count; ++i) to[i] = all[i];
}

#endif

}  // namespace ndfold::simd
