// Slots: a vector shared by short runs, a power of two of lanes for each.
#pragma once
#include "kernels/cpu/states.h"

namespace ndfold::simd {

/// Calls work(integral constant) for all below kCount.
template <int kCount, class Work>
[[gnu::always_inline]] inline void unrolled(const Work& work) {
  [&work]<int... I>(std::integer_sequence<int, I...>) { (work(std::integral_constant<int, I>()), ...); }
  (std::make_integer_sequence<int, kCount>());
}

/// Calls work(integral constant) with the smallest power of two that is no less than `length`.
template <int kMost, class Work>
[[gnu::always_inline]] inline void with_slots(int length, const Work& work) {
  if constexpr (kMost > 1)
    if (length <= kMost / 2) return with_slots<kMost / 2>(length, work);
  work(std::integral_constant<int, kMost>());
}

/// Runs of up to kSlots elements share a vector, kWidth / kSlots of them: vector i has runs i · kRuns and on. What a
/// transposed vector needs to have its lanes in the order of runs, and back.
template <int kSlots, int kWidth>
struct InOrder {
  static constexpr int kRuns = kWidth / kSlots;
  constexpr int operator()(int i) const { return i % kRuns * kSlots + i / kRuns; }
};
template <int kSlots, int kWidth>
struct OutOfOrder {
  static constexpr int kRuns = kWidth / kSlots;
  constexpr int operator()(int i) const { return i % kSlots * kRuns + i / kSlots; }
};

/// Machines that spread runs of `length` elements to kSlots lanes each, and close the gaps again.
template <class A>
#if defined(__AVX512F__) && defined(__AVX512VL__)
inline constexpr bool kExpandsLanes = true;
#elif defined(__AVX2__)
inline constexpr bool kExpandsLanes = std::is_same_v<A, float>;
#else
inline constexpr bool kExpandsLanes = false;
#endif

#if defined(__AVX512F__) && defined(__AVX512VL__)

/// The first `length` of every kSlots lanes.
template <int kSlots, class A>
auto slots_of(int length) {
  constexpr unsigned kFirst = 0xffffu / ((1u << kSlots) - 1);  // of each kSlots bits
  return static_cast<decltype(Mask<A>::value)>(((1u << length) - 1) * kFirst);
}
template <int kSlots>
Lanes<float> expand(Lanes<float> x, int length) {
  return {_mm512_maskz_expand_ps(slots_of<kSlots, float>(length), x.value)};
}
template <int kSlots>
Lanes<double> expand(Lanes<double> x, int length) {
  return {_mm512_maskz_expand_pd(slots_of<kSlots, double>(length), x.value)};
}
template <int kSlots>
Lanes<float> compress(Lanes<float> x, int length) {
  return {_mm512_maskz_compress_ps(slots_of<kSlots, float>(length), x.value)};
}
template <int kSlots>
Lanes<double> compress(Lanes<double> x, int length) {
  return {_mm512_maskz_compress_pd(slots_of<kSlots, double>(length), x.value)};
}

#elif defined(__AVX2__)

/// Which lane each lane takes, for every length.
template <int kSlots, bool kExpands>
struct SlotLanes {
  alignas(32) std::int32_t from[kSlots + 1][8] = {};
  constexpr SlotLanes() {
    for (int length = 1; length <= kSlots; ++length)
      for (int l = 0; l < 8; ++l)
        from[length][l] = (kExpands ? l / kSlots * length + l % kSlots : l / length * kSlots + l % length) % 8;
  }
};
template <int kSlots, bool kExpands>
Lanes<float> moved(Lanes<float> x, int length) {
  static constexpr SlotLanes<kSlots, kExpands> kLanesOf;
  const auto* from = reinterpret_cast<const __m256i*>(kLanesOf.from[length]);
  return {_mm256_permutevar8x32_ps(x.value, _mm256_load_si256(from))};
}
template <int kSlots>
Lanes<float> expand(Lanes<float> x, int length) {
  return moved<kSlots, true>(x, length);
}
template <int kSlots>
Lanes<float> compress(Lanes<float> x, int length) {
  return moved<kSlots, false>(x, length);
}

#endif

/// The number of a lane, as wide as an element.
template <class A>
using LaneNumber = std::conditional_t<sizeof(A) == 4, std::int32_t, std::int64_t>;

/// Lane i of the result is lane from[i]; `from` is aligned.
#if defined(__AVX512F__)
inline Lanes<float> permuted(Lanes<float> x, const std::int32_t* from) {
  return {_mm512_permutexvar_ps(_mm512_load_si512(from), x.value)};
}
inline Lanes<double> permuted(Lanes<double> x, const std::int64_t* from) {
  return {_mm512_permutexvar_pd(_mm512_load_si512(from), x.value)};
}
#elif defined(__AVX2__)
inline Lanes<float> permuted(Lanes<float> x, const std::int32_t* from) {
  return {_mm256_permutevar8x32_ps(x.value, _mm256_load_si256(reinterpret_cast<const __m256i*>(from)))};
}
#endif

/// The lanes of slots that runs of `length` fill.
template <int kSlots, class A>
Mask<A> filled_slots(int length) {
  A at[kLanes<Lanes<A>>];
  for (int i = 0; i < kLanes<Lanes<A>>; ++i) at[i] = static_cast<A>(i % kSlots);
  return less(load<Lanes<A>>(at), splat<Lanes<A>>(static_cast<A>(length)));
}

}  // namespace ndfold::simd
