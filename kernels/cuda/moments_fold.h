// var and std on a GPU: the fold of every back end, with few instructions where it is asked often.
#pragma once
#include "kernels/folds/moments.h"

namespace ndfold::cuda {

/// Correct to a unit or two in the last place; what it is multiplied with is divided as well as that.
template <class A>
__device__ A reciprocal(A x) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<A, float>) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
#endif
  return 1 / x;
}

/// Σ ((x - mean) · rate)², a power of two: overflows no sooner than Σ (x - mean)² / n, and takes two instructions.
template <class A>
struct Spread : folds::Sum<A> {
  A rate = 1, origin = 0;
  /// rate² is 1/n at most, of up to 2^32 elements.
  __device__ static A rate_of(Index n) { return n <= 64 ? A(0x1p-3) : n <= 16384 ? A(0x1p-7) : A(0x1p-16); }
  __device__ A distance(A x) const { return std::fma(x, rate, -origin); }
  __device__ A map(A x, Index) const { return distance(x) * distance(x); }
  __device__ A absorb(A sum, A x, Index) const { return std::fma(distance(x), distance(x), sum); }
};

template <class A>
struct Variance : folds::Variance<A> {
  using State = folds::Moments<A>;
  __device__ State combine(State a, State b) const {
    const State whole = combine(a, b, Shares(a.count, b.count));
    return b.count == 0 ? a : a.count == 0 ? b : whole;
  }
  /// What states of so many elements have of the whole: the same for columns that lie side by side.
  struct Shares {
    A count, of_a, of_b;
    __device__ Shares(A a, A b) : count(a + b) {
      const A inverse = reciprocal(count);
      of_a = a * inverse;
      of_b = b * inverse;
    }
  };
  __device__ static State combine(State a, State b, Shares shares) {
    const A distance = b.mean - a.mean, between = distance * shares.of_b;
    return {shares.count, a.mean + between,
            a.variance * shares.of_a + b.variance * shares.of_b + between * (distance * shares.of_a)};
  }
  /// The quotient is corrected, so that equal elements have themselves as mean.
  __device__ A pivot(A sum, Index n) const {
    const A count = static_cast<A>(n), inverse = reciprocal(count), mean = sum * inverse;
    return std::fma(std::fma(-mean, count, sum), inverse, mean);
  }
  __device__ Spread<A> around(A mean, Index n) const {
    Spread<A> spread;
    spread.rate = Spread<A>::rate_of(n);
    spread.origin = mean * spread.rate;
    return spread;
  }
  __device__ State join(A, A mean, A spread, Index n) const {
    const A count = static_cast<A>(n), rate = Spread<A>::rate_of(n);
    return {count, mean, spread * (reciprocal(count * (rate * rate)))};
  }
};

template <class A>
struct StandardDeviation : Variance<A> {
  __device__ A finalize(folds::Moments<A> s, Index n) const { return std::sqrt(Variance<A>::finalize(s, n)); }
};

/// Folds of {count, mean, variance}: meeting one by one, states would cost a division each time.
template <class F>
concept MomentsFold = requires(typename F::State s) {
  s.count;
  s.mean;
  s.variance;
};

/// The state of all that `visit` shows to a callback: the mean of all, as a distance from `near`, then what is around
/// it.
template <class State, class Visit>
__device__ State merge_moments(decltype(State::mean) near, const Visit& visit) {
  using A = decltype(State::mean);
  A count = 0, moved = 0, variance = 0;
  visit([&](const State& s) { count += s.count; });
  const A inverse = count == 0 ? A(0) : reciprocal(count);
  visit([&](const State& s) { moved += s.count == 0 ? A(0) : (s.mean - near) * (s.count * inverse); });
  const A mean = near + moved;
  visit([&](const State& s) {
    const A distance = s.mean - mean, share = s.count * inverse;
    variance += s.count == 0 ? A(0) : s.variance * share + distance * (distance * share);
  });
  return {count, mean, variance};
}

}  // namespace ndfold::cuda
