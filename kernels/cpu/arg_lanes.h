// argmax and argmin of runs in lanes: the best element so far and its place in the run, no search afterwards.
#pragma once
#include "kernels/cpu/states.h"

namespace ndfold::simd {

/// `Fold` is ArgMax or ArgMin of lanes of T; places are exact below 2^24. Without kNan, elements must not be NaN.
template <class Fold, bool kNan = false>
struct ArgLanes {
  using Value = typename Fold::Value;
  using State = ValueAndPlace<Value>;
  using T = ScalarOf<Value>;

  Value lanes = places<kLanes<Value>>();  ///< of the lanes of a vector that begins a run

  /// The same where a vector has runs in slots of kSlots lanes.
  template <int kSlots>
  ArgLanes in_slots() const {
    return {.lanes = places<kSlots>()};
  }
  ArgLanes<Fold, true> with_nan() const requires(!kNan) { return {.lanes = lanes}; }

  /// Any element has a lower place.
  State identity() const { return {typename Fold::Values().identity(), splat<Value>(kNowhere)}; }
  /// Where no element was better than the identity, the first is as good as all.
  State found(State s) const {
    return {s.value, select(less(s.place, splat<Value>(kNowhere)), s.place, splat<Value>(0))};
  }
  State map(Value x, Index) const { return {x, lanes}; }
  State map_at(Value x, Value place) const { return {x, place}; }
  /// What of `b` is equal comes later.
  State combine_in_order(State a, State b) const { return select_state(beats(b.value, a.value), b, a); }
  State combine(State a, State b) const {
    const auto others = either(beats(b.value, a.value), less(b.place, a.place));
    return select_state(beats(a.value, b.value), a, select_state(others, b, a));
  }

 private:
  static constexpr T kNowhere = 1 << 24;

  template <int kSlots>
  static Value places() {
    T all[kLanes<Value>];
    for (int i = 0; i < kLanes<Value>; ++i) all[i] = static_cast<T>(i % kSlots);
    return load<Value>(all);
  }

  /// NaN beats everything but NaN.
  static auto beats(Value a, Value b) {
    const auto nearer = std::is_same_v<typename Fold::Values, Max<Value>> ? less(b, a) : less(a, b);
    if constexpr (kNan)
      return either(nearer, both(unordered(a, a), equal(b, b)));
    else
      return nearer;
  }
};

}  // namespace ndfold::simd
