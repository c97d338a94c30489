// Sums and counts of integers, exact modulo 2^64: in lanes twice as wide as an element, widened before they are full.
#pragma once
#include "kernels/cpu/helped_reads.h"
#include "kernels/folds/extremum.h"
#include "kernels/folds/logical.h"
#include "kernels/folds/norms.h"

#include <algorithm>

namespace ndfold::simd {

/// What an element is when all that matters is whether it is 0; a floating one is 0 whatever its sign.
template <class T, bool kFloating>
struct Word {
  static constexpr T kMatters = kFloating ? static_cast<T>(static_cast<T>(~T{0}) >> 1) : static_cast<T>(~T{0});
  T bits;
};

/// The terms of a sum: how wide a lane they need, how many of those one takes, and how many elements a vector of lanes
/// takes at a time.
template <class T>
struct Plain {
  using Lane = Wider<T>;
  static constexpr Index kMost = kTermsThatFit<T>;
  static constexpr int kOfLane = 1;
  static Lane of(Lane x) { return x; }
  template <class Wide, class Narrow>
  [[gnu::always_inline]] static Wide sum(Narrow x) {
    return __builtin_convertvector(x, Wide);
  }
};
template <class T>
struct Square {
  using Lane = std::conditional_t<sizeof(T) == 1, std::uint32_t, std::uint64_t>;
  static constexpr Index kMost = sizeof(T) == 1 ? 65536 : std::numeric_limits<Index>::max();
  static constexpr int kOfLane = sizeof(T) == 1 ? 2 : 1;
  static Lane of(Lane x) { return x * x; }

  template <class Wide, class Narrow>
  [[gnu::always_inline]] static Wide sum(Narrow x) {
    if constexpr (sizeof(T) == 1) {
      return pairs<Wide>(__builtin_convertvector(x, Integers<std::int16_t, 2 * sizeof(Narrow)>));
    } else {
      const Wide wide = __builtin_convertvector(x, Wide);
      if constexpr (sizeof(T) == 4 && sizeof(Wide) == kRegisterBytes) return square_of_halves(wide);
      return wide * wide;
    }
  }

  /// Of lanes as wide as Lane, both of elements: bytes as pairs of 16 bits, whose squares one instruction adds.
  template <class V>
  [[gnu::always_inline]] static V sum_of_squares(V a, V b) {
#if defined(__SSE2__)
    if constexpr (sizeof(T) == 1)
      return pairs<V>(reinterpret_cast<Integers<std::int16_t, sizeof(V)>>((a & 0xffff) | (b << 16)));
#endif
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4)
      return square_of_halves(a) + square_of_halves(b);
    else
      return a * a + b * b;
  }

 private:
  // Squares of neighbours added up.
  template <class Wide, class V>
  [[gnu::always_inline]] static Wide pairs(V x) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64)
      return reinterpret_cast<Wide>(_mm512_madd_epi16(reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(x)));
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32)
      return reinterpret_cast<Wide>(_mm256_madd_epi16(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(x)));
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(V) == 16)
      return reinterpret_cast<Wide>(_mm_madd_epi16(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(x)));
#endif
    constexpr int kHalf = sizeof(V) / 4;
    const auto bits = reinterpret_cast<Integers<std::uint16_t, sizeof(V)>>(x);
    const auto squares = bits * bits;  // modulo 2^16, which holds them
    return __builtin_convertvector(lanes_of<0, kHalf>(squares), Wide) +
           __builtin_convertvector(lanes_of<kHalf, kHalf>(squares), Wide);
  }

  // What was widened from 32 bits needs no product of 64.
  template <class V>
  [[gnu::always_inline]] static V square_of_halves(V x) {
#if defined(__AVX512F__)
    const auto bits = reinterpret_cast<__m512i>(x);
    return reinterpret_cast<V>(std::is_signed_v<T> ? _mm512_mul_epi32(bits, bits) : _mm512_mul_epu32(bits, bits));
#elif defined(__AVX2__)
    const auto bits = reinterpret_cast<__m256i>(x);
    return reinterpret_cast<V>(std::is_signed_v<T> ? _mm256_mul_epi32(bits, bits) : _mm256_mul_epu32(bits, bits));
#else
    return x * x;
#endif
  }
};

