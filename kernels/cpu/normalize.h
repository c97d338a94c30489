// The map that ends a softmax: from {max, sum} to what each element is shifted by and multiplied with.
#pragma once
#include "kernels/cpu/leaf.h"
#include "kernels/folds/online_softmax.h"

#include <algorithm>
#include <cmath>

namespace ndfold::simd {

/// softmax: out = exp(scale · x - shift) · factor, at most `rest`. log_softmax: out = (scale · x - shift - rest) ·
/// factor, the distance at most 0. Around a maximum both are so by themselves; a sum around 0 (raised_power.h) is of
/// other powers, and off by what these are not.
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

/// No more than alpha; of a negative one, whose results are no probabilities, no more than 0.
template <class A>
A most_of_softmax(double alpha) {
  return static_cast<A>(std::max(alpha, 0.0));
}

/// With +inf among the elements every result is NaN, as max, exp, sum and divide one after the other give.
template <class A>
Normalizer<A> normalizer(MapKind map, MaxAndSum<A> state, double alpha) {
  const A sum = state.max == kInfinity<A> ? std::numeric_limits<A>::quiet_NaN() : state.sum;
  const A times = static_cast<A>(alpha);
  if (map == MapKind::softmax) return {state.max, most_of_softmax<A>(alpha), times / sum};
  return {state.max, std::log(sum), times};
}

template <MapKind kMap, class V>
V normalized(V x, V scale, V shift, V rest, V factor) {
  if constexpr (kMap == MapKind::softmax)
    return at_most(power_below_one(x * scale - shift) * factor, rest);
  else
    return at_most_zero(x * scale - shift - rest) * factor;
}

/// to[i] = map(x[i]), n elements side by side; they may be the same.
template <class A, class Map>
[[gnu::always_inline]] inline void map_lanes(const A* x, A* to, Index n, const Map& map) {
  using V = LanesOf<A>;
  Index i = 0;
  for (; i + kLanes<V> <= n; i += kLanes<V>) store(to + i, map(load<V>(x + i)));
  const int left = static_cast<int>(n - i);
  if (left > 0) store_first(to + i, map(load_first(x + i, left)), left);
}

template <MapKind kMap, class A>
[[gnu::flatten]] void normalize_run(const A* x, A* to, Index n, A scale, const Normalizer<A>& by) {
  using V = LanesOf<A>;
  const V vscale = splat<V>(scale), shift = splat<V>(by.shift), rest = splat<V>(by.rest), factor = splat<V>(by.factor);
  map_lanes(x, to, n, [&](V lanes) { return normalized<kMap>(lanes, vscale, shift, rest, factor); });
}

/// to[i] = x[i] · factor.
template <class A>
void scale_run(const A* x, A* to, Index n, A factor) {
  for (Index i = 0; i < n; ++i) to[i] = x[i] * factor;
}

}  // namespace ndfold::simd
