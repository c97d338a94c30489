// Elements in memory as lanes of numbers: f32 and f64 as they lie, 16-bit floats converted in registers.
#pragma once
#include "kernels/cpu/lanes.h"

#include <array>

namespace ndfold::simd {

using Half = Eigen::half;
using Bfloat16 = Eigen::bfloat16;

/// What lanes make of an element: f32 of the 16-bit floats.
template <class T>
using NumberOf = std::conditional_t<sizeof(T) == 2, float, T>;

/// Whether this machine has lanes for these elements; without, they are converted one by one (convert.h).
template <class T>
#if defined(__AVX2__) && defined(__F16C__)
inline constexpr bool kHasElementLanes = true;
#else
inline constexpr bool kHasElementLanes = sizeof(T) > 2;
#endif

inline Lanes<float> load_elements(const float* from) { return load<Lanes<float>>(from); }
inline Lanes<float> load_elements(const float* from, int count) { return load_first(from, count); }
inline void store_elements(float* to, Lanes<float> lanes) { store(to, lanes); }
inline void store_elements(float* to, Lanes<float> lanes, int count) { store_first(to, lanes, count); }

inline Lanes<double> load_elements(const double* from) { return load<Lanes<double>>(from); }
inline Lanes<double> load_elements(const double* from, int count) { return load_first(from, count); }
inline void store_elements(double* to, Lanes<double> lanes) { store(to, lanes); }
inline void store_elements(double* to, Lanes<double> lanes, int count) { store_first(to, lanes, count); }

#if defined(__AVX512F__)

namespace bits16 {

using Bits = __m256i;
inline Bits load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
inline Bits load(const void* from, int count) {
  return _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << count) - 1), from);
}
inline void store(void* to, Bits bits) { _mm256_storeu_si256(static_cast<__m256i*>(to), bits); }
inline void store(void* to, Bits bits, int count) {
  _mm256_mask_storeu_epi16(to, static_cast<__mmask16>((1u << count) - 1), bits);
}
inline void stream(void* to, Bits bits) { _mm256_stream_si256(static_cast<__m256i*>(to), bits); }