#if defined(__SSE2__)

/// Bytes add up eight at a time.
template <class T>
requires(sizeof(T) == 1) struct Plain<T> {
  using Lane = Wider<T>;
  static constexpr Index kMost = 256;  // of Lane, for columns; a run's sums have 64 bits
  static Lane of(Lane x) { return x; }
};

template <class Narrow>
[[gnu::always_inline]] inline auto sums_of_eight(Narrow x) {
  using Wide = Integers<std::uint64_t, sizeof(Narrow)>;
#if defined(__AVX512BW__)
  if constexpr (sizeof(Narrow) == 64)
    return reinterpret_cast<Wide>(_mm512_sad_epu8(reinterpret_cast<__m512i>(x), _mm512_setzero_si512()));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(Narrow) == 32)
    return reinterpret_cast<Wide>(_mm256_sad_epu8(reinterpret_cast<__m256i>(x), _mm256_setzero_si256()));
#endif
  if constexpr (sizeof(Narrow) == 16)
    return reinterpret_cast<Wide>(_mm_sad_epu8(reinterpret_cast<__m128i>(x), _mm_setzero_si128()));
}

#endif

/// The lanes from `skipped` on; the others are 0.
template <class Narrow>
[[gnu::always_inline]] inline Narrow without_first(Narrow x, Index skipped) {
  using T = std::make_unsigned_t<std::decay_t<decltype(x[0])>>;
  using Numbers = Integers<T, sizeof(Narrow)>;
  static constexpr auto kNumbers = [] {
    std::array<T, sizeof(Narrow) / sizeof(T)> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<T>(i);
    return all;
  }();
  const auto kept = load_integers<Numbers>(kNumbers.data()) >= static_cast<T>(skipped);
  return x & reinterpret_cast<Narrow>(kept);
}

/// Calls add(vector) for all of a run: whole vectors of kBytes, and what is left with zeros before it. Shorter runs go
/// to `otherwise`.
template <int kBytes, class T, class Add, class Otherwise>
[[gnu::always_inline]] inline void each_vector(const T* x, Index n, bool again, const Add& add,
                                               const Otherwise& otherwise) {
  constexpr Index kWidth = kBytes / static_cast<Index>(sizeof(T));
  using Narrow = Integers<T, kBytes>;
  if (n < kWidth) return otherwise();
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    add(load_integers<Narrow>(x + i));
    help_reading<kBytes>(x + i, again);
  }
  if (i < n) add(without_first(load_integers<Narrow>(x + n - kWidth), i - (n - kWidth)));
}

/// Σ term(x) modulo 2^64 of fewer elements than overflow a lane.
template <class Term, int kBytes, class T>
[[gnu::always_inline]] inline std::uint64_t sum_of_few(const T* x, Index n, bool again) {
  using Lane = typename Term::Lane;
  constexpr int kWidth = kBytes / static_cast<int>(sizeof(Lane)) * Term::kOfLane;
  std::uint64_t total = 0;
  if constexpr (kBytes == sizeof(Lane)) {
    for (Index i = 0; i < n; ++i) total += static_cast<std::uint64_t>(Term::of(static_cast<Lane>(x[i])));
    return total;
  } else {
    using Wide = Integers<Lane, kBytes>;
    Wide sums = {};
    each_vector<kWidth* static_cast<int>(sizeof(T))>(
        x, n, again, [&](auto narrow) { sums += Term::template sum<Wide>(narrow); },
        [&] { total = sum_of_few<Term, kBytes / 2>(x, n, again); });
    return total + sum_of_lanes(sums);
  }
}

