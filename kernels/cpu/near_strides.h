// Elements a few places apart, brought together by lanes.
#pragma once
#include "kernels/cpu/integers.h"

#include <cstdint>

namespace ndfold::simd {

/// Unsigned, as wide as an element.
template <std::size_t kBytes>
using WordOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

/// Elements [first, end) that lanes left.
struct NotPacked {
  Index first, end;
};

/// The lower end of each lane. Some conversions g++ 12 makes of many steps.
template <class T, class Wide>
[[gnu::always_inline]] inline auto lower_ends(Wide wide) {
  constexpr int kBytes = sizeof(wide[0]);
  using Narrow = Integers<T, kRegisterBytes / (kBytes / static_cast<int>(sizeof(T)))>;
#if defined(__AVX512BW__)
  const auto lanes = reinterpret_cast<__m512i>(wide);
  if constexpr (kBytes == 4 && sizeof(T) == 1) return reinterpret_cast<Narrow>(_mm512_cvtepi32_epi8(lanes));
  if constexpr (kBytes == 4 && sizeof(T) == 2) return reinterpret_cast<Narrow>(_mm512_cvtepi32_epi16(lanes));
  if constexpr (kBytes == 8 && sizeof(T) == 2) return reinterpret_cast<Narrow>(_mm512_cvtepi64_epi16(lanes));
#endif
  return __builtin_convertvector(wide, Narrow);
}

/// What is kStride elements apart is the lower end of a wider word each. The last has no other behind it.
template <int kStride, class T>
[[gnu::always_inline]] inline NotPacked pack_lower_ends(const std::byte* from, Index n, T* to) {
  using Wide = WordOf<kStride * sizeof(T)>;
  constexpr Index kWidth = kRegisterBytes / sizeof(Wide);
  Index i = 0;
  for (; i + kWidth < n; i += kWidth, from += kRegisterBytes) {
    prefetch(from);
    const auto narrow = lower_ends<T>(load_integers<Integers<Wide>>(from));
    std::memcpy(to + i, &narrow, sizeof narrow);
  }
  return {i, n};
}

template <class V, int... I>
[[gnu::always_inline]] inline V reversed(V lanes, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(lanes, lanes, (static_cast<int>(sizeof...(I)) - 1 - I)...);
}

/// The other way round, upwards in memory: what is gathered next mostly begins where this ends.
template <class T>
[[gnu::always_inline]] inline NotPacked pack_reversed(const std::byte* from, Index n, T* to) {
  constexpr Index kBytes = sizeof(T), kWidth = kRegisterBytes / kBytes;
  Index end = n;
  for (; end >= kWidth; end -= kWidth) {
    const std::byte* const here = from - (end - 1) * kBytes;
    prefetch(here);
    const auto lanes = load_integers<Integers<T>>(here);
    const auto turned = reversed(lanes, std::make_integer_sequence<int, static_cast<int>(kWidth)>());
    std::memcpy(to + end - kWidth, &turned, sizeof turned);
  }
  return {0, end};
}

#if defined(__AVX512F__)

/// Lanes that begin with an element, of which every `stride`-th counts: each store writes more than it has, which the
/// next overwrites.
template <class T>
[[gnu::always_inline]] inline NotPacked pack_every(const std::byte* from, Index stride, Index n, T* to) {
  constexpr Index kBytes = sizeof(T), kWidth = kRegisterBytes / kBytes;
  const Index each = (kWidth + stride - 1) / stride;
  unsigned mask = 0;
  for (Index i = 0; i < kWidth; i += stride) mask |= 1u << i;
  Index i = 0;
  for (; i + kWidth <= n; i += each, from += each * stride * kBytes) {
    prefetch(from);
    const auto lanes = load_integers<__m512i>(from);
    if constexpr (kBytes == 4)
      _mm512_storeu_si512(to + i, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), lanes));
    else
      _mm512_storeu_si512(to + i, _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), lanes));
  }
  return {i, n};
}

#endif

/// to[i] = element i · stride of T at `from`, where lanes do it: no other is read beyond the last, none written beyond
/// n.
template <class T>
NotPacked pack_near(const std::byte* from, Index stride, Index n, T* to) {
  constexpr Index kMost = 8 / sizeof(T);
  if (stride == -1) return pack_reversed(from, n, to);
  if constexpr (kMost >= 2)
    if (stride == 2) return pack_lower_ends<2>(from, n, to);
  if constexpr (kMost >= 4)
    if (stride == 4) return pack_lower_ends<4>(from, n, to);
  if constexpr (kMost >= 8)
    if (stride == 8) return pack_lower_ends<8>(from, n, to);
#if defined(__AVX512F__)
  if constexpr (sizeof(T) >= 4)
    if (2 <= stride && stride <= 8) return pack_every(from, stride, n, to);
#endif
  return {0, n};
}

/// The same of all n.
template <class T>
[[gnu::noinline]] void gather_words(const std::byte* from, Index stride, Index n, T* to) {
  const NotPacked left = pack_near(from, stride, n, to);
  for (Index i = left.first; i < left.end; ++i)
    std::memcpy(to + i, from + i * stride * static_cast<Index>(sizeof(T)), sizeof(T));
}

}  // namespace ndfold::simd
