// Lanes of states: how SIMD lanes of a fold's state become one state. Derived from the state's fields, once for all
// folds.
#pragma once
#include "kernels/cpu/lanes.h"
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/compensated_sum.h"
#include "kernels/folds/moments.h"
#include "kernels/folds/online_softmax.h"

#include <utility>

namespace ndfold::simd {

/// The best of some elements of a run, and its place there.
template <class V>
struct ValueAndPlace {
  V value, place;
};

/// Applies `f` to each field of states that may differ in what their fields are made of.
template <class F, class... V>
auto each_field(F&& f, V... v) {
  return f(v...);
}
template <class F, class... V>
auto each_field(F&& f, SumAndError<V>... s) {
  using R = decltype(f(s.sum...));
  return SumAndError<R>{f(s.sum...), f(s.error...)};
}
template <class F, class... V>
auto each_field(F&& f, MaxAndSum<V>... s) {
  using R = decltype(f(s.max...));
  return MaxAndSum<R>{f(s.max...), f(s.sum...)};
}
template <class F, class... V>
auto each_field(F&& f, ValueAndPlace<V>... s) {
  using R = decltype(f(s.value...));
  return ValueAndPlace<R>{f(s.value...), f(s.place...)};
}
template <class F, class... V>
auto each_field(F&& f, Moments<V>... s) {
  using R = decltype(f(s.count...));
  return Moments<R>{f(s.count...), f(s.mean...), f(s.variance...)};
}

/// State i of many.
template <class State>
auto lane_state(State states, int i) {
  return each_field([i](auto lanes) { return lane(lanes, i); }, states);
}

/// `yes` where the mask is on.
template <class M, class State>
State select_state(M mask, State yes, State no) {
  return each_field([mask](auto a, auto b) { return select(mask, a, b); }, yes, no);
}

/// Lane i of the result is lane pick(i) of `a`, or, from kLanes on, of `b`.
template <class V, class Pick>
V shuffled(V a, V b, Pick) {
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return V{__builtin_shufflevector(a.value, b.value, Pick()(I)...)};
  }
  (std::make_integer_sequence<int, kLanes<V>>());
}

/// All lanes folded into one state, pairwise: lane i with lane i + half.
template <int kHalf, class LaneFold>
typename LaneFold::State fold_halves(const LaneFold& lanes, typename LaneFold::State states) {
  if constexpr (kHalf == 0) {
    return states;
  } else {
    struct Across {
      constexpr int operator()(int i) const { return (i + kHalf) % kLanes<typename LaneFold::Value>; }
    };
    const auto others = each_field([](auto v) { return shuffled(v, v, Across()); }, states);
    return fold_halves<kHalf / 2>(lanes, lanes.combine(states, others));
  }
}

template <class LaneFold, class NumberFold>
auto fold_lanes(const NumberFold&, const LaneFold& lanes, typename LaneFold::State states) {
  if constexpr (IsLanes<typename LaneFold::Value>)
    return lane_state(fold_halves<kLanes<typename LaneFold::Value> / 2>(lanes, states), 0);
  else
    return states;
}

/// Each of kLanes states folded over its lanes, all at once and in the order of fold_lanes(): lane i of the result is
/// states[i]'s. On the way a state holds sections of kSection lanes, one for each output that has come together in it.
template <int kSection, class LaneFold>
typename LaneFold::State fold_sections(const LaneFold& lanes, typename LaneFold::State* states) {
  if constexpr (kSection == 1) {
    return states[0];
  } else {
    constexpr int kHalf = kSection / 2, kWidth = kLanes<typename LaneFold::Value>;
    struct Low {
      constexpr int operator()(int i) const {
        return i / kSection * kSection + i % kHalf + (i / kHalf % 2 == 0 ? 0 : kWidth);
      }
    };
    struct High {
      constexpr int operator()(int i) const { return Low()(i) + kHalf; }
    };
    for (int i = 0; i < kHalf; ++i) {
      const auto low = each_field([](auto a, auto b) { return shuffled(a, b, Low()); }, states[i], states[i + kHalf]);
      const auto high = each_field([](auto a, auto b) { return shuffled(a, b, High()); }, states[i], states[i + kHalf]);
      states[i] = lanes.combine(low, high);
    }
    return fold_sections<kHalf>(lanes, states);
  }
}

/// The states in lanes as numbers of type A, side by side: both hold fields of one type and nothing else.
template <class A, class LaneState, class NumberState>
void spread(const LaneState& states, NumberState* to) {
  constexpr std::size_t kWidth = sizeof(LaneState) / sizeof(NumberState), kFields = sizeof(NumberState) / sizeof(A);
  if constexpr (kFields == 1) {
    std::memcpy(to, &states, sizeof states);
  } else {
    A all[kFields][kWidth];
    std::memcpy(all, &states, sizeof states);
    for (std::size_t i = 0; i < kWidth; ++i)
      for (std::size_t f = 0; f < kFields; ++f)
        std::memcpy(reinterpret_cast<std::byte*>(to + i) + f * sizeof(A), &all[f][i], sizeof(A));
  }
}

}  // namespace ndfold::simd
