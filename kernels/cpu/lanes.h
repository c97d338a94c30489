// SIMD lanes: Eigen's packets speaking the vocabulary of kernels/folds, so that a fold's text runs on them unchanged.
#pragma once
#include <ndfold/dtype.h>

#include "kernels/folds/vocabulary.h"

#include <Eigen/Core>
#include <bit>
#include <cstdint>
#include <cstring>

namespace ndfold::cpu {

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

/// All bits of a lane, or none.
template <class T>
struct Mask {
  typename Lanes<T>::Packet value;
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

template <class T>
T lane(Lanes<T> lanes, int i) {
  T all[Lanes<T>::kCount];
  store(all, lanes);
  return all[i];
}

/// The first `count` lanes on.
template <class T>
Mask<T> first_lanes(int count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  T bits[Lanes<T>::kCount];
  for (int i = 0; i < Lanes<T>::kCount; ++i) bits[i] = std::bit_cast<T>(i < count ? ~Bits{0} : Bits{0});
  return {packet::ploadu<typename Lanes<T>::Packet>(bits)};
}

}  // namespace ndfold::cpu

namespace ndfold {

template <class T>
struct Number<cpu::Lanes<T>> {
  using Scalar = T;
  static cpu::Lanes<T> splat(T value) { return {cpu::packet::pset1<typename cpu::Lanes<T>::Packet>(value)}; }
};

namespace cpu {

template <class T>
Mask<T> either(Mask<T> a, Mask<T> b) {
  return {packet::por(a.value, b.value)};
}

template <class T>
Lanes<T> select(Mask<T> mask, Lanes<T> yes, Lanes<T> no) {
  return {packet::pselect(mask.value, yes.value, no.value)};
}

template <class T>
Mask<T> less(Lanes<T> a, Lanes<T> b) {
  return {packet::pcmp_lt(a.value, b.value)};
}

template <class T>
Mask<T> equal(Lanes<T> a, Lanes<T> b) {
  return {packet::pcmp_eq(a.value, b.value)};
}

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

}  // namespace cpu
}  // namespace ndfold

#include "kernels/cpu/exponential.h"
