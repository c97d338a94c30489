// Sums and counts of integers, exact modulo 2^64: in lanes twice as wide as an element, widened before they are full.
#pragma once
#include "kernels/cpu/lanes.h"
#include "kernels/folds/logical.h"
#include "kernels/folds/sum.h"

#include <algorithm>

namespace ndfold::simd {

/// What an element is when all that matters is whether it is 0; a floating one is 0 whatever its sign.
template <class T, bool kFloating>
struct Word {
  static constexpr T kMatters = kFloating ? static_cast<T>(static_cast<T>(~T{0}) >> 1) : static_cast<T>(~T{0});
  T bits;
};

#if defined(__AVX512BW__)
inline constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kRegisterBytes = 32;
#else
inline constexpr int kRegisterBytes = 16;
#endif

/// As many T as fill a register, or a part of it; the compiler's own vectors know every type of integer.
template <class T, int kBytes = kRegisterBytes>
struct IntegersOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T, int kBytes = kRegisterBytes>
using Integers = typename IntegersOf<T, kBytes>::type;

template <class V>
V load_integers(const void* from) {
  V lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

/// Twice as wide as T, and as signed.
template <class T>
struct WiderOf {
  using Signed =
      std::conditional_t<sizeof(T) == 1, std::int16_t, std::conditional_t<sizeof(T) == 2, std::int32_t, std::int64_t>>;
  using type = std::conditional_t<std::is_signed_v<T>, Signed, std::make_unsigned_t<Signed>>;
};
template <class T>
using Wider = typename WiderOf<T>::type;

/// As many T as a sum in a Wider<T> takes: 256 · -128 is the lowest i16, 65536 · -32768 the lowest i32.
template <class T>
inline constexpr Index kTermsThatFit = sizeof(T) == 1   ? 256
                                       : sizeof(T) == 2 ? 65536
                                                        : std::numeric_limits<Index>::max();

template <class V>
std::uint64_t sum_of_lanes(V lanes) {
  using T = std::decay_t<decltype(lanes[0])>;
  T all[sizeof(V) / sizeof(T)];
  std::memcpy(all, &lanes, sizeof lanes);
  std::uint64_t sum = 0;
  for (const T one : all) sum += static_cast<std::uint64_t>(one);
  return sum;
}

/// Σ x modulo 2^64.
template <class T>
[[gnu::noinline]] std::uint64_t sum_of_run(const T* x, Index n) {
  constexpr int kAccumulators = 4;
  using Wide = Integers<Wider<T>>;
  using Narrow = Integers<T, kRegisterBytes * sizeof(T) / sizeof(Wider<T>)>;
  constexpr Index kWidth = sizeof(Narrow) / sizeof(T), kStep = kWidth * kAccumulators;
  std::uint64_t total = 0;
  Index i = 0;
  while (i + kStep <= n) {
    const Index steps = std::min((n - i) / kStep, kTermsThatFit<T>);
    Wide sums[kAccumulators] = {};
    for (Index s = 0; s < steps; ++s, i += kStep) {
      prefetch(x + i);
      if constexpr (sizeof(T) > 1) prefetch(x + i + kStep / 2);
      for (int k = 0; k < kAccumulators; ++k)
        sums[k] += __builtin_convertvector(load_integers<Narrow>(x + i + k * kWidth), Wide);
    }
    for (const Wide& sum : sums) total += sum_of_lanes(sum);
  }
  for (; i < n; ++i) total += static_cast<std::uint64_t>(x[i]);
  return total;
}

/// How many elements are not 0.
template <class T, bool kFloating>
[[gnu::noinline]] std::uint64_t count_of_run(const Word<T, kFloating>* x, Index n) {
  constexpr int kAccumulators = 4;
  constexpr Index kMostSteps = 255;  // what 8 bits hold
  using V = Integers<T>;
  constexpr Index kWidth = sizeof(V) / sizeof(T), kStep = kWidth * kAccumulators;
  const V matters = V{} + Word<T, kFloating>::kMatters;
  std::uint64_t zeros = 0;
  Index i = 0;
  while (i + kStep <= n) {
    const Index steps = std::min((n - i) / kStep, kMostSteps);
    V counts[kAccumulators] = {};
    for (Index s = 0; s < steps; ++s, i += kStep)
      for (int k = 0; k < kAccumulators; ++k) {
        prefetch(x + i + k * kWidth);
        counts[k] -= reinterpret_cast<V>((load_integers<V>(x + i + k * kWidth) & matters) == V{});
      }
    for (const V& count : counts) zeros += sum_of_lanes(count);
  }
  for (; i < n; ++i) zeros += (x[i].bits & Word<T, kFloating>::kMatters) == 0;
  return static_cast<std::uint64_t>(n) - zeros;
}
inline std::uint64_t count_of_run(const std::uint8_t* x, Index n) {
  return count_of_run(reinterpret_cast<const Word<std::uint8_t, false>*>(x), n);
}

template <class T>
std::uint64_t fold_run_of_integers(const Sum<std::uint64_t>&, const T* x, Index n) {
  return sum_of_run(x, n);
}
template <class T, bool kFloating>
std::uint64_t fold_run_of_integers(const Sum<std::uint64_t>&, const Word<T, kFloating>* x, Index n) {
  return count_of_run(x, n);  // of bools
}
template <class T>
std::uint64_t fold_run_of_integers(const CountNonzero<std::uint8_t>&, const T* x, Index n) {
  return count_of_run(x, n);
}

/// Exact: a leaf's sum needs fewer than 53 bits.
template <class T>
double fold_run_of_integers(const Mean<double>&, const T* x, Index n) {
  return static_cast<double>(static_cast<std::int64_t>(sum_of_run(x, n)));
}

/// Folds whose leaves of T these are.
template <class NumberFold, class T>
inline constexpr bool kFoldsIntegers =
    std::is_same_v<NumberFold, Sum<std::uint64_t>> || std::is_base_of_v<CountNonzero<std::uint8_t>, NumberFold>;
template <class T>
inline constexpr bool kFoldsIntegers<Mean<double>, T> = std::is_integral_v<T>;

}  // namespace ndfold::simd
