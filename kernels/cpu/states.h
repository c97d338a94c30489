// Lanes of states: how SIMD lanes of a fold's state become one state. Derived from the state's fields, once for all
// folds.
#pragma once
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/quick_extremum.h"
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/compensated_sum.h"
#include "kernels/folds/moments.h"
#include "kernels/folds/online_softmax.h"

namespace ndfold::simd {

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
auto each_field(F&& f, BestAndOrder<V>... s) {
  using R = decltype(f(s.best...));
  return BestAndOrder<R>{f(s.best...), f(s.ordered...)};
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

/// All lanes folded into one state, pairwise.
template <class LaneFold, class NumberFold>
auto fold_lanes(const NumberFold& numbers, const LaneFold&, typename LaneFold::State states) {
  if constexpr (IsLanes<typename LaneFold::Value>) {
    constexpr int n = kLanes<typename LaneFold::Value>;
    typename NumberFold::State all[n];
    for (int i = 0; i < n; ++i) all[i] = lane_state(states, i);
    for (int half = n / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) all[i] = numbers.combine(all[i], all[i + half]);
    return all[0];
  } else {
    return states;
  }
}

}  // namespace ndfold::simd
