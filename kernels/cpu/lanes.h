// SIMD lanes: Eigen's packets speaking the vocabulary of kernels/folds, so that a fold's text runs on them unchanged.
#pragma once
#include <ndfold/dtype.h>

#include "kernels/cpu/arguments.h"
#include "kernels/cpu/asking.h"
#include "kernels/folds/vocabulary.h"

#include <Eigen/Core>
#include <bit>
#include <cstdint>
#include <cstring>

namespace ndfold::simd {

namespace packet = Eigen::internal;

/// As many T as the widest packet of this build holds.
template <class T>
struct Lanes {
  using Packet = typename packet::packet_traits<T>::type;
  static constexpr int kCount = packet::unpacket_traits<Packet>::size;
  Packet value;

  friend Lanes operator+(Lanes a, Lanes b) { return {packet::padd(a.value, b.value)}; }
  friend Lanes operator-(Lanes a, Lanes b) { return {packet::psub(a.value, b.value)}; }
  friend Lanes operator*(Lanes a, Lanes b) { return {packet::pmul(a.value, b.value)}; }
  friend Lanes operator/(Lanes a, Lanes b) { return {packet::pdiv(a.value, b.value)}; }
};

template <class V>
inline constexpr int kLanes = 1;
template <class T>
inline constexpr int kLanes<Lanes<T>> = Lanes<T>::kCount;

template <class V>
concept IsLanes = kLanes<V> >
1;

template <class V>
V load(const ScalarOf<V>* from) {
  if constexpr (IsLanes<V>)
    return {packet::ploadu<typename V::Packet>(from)};
  else
    return *from;
}

template <class V>
void store(ScalarOf<V>* to, V lanes) {
  if constexpr (IsLanes<V>)
    packet::pstoreu(to, lanes.value);
  else
    *to = lanes;
}

/// How far ahead of itself a fold asks for elements: a machine's own guesses end with a page, after 4 KiB. [4096,4096]
/// on a Zen 5: 2.1 ms with 1 KiB, 1.7 with 2, 1.5 with 4 to 8. A second look is over before as much has come: 2.0 ms
/// with 8 KiB, 1.6 with 16.
inline constexpr Index kAheadBytes = 8192, kAheadOfSecondLook = 16384;

template <Index kBytes = kAheadBytes, class T>
[[gnu::always_inline]] inline void prefetch(const T* x) {  // or GCC takes it for pure, and drops it
  if (kAsksAhead) __builtin_prefetch(reinterpret_cast<const std::byte*>(x) + kBytes);
}

template <class T>
T lane(Lanes<T> lanes, int i) {
  T all[Lanes<T>::kCount];
  store(all, lanes);
  return all[i];
}

}  // namespace ndfold::simd

namespace ndfold::folds {

template <class T>
struct Number<simd::Lanes<T>> {
  using Scalar = T;
  static simd::Lanes<T> splat(T value) { return {simd::packet::pset1<typename simd::Lanes<T>::Packet>(value)}; }
};

}  // namespace ndfold::folds

#include "kernels/cpu/masks.h"

namespace ndfold::simd {

// Equal values are ±0 or the same bits: and-ing them prefers +0, or-ing them -0.
template <class T>
Lanes<T> maximum(Lanes<T> a, Lanes<T> b) {
  const Lanes<T> larger = select(less(b, a), a, b);
  const Lanes<T> ordered = select(equal(a, b), Lanes<T>{packet::pand(a.value, b.value)}, larger);
  return select(equal(a, a), ordered, a);
}

template <class T>
Lanes<T> minimum(Lanes<T> a, Lanes<T> b) {
  const Lanes<T> smaller = select(less(a, b), a, b);
  const Lanes<T> ordered = select(equal(a, b), Lanes<T>{packet::por(a.value, b.value)}, smaller);
  return select(equal(a, a), ordered, a);
}

template <class T>
Lanes<T> any_maximum(Lanes<T> a, Lanes<T> b) {
  return {packet::pmax(a.value, b.value)};
}

template <class T>
Lanes<T> absolute(Lanes<T> a) {
  return {packet::pabs(a.value)};
}

template <class T>
Mask<T> is_infinite(Lanes<T> a) {
  return equal(absolute(a), splat<Lanes<T>>(std::numeric_limits<T>::infinity()));
}

Lanes<float> exponential(Lanes<float> x);
Lanes<double> exponential(Lanes<double> x);

}  // namespace ndfold::simd

#include "kernels/cpu/exponential.h"
