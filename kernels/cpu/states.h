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

/// Of two vectors' sections: the lower halves of each side by side, or the higher ones.
template <int kSection, int kWidth>
struct LowHalves {
  constexpr int operator()(int i) const {
    return i / kSection * kSection + i % (kSection / 2) + (i / (kSection / 2) % 2 == 0 ? 0 : kWidth);
  }
};
template <int kSection, int kWidth>
struct HighHalves {
  constexpr int operator()(int i) const { return LowHalves<kSection, kWidth>()(i) + kSection / 2; }
};
template <int kWidth>
struct BitsReversed {
  constexpr int operator()(int i) const {
    int reversed = 0;
    for (int bit = 1; bit < kWidth; bit *= 2) reversed = 2 * reversed + ((i & bit) != 0 ? 1 : 0);
    return reversed;
  }
};

/// Each of kLanes states folded over its lanes, all at once and in the order of fold_lanes(): lane i of the result is
/// states[i]'s. On the way a state holds sections of kSection lanes, one for each output that has come together in it.
template <int kSection, class LaneFold>
typename LaneFold::State fold_sections(const LaneFold& lanes, typename LaneFold::State* states) {
  if constexpr (kSection == 1) {
    return states[0];
  } else {
    constexpr int kHalf = kSection / 2, kWidth = kLanes<typename LaneFold::Value>;
    using Low = LowHalves<kSection, kWidth>;
    using High = HighHalves<kSection, kWidth>;
    for (int i = 0; i < kHalf; ++i) {
      const auto low = each_field([](auto a, auto b) { return shuffled(a, b, Low()); }, states[i], states[i + kHalf]);
      const auto high = each_field([](auto a, auto b) { return shuffled(a, b, High()); }, states[i], states[i + kHalf]);
      states[i] = lanes.combine(low, high);
    }
    return fold_sections<kHalf>(lanes, states);
  }
}

/// The same of state_of(0), state_of(1), …, which are made in this order: few of them are kept at a time, in registers.
template <int kSection, int kFirst = 0, class LaneFold, class StateOf>
[[gnu::always_inline]] inline typename LaneFold::State fold_sections_of(const LaneFold& lanes,
                                                                        const StateOf& state_of) {
  constexpr int kWidth = kLanes<typename LaneFold::Value>, kTwice = 2 * kSection;
  if constexpr (kSection == kWidth) {
    return state_of(std::integral_constant<int, kFirst>());
  } else {
    const auto some = fold_sections_of<kTwice, kFirst>(lanes, state_of);
    const auto others = fold_sections_of<kTwice, kFirst + kWidth / kTwice>(lanes, state_of);
    const auto half_of_both = [&](auto half) {
      return each_field([](auto a, auto b) { return shuffled(a, b, decltype(half)()); }, some, others);
    };
    const auto all =
        lanes.combine(half_of_both(LowHalves<kTwice, kWidth>()), half_of_both(HighHalves<kTwice, kWidth>()));
    if constexpr (kSection > 1) return all;
    return each_field([](auto v) { return shuffled(v, v, BitsReversed<kWidth>()); }, all);
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
