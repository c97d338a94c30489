// Lanes of f32 in and out of 16-bit floats: widened exactly as they are loaded, rounded to nearest even as they are
// stored.
#pragma once
#include "kernels/cpu/lanes.h"

namespace ndfold::simd {

using Half = Eigen::half;
using BrainHalf = Eigen::bfloat16;

template <class T>
inline constexpr bool kIs16BitFloat = std::is_same_v<T, Half> || std::is_same_v<T, BrainHalf>;

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

inline Lanes<float> widened(Half, __m256i bits) { return {_mm512_cvtph_ps(bits)}; }
inline Lanes<float> widened(BrainHalf, __m256i bits) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
inline __m256i narrowed(Half, Lanes<float> x) {
  return _mm512_cvtps_ph(x.value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// Adds just under half of the last bit that stays, or half when that bit is odd; a NaN keeps its top bits, quiet.
inline __m256i narrowed(BrainHalf, Lanes<float> x) {
  const __m512i bits = _mm512_castps_si512(x.value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(x.value, x.value, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet), 16));
}

template <class V, class T>
requires(kIs16BitFloat<T>) V load(const T* from) {
  return widened(T(), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
template <class T>
requires(kIs16BitFloat<T>) Lanes<float> load_first(const T* from, int count) {
  return widened(T(), _mm256_maskz_loadu_epi16(first_lanes<float>(count).value, from));
}
template <class T>
requires(kIs16BitFloat<T>) void store(T* to, Lanes<float> x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), narrowed(T(), x));
}

#elif defined(__AVX2__) && defined(__F16C__)

inline Lanes<float> widened(Half, __m128i bits) { return {_mm256_cvtph_ps(bits)}; }
inline Lanes<float> widened(BrainHalf, __m128i bits) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
}
inline __m128i narrowed(Half, Lanes<float> x) {
  return _mm256_cvtps_ph(x.value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline __m128i narrowed(BrainHalf, Lanes<float> x) {
  const __m256i bits = _mm256_castps_si256(x.value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x.value, x.value, _CMP_UNORD_Q));
  const __m256i words = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

template <class V, class T>
requires(kIs16BitFloat<T>) V load(const T* from) {
  return widened(T(), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
template <class T>
requires(kIs16BitFloat<T>) Lanes<float> load_first(const T* from, int count) {
  alignas(16) std::uint16_t some[Lanes<float>::kCount] = {};
  for (int i = 0; i < count; ++i) std::memcpy(some + i, from + i, sizeof(T));
  return widened(T(), _mm_load_si128(reinterpret_cast<const __m128i*>(some)));
}
template <class T>
requires(kIs16BitFloat<T>) void store(T* to, Lanes<float> x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), narrowed(T(), x));
}

#else

/// Without branches, so that the compiler makes lanes of it. A product with a power of two is exact: 2^112 is what
/// the exponents' biases differ by.
inline float widened(Half x) {
  const std::uint32_t bits = std::bit_cast<std::uint16_t>(x);
  const float size = std::bit_cast<float>((bits & 0x7FFFu) << 13) * 0x1p112f;
  const std::uint32_t special = (bits & 0x7C00u) == 0x7C00u ? 0x7F800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | special | (bits & 0x8000u) << 16);
}
inline float widened(BrainHalf x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::bit_cast<std::uint16_t>(x)) << 16);
}

template <class V, class T>
requires(kIs16BitFloat<T>) V load(const T* from) {
  alignas(64) float all[Lanes<float>::kCount];
  for (int i = 0; i < Lanes<float>::kCount; ++i) all[i] = widened(from[i]);
  return load<V>(static_cast<const float*>(all));
}
template <class T>
requires(kIs16BitFloat<T>) Lanes<float> load_first(const T* from, int count) {
  alignas(64) float some[Lanes<float>::kCount] = {};
  for (int i = 0; i < count; ++i) some[i] = widened(from[i]);
  return load<Lanes<float>>(static_cast<const float*>(some));
}
template <class T>
requires(kIs16BitFloat<T>) void store(T* to, Lanes<float> x) {
  float all[Lanes<float>::kCount];
  store(all, x);
  for (int i = 0; i < Lanes<float>::kCount; ++i) to[i] = T(all[i]);
}

#endif

}  // namespace ndfold::simd