/// Σ term(x) modulo 2^64.
template <class Term, class T>
[[gnu::always_inline]] inline std::uint64_t sum_of_terms(const T* x, Index n, bool again) {
  constexpr int kAccumulators = 4;
  using Lane = typename Term::Lane;
  using Wide = Integers<Lane>;
  constexpr Index kWidth = kRegisterBytes / static_cast<Index>(sizeof(Lane)) * Term::kOfLane;
  constexpr Index kStep = kWidth * kAccumulators;
  using Narrow = Integers<T, kWidth* static_cast<int>(sizeof(T))>;
  std::uint64_t total = 0;
  Index i = 0;
  while (i + kStep <= n) {
    const Index steps = std::min((n - i) / kStep, Term::kMost / (kAccumulators * Term::kOfLane));
    Wide sums[kAccumulators] = {};
    for (Index s = 0; s < steps; ++s, i += kStep) {
      for (int k = 0; k < kAccumulators; ++k)
        sums[k] += Term::template sum<Wide>(load_integers<Narrow>(x + i + k * kWidth));
      for (Index line = 0; line < kStep * static_cast<Index>(sizeof(T)); line += 64)
        help_reading(x + i + line / static_cast<Index>(sizeof(T)), again);
    }
    total += sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
  return i < n ? total + sum_of_few<Term, kRegisterBytes>(x + i, n - i, again) : total;
}

#if defined(__SSE2__)

/// Σ x + bias · n, which is no byte's sign.
template <int kBytes, class T>
[[gnu::always_inline]] inline std::uint64_t sum_of_bytes(const T* x, Index n, bool again) {
  if constexpr (kBytes < 16) {
    std::uint64_t sum = 0;
    for (Index i = 0; i < n; ++i) sum += static_cast<std::uint64_t>(x[i]);
    return sum;
  } else {
    using Narrow = Integers<std::uint8_t, kBytes>;
    constexpr std::uint8_t kBias = std::is_signed_v<T> ? 128 : 0;
    Integers<std::uint64_t, kBytes> sums = {};
    std::uint64_t less = 0;
    bool done = true;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(x);
    each_vector<kBytes>(
        bytes, n, again,
        [&](Narrow some) {
          sums += sums_of_eight(some ^ (Narrow{} + kBias));
          less += kBias * kBytes;
        },
        [&] { done = false; });
    return done ? sum_of_lanes(sums) - less : sum_of_bytes<kBytes / 2>(x, n, again);
  }
}

#endif

/// Σ of 32-bit numbers two at a time, above 0 by a bias: a sum of pairs as they lie and one of the upper halves give
/// both, and nothing has to be widened.
template <int kBytes, class T>
[[gnu::always_inline]] inline std::uint64_t sum_of_words(const T* x, Index n, bool again) {
  if constexpr (kBytes < 16) {
    std::uint64_t sum = 0;
    for (Index i = 0; i < n; ++i) sum += static_cast<std::uint64_t>(x[i]);
    return sum;
  } else {
    using Narrow = Integers<std::uint32_t, kBytes>;
    using Pairs = Integers<std::uint64_t, kBytes>;
    constexpr std::uint32_t kBias = std::is_signed_v<T> ? 1u << 31 : 0;
    Pairs pairs = {}, upper = {};
    std::uint64_t vectors = 0;
    bool done = true;
    each_vector<kBytes>(
        reinterpret_cast<const std::uint32_t*>(x), n, again,
        [&](Narrow some) {
          const auto here = reinterpret_cast<Pairs>(some ^ (Narrow{} + kBias));
          pairs += here, upper += here >> 32;
          ++vectors;
        },
        [&] { done = false; });
    if (!done) return sum_of_words<kBytes / 2>(x, n, again);
    const std::uint64_t all = sum_of_lanes(pairs), high = sum_of_lanes(upper);
    return all - (high << 32) + high - vectors * (kBytes / 4) * kBias;
  }
}

template <class T>
[[gnu::noinline]] std::uint64_t sum_of_run(const T* x, Index n, bool again = false) {
  if constexpr (sizeof(T) == 4) return sum_of_words<kRegisterBytes>(x, n, again);
#if defined(__SSE2__)
  if constexpr (sizeof(T) == 1)
    return sum_of_bytes<kRegisterBytes>(x, n, again);
  else
#endif
    return sum_of_terms<Plain<T>>(x, n, again);
}
template <class T>
[[gnu::noinline]] std::uint64_t squares_of_run(const T* x, Index n, bool again = false) {
  return sum_of_terms<Square<T>>(x, n, again);
}

/// Σ of lanes of bytes, or of wider ones.
template <class V>
[[gnu::always_inline]] inline std::uint64_t sum_of_counts(V counts) {
#if defined(__SSE2__)
  if constexpr (sizeof(counts[0]) == 1) return sum_of_lanes(sums_of_eight(counts));
#endif
  return sum_of_lanes(counts);
}

/// How many elements are not 0.
template <class T, bool kFloating>
[[gnu::noinline]] std::uint64_t count_of_run(const Word<T, kFloating>* x, Index n, bool again = false) {
  constexpr int kAccumulators = 4;
  constexpr Index kMostSteps = 255 / kAccumulators;  // together they are no more than 8 bits hold
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
        counts[k] -= reinterpret_cast<V>((load_integers<V>(x + i + k * kWidth) & matters) == V{});
        help_reading(x + i + k * kWidth, again);
      }
    zeros += sum_of_counts((counts[0] + counts[1]) + (counts[2] + counts[3]));
  }
  for (; i + kWidth <= n; i += kWidth) {
    zeros += sum_of_counts(-reinterpret_cast<V>((load_integers<V>(x + i) & matters) == V{}));
    help_reading(x + i, again);
  }
  for (; i < n; ++i) zeros += (x[i].bits & Word<T, kFloating>::kMatters) == 0;
  return static_cast<std::uint64_t>(n) - zeros;
}
inline std::uint64_t count_of_run(const std::uint8_t* x, Index n, bool again) {
  return count_of_run(reinterpret_cast<const Word<std::uint8_t, false>*>(x), n, again);
}

