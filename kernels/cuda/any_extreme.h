// Extremes of packs, place by place: pairs of 16-bit numbers are compared at once.
#pragma once
#include "kernels/cuda/source.h"
#include "kernels/folds/vocabulary.h"

namespace ndfold::cuda {

/// Two numbers' larger one, or the smaller; of a number and a NaN, any.
template <bool kSmaller, class T>
__device__ T any_extreme_of(T a, T b) {
  const float x = to_float(a), y = to_float(b);
  return (kSmaller ? folds::any_maximum(-x, -y) == -x : folds::any_maximum(x, y) == x) ? a : b;
}

#ifdef __CUDACC__
template <bool kSmaller, class T>
__device__ std::uint32_t any_extreme_of_pairs(std::uint32_t a, std::uint32_t b) {
  std::uint32_t extreme;
  if constexpr (std::is_same_v<T, BFloat16>) {
    if constexpr (kSmaller)
      asm("min.bf16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
    else
      asm("max.bf16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
  } else {
    if constexpr (kSmaller)
      asm("min.f16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
    else
      asm("max.f16x2 %0, %1, %2;" : "=r"(extreme) : "r"(a), "r"(b));
  }
  return extreme;
}
#endif

/// Larger numbers of two packs, or the smaller ones.
template <bool kSmaller, class T, int kSize>
__device__ Pack<T, kSize> any_extreme(const Pack<T, kSize>& a, const Pack<T, kSize>& b) {
  Pack<T, kSize> extremes;
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      extremes.at[i] = kSmaller ? -folds::any_maximum(-a.at[i], -b.at[i]) : folds::any_maximum(a.at[i], b.at[i]);
  } else {
#ifdef __CUDACC__
    using Pairs = Pack<std::uint32_t, kSize / 2>;
    Pairs pairs;
#pragma unroll
    for (int i = 0; i < kSize / 2; ++i)
      pairs.at[i] = any_extreme_of_pairs<kSmaller, T>(std::bit_cast<Pairs>(a).at[i], std::bit_cast<Pairs>(b).at[i]);
    extremes = std::bit_cast<Pack<T, kSize>>(pairs);
#else
    for (int i = 0; i < kSize; ++i) extremes.at[i] = any_extreme_of<kSmaller>(a.at[i], b.at[i]);
#endif
  }
  return extremes;
}

/// What any number is more extreme than.
template <bool kSmallest, class A, class T, int kSize>
__device__ Pack<T, kSize> no_extremes() {
  Pack<T, kSize> extremes;
#pragma unroll
  for (int i = 0; i < kSize; ++i)
    extremes.at[i] = to_element<T>(kSmallest ? folds::kInfinity<A> : -folds::kInfinity<A>);
  return extremes;
}

/// What extremes of packs make of maxima of columns that take turns in a pack: of numbers, or of what they are turned.
template <bool kTurned, class Source, class A, int kColumns>
__device__ void raise_maxima(const Pack<typename Source::Element, Source::kSize>& extremes, A (&maxima)[kColumns]) {
#pragma unroll
  for (int i = 0; i < Source::kSize; ++i) {
    const A number = number_of<Source>(extremes, i);
    A& max = maxima[i % kColumns];
    max = folds::any_maximum(max, kTurned ? -number : number);
  }
}

}  // namespace ndfold::cuda
