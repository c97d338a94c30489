// Pairs of 16-bit numbers as they lie in memory, a word each: a comparison or a selection looks at two.
#pragma once
#include "kernels/cuda/source.h"
#include "kernels/folds/extremum.h"

namespace ndfold::cuda {

template <class F>
inline constexpr bool kIsMinimum = std::is_same_v<F, folds::Min<typename F::Value>>;

/// Folds of which an element is one of those it folds.
template <class F>
concept ExtremumFold = kIsMinimum<F> || std::is_same_v<F, folds::Max<typename F::Value>>;

/// The number in the lower half of a word, or in the upper one.
template <class T>
__device__ float number_of_pair(std::uint32_t pair, int half) {
  return to_float(T{static_cast<std::uint16_t>(half == 0 ? pair : pair >> 16)});
}

/// All bits of a half where numbers are equal; a NaN equals nothing.
template <class T>
__device__ std::uint32_t equal_pairs(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  std::uint32_t mask;
  if constexpr (std::is_same_v<T, BFloat16>)
    asm("set.eq.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  else
    asm("set.eq.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
#else
  const auto mask = [&](int half) { return number_of_pair<T>(a, half) == number_of_pair<T>(b, half) ? 0xffffu : 0u; };
  return mask(0) | mask(1) << 16;
#endif
}

/// The larger of two pairs' numbers, or the smaller; a NaN stays one.
template <bool kSmaller, class T>
__device__ std::uint32_t extreme_of_pairs(std::uint32_t a, std::uint32_t b) {
#ifdef __CUDA_ARCH__
  std::uint32_t extreme;
  if constexpr (std::is_same_v<T, BFloat16>) {
    if constexpr (kSmaller)
      asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
    else
      asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
  } else {
    if constexpr (kSmaller)
      asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
    else
      asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
  }
  return extreme;
#else
  const auto extreme = [&](int half) {
    const float x = number_of_pair<T>(a, half), y = number_of_pair<T>(b, half);
    const bool first = x != x || (kSmaller ? x < y : x > y) || (x == y && std::signbit(x) == kSmaller);
    return (first ? a : b) & (half == 0 ? 0xffffu : 0xffff0000u);
  };
  return extreme(0) | extreme(1);
#endif
}

/// Views of packs that lie in pairs: pairs(i) are those of the group that begins with number i.
template <class View>
concept PairedView = requires(const View view) {
  view.pairs(0);
};

/// The largest of a group's numbers, or the smallest.
template <class F, PairedView View>
__device__ float extreme_of_group(const View& view, int group) {
  using Element = typename View::Element;
  const auto pairs = view.pairs(group);
  std::uint32_t best = pairs.at[0];
#pragma unroll
  for (int p = 1; p < View::kGroup / 2; ++p) best = extreme_of_pairs<kIsMinimum<F>, Element>(best, pairs.at[p]);
  return F().combine(number_of_pair<Element>(best, 0), number_of_pair<Element>(best, 1));
}

/// The first place of a number that is no NaN among those of a view that are there; if it is nowhere, a large one.
template <bool kAll, PairedView View>
__device__ int first_place(const View& view, float wanted) {
  using Element = typename View::Element;
  static_assert(View::kCount < 0x7fff);
  const std::uint32_t both = to_element<Element>(wanted).bits * 0x10001u;
  std::uint32_t pairs = 0x7fff7fffu;  // number of the first pair that has it, in its lower half and in its upper one
#pragma unroll
  for (int group = View::kCount - View::kGroup; group >= 0; group -= View::kGroup) {
    const auto words = view.pairs(group);
#pragma unroll
    for (int p = View::kGroup / 2 - 1; p >= 0; --p) {
      const std::uint32_t same = equal_pairs<Element>(words.at[p], both), here = kAll || view.has(group) ? same : 0;
      pairs = (pairs & ~here) | (here & (static_cast<std::uint32_t>(group / 2 + p) * 0x10001u));
    }
  }
  const int low = static_cast<int>(pairs & 0xffffu), high = static_cast<int>(pairs >> 16);
  return low <= high ? 2 * low : 2 * high + 1;
}

}  // namespace ndfold::cuda
