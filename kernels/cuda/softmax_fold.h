// What a softmax folds on a GPU, and what it makes of it: powers of 2 measured from a maximum, one rounding each.
#pragma once
#include "kernels/cuda/moments_fold.h"
#include "kernels/folds/online_softmax.h"

#include <bit>
#include <cstdint>

namespace ndfold::cuda {

/// 2^x; results below the smallest normal number may be 0.
ND_HD inline float power_of_two(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return std::exp2(x);
#endif
}

/// exp(scale · x - max) as power(x). In float that is 2^(x · rate - origin): origin = max · log2 e is rounded, but the
/// same for all who measure from this maximum; rest() says how far off. Of a huge one that would be more than a power
/// bears, but its neighbours are so far away that powers are 0 or 1. An infinite one is replaced by 0, where exp(±inf)
/// says what is right.
template <class A>
struct Exponent {
  A rate, origin;
  __device__ static Exponent of(A max, A scale) { return {scale, folds::is_infinite(max) ? A(0) : max}; }
  __device__ A power(A x) const { return folds::exponential(x * rate - origin); }
  /// What a sum measured from one maximum is multiplied with to be measured from a larger one. Equal infinities mean
  /// "no change"; a NaN is equal to nothing and goes through.
  __device__ static A shrink(A from, A to) { return from == to ? A(1) : folds::exponential(from - to); }
  __device__ static A rest(A) { return A(0); }
};

template <>
struct Exponent<float> {
  static constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147181f;

  float rate, origin;

  /// Below, products are rounded by up to 69: to more, powers would be infinite.
  __device__ static bool is_ordinary(float max) { return std::fabs(max) < 0x1p28f; }

  __device__ static Exponent of(float max, float scale) {
    const float rate = is_ordinary(max) ? kLog2E : rate_of_huge(max, scale);
    return {scale * rate, folds::is_infinite(max) ? 0.0f : max * rate};
  }
  /// The same and shrink() in few instructions, where maxima are ordinary.
  __device__ static Exponent of_ordinary(float max, float scale) { return {scale * kLog2E, max * kLog2E}; }
  __device__ float shrink_from(float lower) const { return power_of_two(lower * kLog2E - origin); }

  __device__ float power(float x) const { return power_of_two(std::fma(x, rate, -origin)); }
  /// Huge ones that differ are so far apart that it is 0.
  __device__ static float shrink(float from, float to) {
    const float apart = is_ordinary(from) && is_ordinary(to) ? from * kLog2E - to * kLog2E : 2 * (from - to);
    return from == to ? 1.0f : power_of_two(apart);
  }
  /// What is added to the logarithm of a sum.
  __device__ static float rest(float max) {
    return is_ordinary(max) ? std::fma(-max, kLog2E, max * kLog2E) * kLn2 : 0.0f;
  }

 private:
  static constexpr std::uint32_t kExponent = 0x7f800000u, kFraction = 0x007fffffu;  // of a float
  __device__ static bool is_power_of_two(float x) { return (std::bit_cast<std::uint32_t>(x) & kFraction) == 0; }
  /// A power of two that brings a maximum to 2^31: products with it are exact, and neighbours 2^8 apart. Where scale ·
  /// x is rounded, to 2^22: that leaves less than 1, and elements within 2^-15 of a maximum share with it. Of an
  /// infinite one any will do.
  __device__ static float rate_of_huge(float max, float scale) {
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(max) & kExponent, two = 127u + 127u;
    const std::uint32_t bits = ((two + (is_power_of_two(scale) ? 31u : 22u)) << 23) - exponent;
    return std::bit_cast<float>(bits);
  }
};

/// Of several maxima, in few instructions unless some is huge.
template <class A, int kCount>
__device__ void measure_from(const A (&maxima)[kCount], A scale, Exponent<A> (&exponents)[kCount]) {
  bool ordinary = true;
#pragma unroll
  for (const A max : maxima) ordinary = ordinary && Exponent<A>::is_ordinary(max);
  if (ordinary) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) exponents[c] = Exponent<A>::of_ordinary(maxima[c], scale);
  } else {
#pragma unroll
    for (int c = 0; c < kCount; ++c) exponents[c] = Exponent<A>::of(maxima[c], scale);
  }
}

/// Σ exp(scale · x - max), as a pivot leaves it.
template <class A>
struct SumOfPowers : folds::Sum<A> {
  Exponent<A> exponent;
  __device__ A map(A x, Index) const { return exponent.power(x); }
};

template <class A>
struct Softmax : folds::OnlineSoftmax<A> {
  using State = folds::MaxAndSum<A>;
  __device__ State combine(State a, State b) const {
    const A max = folds::maximum(a.max, b.max);
    return {max, a.sum * shrink(a.max, max) + b.sum * shrink(b.max, max)};
  }
  __device__ static A shrink(A from, A to) { return Exponent<A>::shrink(from, to); }
  __device__ A pivot(A max, Index) const { return max; }
  __device__ SumOfPowers<A> around(A max, Index) const { return around(Exponent<A>::of(max, this->scale)); }
  __device__ static SumOfPowers<A> around(Exponent<A> exponent) {
    SumOfPowers<A> fold;
    fold.exponent = exponent;
    return fold;
  }
  /// Measures a running state from a larger maximum, if it is one: seldom, where elements are in no order.
  __device__ void raise(State& running, A max) const {
    if (!(max > running.max)) return;
    running.sum *= shrink(running.max, max);
    running.max = max;
  }
};

/// log Σ exp(x) = max + log sum; -inf for no elements or only -inf.
template <class A>
struct LogSumExp : Softmax<A> {
  __device__ A finalize(folds::MaxAndSum<A> s, Index) const {
    return s.max + (std::log(s.sum) + Exponent<A>::rest(s.max));
  }
};

/// With +inf among the elements every result is NaN, as max, exp, sum and divide one after the other give.
template <class A>
__device__ A sum_of(const folds::MaxAndSum<A>& state) {
  return state.max == folds::kInfinity<A> ? std::numeric_limits<A>::quiet_NaN() : state.sum;
}

/// What becomes of an element x once the state of all is known.
template <class A>
struct SoftmaxMap {
  Exponent<A> exponent;
  A factor;

  SoftmaxMap() = default;
  __device__ SoftmaxMap(const folds::MaxAndSum<A>& state, A scale, A alpha)
      : exponent(Exponent<A>::of(state.max, scale)), factor(alpha * reciprocal(sum_of(state))) {}
  __device__ A operator()(A x) const { return exponent.power(x) * factor; }
};

/// What becomes of a power once the sum of all is known: as SoftmaxMap, without taking it twice.
template <class A>
struct PowerMap {
  A factor;

  PowerMap() = default;
  __device__ PowerMap(const folds::MaxAndSum<A>& state, A scale, A alpha)
      : factor(SoftmaxMap<A>(state, scale, alpha).factor) {}
  __device__ A operator()(A power) const { return power * factor; }
};

/// (y - max - log sum) · alpha, one after the other: max + log sum would round away what y - max kept.
template <class A>
struct LogSoftmaxMap {
  A scale, max, log_sum, alpha;

  LogSoftmaxMap() = default;
  __device__ LogSoftmaxMap(const folds::MaxAndSum<A>& state, A scale_, A alpha_)
      : scale(scale_), max(state.max), log_sum(std::log(sum_of(state)) + Exponent<A>::rest(state.max)), alpha(alpha_) {}
  __device__ A operator()(A x) const { return (x * scale - max - log_sum) * alpha; }
};

}  // namespace ndfold::cuda
