// Short runs: one of each of as many outputs as there are lanes, folded together and then all across at once. A row of
// such states is to the outputs what a row of elements is to columns.
#pragma once
#include "kernels/cpu/leaf.h"

namespace ndfold::simd {

/// A run of n elements as lanes of states, by kCount accumulators; n has as many whole groups of lanes.
template <int kCount, class LaneFold, class T>
typename LaneFold::State fold_run(const LaneFold& fold, const T* x, Index n) {
  using V = typename LaneFold::Value;
  using State = typename LaneFold::State;
  constexpr int kWidth = kLanes<V>;
  const auto mapped_end = [&](const T* end, int rest) {
    const State mapped = fold.map(load_first(end, rest), 0);
    return select_state(first_lanes<ScalarOf<V>>(rest), mapped, fold.identity());
  };
  if constexpr (kCount == 0) {
    return mapped_end(x, static_cast<int>(n));
  } else {
    State sums[kCount];
    for (int k = 0; k < kCount; ++k)
      prefetch<kAheadOf<LaneFold>>(x + k * kWidth), sums[k] = fold.map(load<V>(x + k * kWidth), 0);
    const auto add = [&](int k, V here) { sums[k] = fold.combine(sums[k], fold.map(here, 0)); };
    Index i = kCount * kWidth;
    for (; i + kCount * kWidth <= n; i += kCount * kWidth)
      for (int k = 0; k < kCount; ++k)
        prefetch<kAheadOf<LaneFold>>(x + i + k * kWidth), add(k, load<V>(x + i + k * kWidth));
    each_group<V, kCount - 1>(x + i, n - i, add);
    if (const int rest = static_cast<int>(n % kWidth); rest > 0)
      sums[kCount - 1] = fold.combine(sums[kCount - 1], mapped_end(x + n - rest, rest));
    for (int half = kCount / 2; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) sums[k] = fold.combine(sums[k], sums[k + half]);
    return sums[0];
  }
}

/// The quick extremum of a run, as lanes; `lost` is on where a NaN was met.
template <int kCount, class LaneFold, class T>
typename LaneFold::Value run_extremum(const T* x, Index n, typename Quick<LaneFold>::Unordered& lost) {
  using Quick = Quick<LaneFold>;
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>;
  V best[kCount == 0 ? 1 : kCount];
  const auto take = [&](int k, V here) {
    best[k] = Quick::nearest(best[k], Quick::map(here));
    lost = either(lost, unordered(here, here));
  };
  const auto take_end = [&](int k, const T* end, int rest) {
    const V here = load_first(end, rest);
    lost = either(lost, unordered(here, here));
    return Quick::nearest(best[k], select(first_lanes<ScalarOf<V>>(rest), Quick::map(here), Quick::identity()));
  };
  for (auto& one : best) one = Quick::identity();
  if constexpr (kCount == 0) return take_end(0, x, static_cast<int>(n));
  Index i = 0;
  if constexpr (kCount % 2 == 0 && kCount > 0)
    for (; i + kCount * kWidth <= n; i += kCount * kWidth)
      for (int k = 0; k < kCount; k += 2) {
        prefetch(x + i + k * kWidth), prefetch(x + i + (k + 1) * kWidth);
        const V a = load<V>(x + i + k * kWidth), b = load<V>(x + i + (k + 1) * kWidth);
        best[k] = Quick::nearest(best[k], Quick::map(a));
        best[k + 1] = Quick::nearest(best[k + 1], Quick::map(b));
        lost = either(lost, unordered(a, b));
      }
  constexpr int kEnds = kCount > 1 ? kCount - 1 : 1;
  each_group<V, kEnds>(x + i, n - i, take);
  if (const int rest = static_cast<int>(n % kWidth); rest > 0)
    best[kEnds - 1] = take_end(kEnds - 1, x + n - rest, rest);
  for (int half = kCount / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) best[k] = Quick::nearest(best[k], best[k + half]);
  return best[0];
}

/// The states of kLanes runs of n elements, runs[i] + offset: lane i is run i's.
template <int kCount, class LaneFold, class T>
typename LaneFold::State fold_group(const LaneFold& fold, const T* const* runs, Index offset, Index n) {
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>;
  if constexpr (PivotFold<LaneFold>) {
    const V totals = fold_group<kCount>(fold.pivot_fold(), runs, offset, n);
    const V pivots = fold.pivot(totals, n);
    ScalarOf<V> pivot[kWidth];
    store(pivot, pivots);
    V around[kWidth];
    for (int i = 0; i < kWidth; ++i)
      around[i] = fold_run<kCount>(fold.around(splat<V>(pivot[i]), n), runs[i] + offset, n);
    const auto sum = fold.around(pivots, n);
    return fold.join(totals, pivots, fold_sections<kWidth>(sum, around), n);
  } else {
    if constexpr (HasQuick<LaneFold>) {
      V best[kWidth];
      auto lost = Quick<LaneFold>::none();
      for (int i = 0; i < kWidth; ++i) best[i] = run_extremum<kCount, LaneFold>(runs[i] + offset, n, lost);
      const V all = fold_sections<kWidth>(Nearest<LaneFold>(), best);
      if (!any(lost) && !Quick<LaneFold>::has_zero(all)) return all;
    }
    typename LaneFold::State states[kWidth];
    for (int i = 0; i < kWidth; ++i) states[i] = fold_run<kCount>(fold, runs[i] + offset, n);
    return fold_sections<kWidth>(fold, states);
  }
}

/// Lane i belongs to run kFirst + i / kLength.
template <int kLength, int kFirst>
struct RunOf {
  constexpr int operator()(int i) const { return kFirst + i / kLength; }
};

/// Runs of kLength elements, a power of two below kLanes, one behind the other from `x` on: whole vectors of them.
template <int kLength, class LaneFold, class T>
typename LaneFold::State fold_packed(const LaneFold& fold, const T* x) {
  using V = typename LaneFold::Value;
  constexpr int kWidth = kLanes<V>, kRuns = kWidth / kLength;  // runs of a vector
  // Sections come out with run k of vector j in lane j + k · kLength.
  struct InOrder {
    constexpr int operator()(int i) const { return i / kRuns + i % kRuns * kLength; }
  };
  const auto in_order = [](auto state) { return each_field([](auto v) { return shuffled(v, v, InOrder()); }, state); };
  V here[kLength];
  for (int j = 0; j < kLength; ++j) prefetch(x + j * kWidth), here[j] = load<V>(x + j * kWidth);
  if constexpr (PivotFold<LaneFold>) {
    const auto pivot_fold = fold.pivot_fold();
    V some[kLength];
    for (int j = 0; j < kLength; ++j) some[j] = pivot_fold.map(here[j], 0);
    const V totals = in_order(fold_sections<kLength>(pivot_fold, some)), pivots = fold.pivot(totals, kLength);
    [&]<int... J>(std::integer_sequence<int, J...>) {
      ((some[J] = fold.around(shuffled(pivots, pivots, RunOf<kLength, J * kRuns>()), kLength).map(here[J], 0)), ...);
    }
    (std::make_integer_sequence<int, kLength>());
    return fold.join(totals, pivots, in_order(fold_sections<kLength>(fold.around(pivots, kLength), some)), kLength);
  } else {
    if constexpr (HasQuick<LaneFold>) {
      V best[kLength];
      auto lost = Quick<LaneFold>::none();
      for (int j = 0; j < kLength; ++j) {
        best[j] = Quick<LaneFold>::map(here[j]);
        lost = either(lost, unordered(here[j], here[j]));
      }
      const V all = fold_sections<kLength>(Nearest<LaneFold>(), best);
      if (!any(lost) && !Quick<LaneFold>::has_zero(all)) return in_order(all);
    }
    typename LaneFold::State some[kLength];
    for (int j = 0; j < kLength; ++j) some[j] = fold.map(here[j], 0);
    return in_order(fold_sections<kLength>(fold, some));
  }
}

/// Runs of `length` elements: row r of them at runs[i] + offsets[r], kLanes to a group.
template <class T>
struct Bundle {
  const T* const* runs;
  Index groups, length;
  Index packed;  ///< groups, from the first on, whose runs lie one behind the other
  const Index* offsets;
  int rows;
};

/// kPacked: the length of runs that may lie packed, or 0.
template <int kCount, int kPacked, class LaneFold, class T>
[[gnu::flatten, gnu::noinline]] void fold_groups_by(const LaneFold& fold, const Bundle<T>& bundle,
                                                    typename LaneFold::State* to) {
  constexpr int kWidth = kLanes<typename LaneFold::Value>;
  for (int r = 0; r < bundle.rows; ++r) {
    const Index offset = bundle.offsets[r];
    const auto take = [&](Index g, typename LaneFold::State state) {
      to[g] = r == 0 ? state : fold.combine(to[g], state);
    };
    Index g = 0;
    if constexpr (kPacked > 0)
      for (; g < bundle.packed; ++g) take(g, fold_packed<kPacked>(fold, bundle.runs[g * kWidth] + offset));
    for (; g < bundle.groups; ++g) take(g, fold_group<kCount>(fold, bundle.runs + g * kWidth, offset, bundle.length));
  }
}

/// to[g] = the states of group g, its rows one after the other.
template <class LaneFold, class T>
void fold_groups(const LaneFold& fold, const Bundle<T>& bundle, typename LaneFold::State* to) {
  constexpr int kWidth = kLanes<typename LaneFold::Value>;
  const Index n = bundle.length, whole = n / kWidth;
  if constexpr (kWidth > 2)
    if (n == 2) return fold_groups_by<0, 2>(fold, bundle, to);
  if constexpr (kWidth > 4)
    if (n == 4) return fold_groups_by<0, 4>(fold, bundle, to);
  if constexpr (kWidth > 8)
    if (n == 8) return fold_groups_by<0, 8>(fold, bundle, to);
  if (whole >= 8) return fold_groups_by<8, 0>(fold, bundle, to);
  if (whole >= 4) return fold_groups_by<4, 0>(fold, bundle, to);
  if (whole >= 2) return fold_groups_by<2, 0>(fold, bundle, to);
  if (whole >= 1) return fold_groups_by<1, 0>(fold, bundle, to);
  return fold_groups_by<0, 0>(fold, bundle, to);
}

}  // namespace ndfold::simd