template <class T>
std::uint64_t fold_run_of_integers(const Sum<std::uint64_t>&, const T* x, Index n, bool again) {
  return sum_of_run(x, n, again);
}
template <class T, bool kFloating>
std::uint64_t fold_run_of_integers(const Sum<std::uint64_t>&, const Word<T, kFloating>* x, Index n, bool again) {
  return count_of_run(x, n, again);  // of bools
}
template <class T>
std::uint64_t fold_run_of_integers(const SumOfSquares<std::uint64_t>&, const T* x, Index n, bool again) {
  return squares_of_run(x, n, again);
}
template <class T>
std::uint64_t fold_run_of_integers(const CountNonzero<std::uint8_t>&, const T* x, Index n, bool again) {
  return count_of_run(x, n, again);
}

/// Exact: a leaf's sum needs fewer than 53 bits.
template <class T>
double fold_run_of_integers(const Mean<double>&, const T* x, Index n, bool again) {
  return static_cast<double>(static_cast<std::int64_t>(sum_of_run(x, n, again)));
}

/// Folds whose leaves of T these are.
template <class NumberFold, class T>
inline constexpr bool kFoldsIntegers =
    std::is_same_v<NumberFold, Sum<std::uint64_t>> || std::is_same_v<NumberFold, SumOfSquares<std::uint64_t>> ||
    std::is_base_of_v<CountNonzero<std::uint8_t>, NumberFold>;
template <class T>
inline constexpr bool kFoldsIntegers<Mean<double>, T> = std::is_integral_v<T>;

}  // namespace ndfold::simd