inline Lanes<float> numbers(Bits bits, Half) { return {_mm512_cvtph_ps(bits)}; }
// An element is the upper half of its number: a permutation to there is one instruction, which also takes the second
// half of what was loaded.
inline Lanes<float> spread(__m512i bits, int half) {
  alignas(64) static constexpr auto kWords = [] {
    std::array<std::uint16_t, 64> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i / 2);
    return all;
  }();
  constexpr __mmask32 kUpper = 0xAAAAAAAA;
  const __m512i words = _mm512_load_si512(kWords.data() + half * 32);
  return {_mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(kUpper, words, bits))};
}
inline Lanes<float> numbers(Bits bits, Bfloat16) { return spread(_mm512_castsi256_si512(bits), 0); }
inline Bits rounded(Lanes<float> lanes, Half) {
  return _mm512_cvtps_ph(lanes.value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// To nearest, ties to even; a NaN stays one.
inline Bits rounded(Lanes<float> lanes, Bfloat16) {
  const __m512i bits = _mm512_castps_si512(lanes.value), kept = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(kept, _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(lanes.value, lanes.value, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(_mm512_srli_epi32(up, 16), nan, kept, _mm512_set1_epi32(0x40)));
}

inline void numbers_of_two(const void* from, Half, Lanes<float>* to) {
  to[0] = numbers(load(from), Half());
  to[1] = numbers(load(static_cast<const std::byte*>(from) + sizeof(Bits)), Half());
}
inline void numbers_of_two(const void* from, Bfloat16, Lanes<float>* to) {
  const __m512i both = _mm512_loadu_si512(from);
  to[0] = spread(both, 0), to[1] = spread(both, 1);
}
/// The lower halves of the words of two vectors, then the upper ones.
alignas(64) inline constexpr auto kHalves = [] {
  std::array<std::uint16_t, 64> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(2 * i % 64 + i / 32);
  return all;
}();
// The upper halves of words, one more where the lower half is more than half of it, or half and the upper odd.
inline __m512i rounded_two(Lanes<float> first, Lanes<float> second, Bfloat16) {
  const __m512i a = _mm512_castps_si512(first.value), b = _mm512_castps_si512(second.value);
  const __m512i lower = _mm512_permutex2var_epi16(a, _mm512_load_si512(kHalves.data()), b);
  const __m512i upper = _mm512_permutex2var_epi16(a, _mm512_load_si512(kHalves.data() + 32), b);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi16(1));
  const __mmask32 up = _mm512_cmpgt_epu16_mask(_mm512_adds_epu16(lower, odd), _mm512_set1_epi16(-0x8000));
  return _mm512_mask_adds_epu16(upper, up, upper, _mm512_set1_epi16(1));
}
inline Bits rounded_result(Lanes<float> lanes, Half) { return rounded(lanes, Half()); }
inline Bits rounded_result(Lanes<float> lanes, Bfloat16) {
  const __m512i bits = _mm512_castps_si512(lanes.value);
  const auto half = [&](int which) {
    return _mm512_castsi512_si256(_mm512_permutexvar_epi16(_mm512_load_si512(kHalves.data() + which * 32), bits));
  };
  const Bits lower = half(0), upper = half(1), odd = _mm256_and_si256(upper, _mm256_set1_epi16(1));
  const __mmask16 up = _mm256_cmpgt_epu16_mask(_mm256_adds_epu16(lower, odd), _mm256_set1_epi16(-0x8000));
  return _mm256_mask_adds_epu16(upper, up, upper, _mm256_set1_epi16(1));
}

}  // namespace bits16

inline void stream_elements(float* to, Lanes<float> lanes) { _mm512_stream_ps(to, lanes.value); }
inline void stream_elements(double* to, Lanes<double> lanes) { _mm512_stream_pd(to, lanes.value); }

#elif defined(__AVX2__) && defined(__F16C__)

namespace bits16 {

using Bits = __m128i;
inline Bits load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline Bits load(const void* from, int count) {
  if (count > 8) __builtin_unreachable();  // compilers that watch arrays cannot know
  std::uint16_t some[8] = {};
  std::memcpy(some, from, static_cast<std::size_t>(count) * 2);
  return load(some);
}
inline void store(void* to, Bits bits) { _mm_storeu_si128(static_cast<__m128i*>(to), bits); }
inline void store(void* to, Bits bits, int count) {
  std::uint16_t all[8];
  store(all, bits);
  std::memcpy(to, all, static_cast<std::size_t>(count) * 2);
}
inline void stream(void* to, Bits bits) { _mm_stream_si128(static_cast<__m128i*>(to), bits); }

inline Lanes<float> numbers(Bits bits, Half) { return {_mm256_cvtph_ps(bits)}; }
inline Lanes<float> numbers(Bits bits, Bfloat16) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
}
inline Bits rounded(Lanes<float> lanes, Half) {
  return _mm256_cvtps_ph(lanes.value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// To nearest, ties to even; a NaN stays one.
inline Bits rounded(Lanes<float> lanes, Bfloat16) {
  const __m256i bits = _mm256_castps_si256(lanes.value), kept = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(kept, _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(kept, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(lanes.value, lanes.value, _CMP_UNORD_Q));
  const __m256i all = _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), quiet, nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

inline Bits rounded_result(Lanes<float> lanes, Half) { return rounded(lanes, Half()); }
inline Bits rounded_result(Lanes<float> lanes, Bfloat16) {
  const __m256i bits = _mm256_castps_si256(lanes.value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i all = _mm256_srli_epi32(up, 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

}  // namespace bits16

inline void stream_elements(float* to, Lanes<float> lanes) { _mm256_stream_ps(to, lanes.value); }
inline void stream_elements(double* to, Lanes<double> lanes) { _mm256_stream_pd(to, lanes.value); }

#elif defined(__SSE2__)

inline void stream_elements(float* to, Lanes<float> lanes) { _mm_stream_ps(to, lanes.value); }
inline void stream_elements(double* to, Lanes<double> lanes) { _mm_stream_pd(to, lanes.value); }

#else

template <class T>
void stream_elements(T* to, Lanes<T> lanes) {
  store(to, lanes);
}

#endif

#if defined(__AVX2__) && defined(__F16C__)

template <class T>
requires(sizeof(T) == 2) Lanes<float> load_elements(const T* from) { return bits16::numbers(bits16::load(from), T()); }
template <class T>
requires(sizeof(T) == 2) Lanes<float> load_elements(const T* from, int count) {
  return bits16::numbers(bits16::load(from, count), T());
}
template <class T>
requires(sizeof(T) == 2) void store_elements(T* to, Lanes<float> lanes) {
  bits16::store(to, bits16::rounded(lanes, T()));
}
template <class T>
requires(sizeof(T) == 2) void store_elements(T* to, Lanes<float> lanes, int count) {
  bits16::store(to, bits16::rounded(lanes, T()), count);
}
/// Past the caches, to an address that is a multiple of the lanes' bytes.
template <class T>
requires(sizeof(T) == 2) void stream_elements(T* to, Lanes<float> lanes) {
  bits16::stream(to, bits16::rounded(lanes, T()));
}

#endif

/// Whether numbers had better be kept than loaded anew: of f16 a core converts 16 in 1.3 cycles, of bf16 in one.
template <class T>
inline constexpr bool kCostsToLoad = std::is_same_v<T, Half>;

/// Two vectors at a time.
template <class T, class V>
[[gnu::always_inline]] inline void load_two(const T* from, V* to) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 2) return bits16::numbers_of_two(from, T(), to);
#endif
  to[0] = load_elements(from), to[1] = load_elements(from + kLanes<V>);
}

/// Results of elements of the same type. What is no number has no bits that bf16 rounds away, for it comes from such an
/// element or from an instruction, so nobody has to look for it. Streamed, `to` is a multiple of the lanes' bytes.
template <bool kStreams, class T, class V>
[[gnu::always_inline]] inline void put(T* to, V lanes) {
#if defined(__AVX2__) && defined(__F16C__)
  if constexpr (sizeof(T) == 2)
    return kStreams ? bits16::stream(to, bits16::rounded_result(lanes, T()))
                    : bits16::store(to, bits16::rounded_result(lanes, T()));
#endif
  if constexpr (kStreams && sizeof(T) > 2)
    stream_elements(to, lanes);
  else
    store_elements(to, lanes);
}

/// Two vectors of them.
template <bool kStreams, class T, class V>
[[gnu::always_inline]] inline void put_two(T* to, V first, V second) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, Bfloat16>) {
    const __m512i both = bits16::rounded_two(first, second, T());
    if constexpr (!kStreams) return _mm512_storeu_si512(to, both);
    bits16::stream(to, _mm512_castsi512_si256(both));
    return bits16::stream(to + kLanes<V>, _mm512_extracti64x4_epi64(both, 1));
  }
#endif
  put<kStreams>(to, first), put<kStreams>(to + kLanes<V>, second);
}

/// One whole line of elements as they are, past the caches.
template <class T>
void stream_line(T* to, const T* from) {
#if defined(__AVX2__) && defined(__F16C__)
  if constexpr (sizeof(T) == 2) return bits16::stream(to, bits16::load(from));
#endif
  if constexpr (sizeof(T) > 2) stream_elements(to, load_elements(from));
}

/// After streaming: what comes later is seen later by other cores.
inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace ndfold::simd
