// The map that ends a softmax: from {max, sum} to what each element is shifted by and multiplied with.
#pragma once
#include "kernels/cpu/leaf.h"
#include "kernels/folds/online_softmax.h"

#include <cmath>

namespace ndfold::simd {

/// softmax: out = exp(scale · x - shift) · factor, the power at most `rest`, the sum of all. log_softmax: out = (scale
/// · x - shift - rest) · factor, the distance at most 0. Around a maximum both are so by themselves; a sum around 0
/// (raised_power.h) is of other powers, and off by what these are not.
/// The maximum and the logarithm are subtracted one after the other: their sum would round away what x - max kept.
template <class A>
struct Normalizer {
  A shift, rest, factor;
};

template <class V>
[[gnu::always_inline]] inline V at_most(V x, V limit) {
  return {packet::pmin(x.value, limit.value)};  // a NaN stays one
}
template <class V>
[[gnu::always_inline]] inline V at_most_zero(V x) {
  return at_most(x, splat<V>(0));
}

/// With +inf among the elements every result is NaN, as max, exp, sum and divide one after the other give.
template <class A>
Normalizer<A> normalizer(MapKind map, MaxAndSum<A> state, double alpha) {
  const A sum = state.max == kInfinity<A> ? std::numeric_limits<A>::quiet_NaN() : state.sum;
  const A times = static_cast<A>(alpha);
  if (map == MapKind::softmax) return {state.max, sum, times / sum};
  return {state.max, std::log(sum), times};
}

template <MapKind kMap, class V>
V normalized(V x, V scale, V shift, V rest, V factor) {
  if constexpr (kMap == MapKind::softmax)
    return at_most(exponential(x * scale - shift), rest) * factor;
  else
    return at_most_zero(x * scale - shift - rest) * factor;
}

/// to[i] = map of x[i], n elements side by side; they may be the same.
template <MapKind kMap, class A>
[[gnu::flatten]] void normalize_run(const A* x, A* to, Index n, A scale, const Normalizer<A>& by) {
  using V = LanesOf<A>;
  const V vscale = splat<V>(scale), shift = splat<V>(by.shift), rest = splat<V>(by.rest), factor = splat<V>(by.factor);
  Index i = 0;
  for (; i + kLanes<V> <= n; i += kLanes<V>)
    store(to + i, normalized<kMap>(load<V>(x + i), vscale, shift, rest, factor));
  const int left = static_cast<int>(n - i);
  if (left > 0) store_first(to + i, normalized<kMap>(load_first(x + i, left), vscale, shift, rest, factor), left);
}

/// to[i] = x[i] · factor.
template <class A>
void scale_run(const A* x, A* to, Index n, A factor) {
  for (Index i = 0; i < n; ++i) to[i] = x[i] * factor;
}

}  // namespace ndfold::simd
