// Where an integer stands first in a run: a register is compared at once, so that where it is need not be guessed.
#pragma once
#include "kernels/cpu/integers.h"

#include <bit>

namespace ndfold::simd {

#if defined(__AVX512BW__)

/// A bit for each element of a register that is `value`, of those that `some` has a bit for.
template <class T>
[[gnu::always_inline]] inline std::uint64_t same_of_register(const T* x, std::uint64_t some, T value) {
  if constexpr (sizeof(T) == 1) {
    return _mm512_mask_cmpeq_epi8_mask(some, _mm512_maskz_loadu_epi8(some, x),
                                       _mm512_set1_epi8(static_cast<char>(value)));
  } else if constexpr (sizeof(T) == 2) {
    const auto mask = static_cast<__mmask32>(some);
    return _mm512_mask_cmpeq_epi16_mask(mask, _mm512_maskz_loadu_epi16(mask, x),
                                        _mm512_set1_epi16(static_cast<short>(value)));
  } else if constexpr (sizeof(T) == 4) {
    const auto mask = static_cast<__mmask16>(some);
    return _mm512_mask_cmpeq_epi32_mask(mask, _mm512_maskz_loadu_epi32(mask, x),
                                        _mm512_set1_epi32(static_cast<int>(value)));
  } else {
    const auto mask = static_cast<__mmask8>(some);
    return _mm512_mask_cmpeq_epi64_mask(mask, _mm512_maskz_loadu_epi64(mask, x),
                                        _mm512_set1_epi64(static_cast<long long>(value)));
  }
}

/// The same of the first `count` elements, 64 at most.
template <class T>
[[gnu::always_inline]] inline std::uint64_t same_elements(const T* x, Index count, T value) {
  constexpr int kWidth = kRegisterBytes / sizeof(T);
  const std::uint64_t some = ~std::uint64_t{0} >> (64 - count);
  std::uint64_t same = 0;
  for (int at = 0; at < 64; at += kWidth) same |= same_of_register(x + at, some >> at, value) << at;
  return same;
}

/// The first i < n with x[i] = value: it is there.
template <class T>
[[gnu::always_inline]] inline Index find_integer(const T* x, Index n, T value) {
  constexpr Index kAtOnce = 64, kWidth = kRegisterBytes / sizeof(T);
  if (n <= kWidth) return std::countr_zero(same_of_register(x, ~std::uint64_t{0} >> (64 - n), value));
  Index i = 0;
  for (; i + 2 * kAtOnce <= n; i += 2 * kAtOnce) {
    const std::uint64_t first = same_elements(x + i, kAtOnce, value);
    const std::uint64_t next = same_elements(x + i + kAtOnce, kAtOnce, value);
    if ((first | next) != 0) return i + (first != 0 ? std::countr_zero(first) : kAtOnce + std::countr_zero(next));
  }
  if (n - i <= kAtOnce) return i + std::countr_zero(same_elements(x + i, n - i, value));
  const std::uint64_t first = same_elements(x + i, kAtOnce, value);
  const std::uint64_t next = same_elements(x + i + kAtOnce, n - i - kAtOnce, value);
  return i + (first != 0 ? std::countr_zero(first) : kAtOnce + std::countr_zero(next));
}

#elif defined(__SSE2__)

/// As many bits as an element has bytes for each that is `value`, of kBytes.
template <int kBytes, class T>
[[gnu::always_inline]] inline std::uint32_t same_bytes(const T* x, T value) {
  const auto same = load_integers<Integers<T, kBytes>>(x) == value;
#if defined(__AVX2__)
  if constexpr (kBytes == 32) return static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(same)));
#endif
  if constexpr (kBytes == 16) return static_cast<std::uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(same)));
}

/// An end that fills no register is looked at with some that came before: none of those is the same.
template <int kBytes = kRegisterBytes, class T>
[[gnu::always_inline]] inline Index find_integer(const T* x, Index n, T value) {
  constexpr Index kEach = sizeof(T), kWidth = kBytes / kEach;
  Index i = 0;
  if constexpr (kBytes < 16) {
    while (x[i] != value) ++i;
    return i;
  } else {
    if (n < kWidth) return find_integer<kBytes / 2>(x, n, value);
    for (; i + kWidth < n; i += kWidth)
      if (const auto bits = same_bytes<kBytes>(x + i, value); bits != 0) return i + std::countr_zero(bits) / kEach;
    i = n - kWidth;
    return i + std::countr_zero(same_bytes<kBytes>(x + i, value)) / kEach;
  }
}

#else

template <class T>
Index find_integer(const T* x, Index n, T value) {
  Index i = 0;
  while (i < n && x[i] != value) ++i;
  return i;
}

#endif

}  // namespace ndfold::simd
