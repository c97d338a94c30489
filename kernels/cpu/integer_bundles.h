// Short runs of integers of many outputs, in the order in which they lie in memory. Their folds are exact: no order
// matters, and each run becomes one number at once.
#pragma once
#include "kernels/cpu/fold_bundles.h"
#include "kernels/cpu/row_walk.h"

namespace ndfold::simd {

/// max and min of integers.
template <class NumberFold>
inline constexpr bool kIsIntegerExtremum = false;
template <std::integral T>
inline constexpr bool kIsIntegerExtremum<Max<T>> = true;
template <std::integral T>
inline constexpr bool kIsIntegerExtremum<Min<T>> = true;

template <class NumberFold, class V>
[[gnu::always_inline]] inline V nearer(V a, V b) {
  using T = std::decay_t<decltype(a[0])>;
  if constexpr (std::is_same_v<NumberFold, Max<T>>)
    return a > b ? a : b;
  else
    return a < b ? a : b;
}

template <class NumberFold, class V>
[[gnu::always_inline]] inline auto extremum_of_lanes(V lanes) {
  constexpr int kCount = sizeof(V) / sizeof(lanes[0]);
  if constexpr (kCount == 1)
    return lanes[0];
  else
    return extremum_of_lanes<NumberFold>(
        nearer<NumberFold>(lanes_of<0, kCount / 2>(lanes), lanes_of<kCount / 2, kCount / 2>(lanes)));
}

/// The extremum of n > 0 elements. An end that fills no vector is taken with some that came before: none counts twice.
template <class NumberFold, int kBytes = kRegisterBytes, class T>
[[gnu::always_inline]] inline T extremum_of_run(const T* x, Index n) {
  constexpr Index kWidth = kBytes / static_cast<Index>(sizeof(T));
  if constexpr (kWidth == 1) {
    return x[0];
  } else {
    if (n < kWidth) return extremum_of_run<NumberFold, kBytes / 2>(x, n);
    using V = Integers<T, kBytes>;
    V best = load_integers<V>(x), other = best;
    prefetch(x);
    for (Index i = kWidth; i + 2 * kWidth <= n; i += 2 * kWidth) {
      prefetch(x + i), prefetch(x + i + kWidth);
      best = nearer<NumberFold>(best, load_integers<V>(x + i));
      other = nearer<NumberFold>(other, load_integers<V>(x + i + kWidth));
    }
    if (n >= 2 * kWidth) best = nearer<NumberFold>(best, load_integers<V>(x + n - 2 * kWidth));
    best = nearer<NumberFold>(best, load_integers<V>(x + n - kWidth));
    return extremum_of_lanes<NumberFold>(nearer<NumberFold>(best, other));
  }
}

/// Folds whose runs of T become exact numbers, whatever their order.
template <class NumberFold, class T>
inline constexpr bool kBundlesIntegers = kFoldsIntegers<NumberFold, T>;
template <std::integral T>
inline constexpr bool kBundlesIntegers<Max<T>, T> = true;
template <std::integral T>
inline constexpr bool kBundlesIntegers<Min<T>, T> = true;

/// Runs that are folded so: side by side where outputs are, and short.
template <Loading kLoading, class T>
bool are_short_integers(const Arguments& step) {
  const Axis run = inner(step.reduced);
  const bool where_they_lie = run.in == 1 && (kNeverStaged<T> || lies_as<T, kLoading>(step.input));
  return where_they_lie && step.parts == 1 && run.size <= 8 * kChunk;
}

/// The sums (counts, extrema) of outputs whose runs begin at `runs`.
template <class NumberFold, class Total, class T>
[[gnu::flatten, gnu::noinline]] void fold_integer_runs(const AxisList& rows, Index length, const T* const* runs,
                                                       Index outputs, Total* totals) {
  Odometer row(rows);
  const Index count = elements(rows);
  for (Index r = 0; r < count; ++r, row.next())
    for (Index i = 0; i < outputs; ++i) {
      const T* x = runs[i] + row.in();
      if constexpr (kIsIntegerExtremum<NumberFold>) {
        const Total here = extremum_of_run<NumberFold>(x, length);
        totals[i] = r == 0 ? here : NumberFold().combine(totals[i], here);
      } else {
        const auto here = static_cast<Total>(fold_run_of_integers(NumberFold(), x, length));
        totals[i] = r == 0 ? here : totals[i] + here;
      }
    }
}

/// Whether argmax and argmin of integers are found so: the first of equals is the one that counts.
template <template <class> class F, class A, Loading kLoading, class T>
bool are_short_indexed_integers(const Arguments& step) {
  if constexpr (kHasIndex<F, A> && std::is_integral_v<A> && std::is_same_v<A, T>)
    return are_short_integers<kLoading, T>(step) && index_order(step.reduced) == IndexOrder::ascending;
  else
    return false;
}

/// argmax and argmin: the extremum of each run, and its place where it is better than those of the runs before it.
template <template <class> class F, class T>
[[gnu::flatten, gnu::noinline]] void find_in_integer_runs(const AxisList& reduced, const T* const* runs, Index outputs,
                                                          typename F<T>::State* best) {
  using Values = typename F<T>::Values;
  const Axis run = inner(reduced);
  Odometer row(outer(reduced));
  const Index count = elements(outer(reduced));
  for (Index r = 0; r < count; ++r, row.next())
    for (Index i = 0; i < outputs; ++i) {
      const T* x = runs[i] + row.in();
      const T here = extremum_of_run<Values>(x, run.size);
      if (r > 0 && Values().combine(best[i].value, here) == best[i].value) continue;
      best[i] = {here, row.out() + find_same<F<T>>(x, run.size, here) * run.out};
    }
}

/// Blocks as fold_rows.
template <template <class> class F, class A, class T>
void fold_integer_bundles(const Arguments& step, const FoldParameters& parameters, Index first, Index last) {
  using State = typename F<A>::State;
  const auto fold = make_fold<F<A>>(parameters);
  const AxisList rows = outer(step.reduced);
  const Index next_run = rows.rank > 0 ? inner(rows).in : std::numeric_limits<Index>::max();
  const Index most = inner(step.kept).in > next_run ? 1 : kMostBundled;
  Stretches from(step.kept, first), to(step.kept, first);
  for (Index at = first; at < last;) {
    const T* runs[kMostBundled];
    State totals[kMostBundled];
    const auto stretch = from.next(std::min(most, last - at));
    for (Index j = 0; j < stretch.count; ++j)
      runs[j] = reinterpret_cast<const T*>(step.in) + stretch.in + j * from.run().in;
    if constexpr (kHasIndex<F, A>)
      find_in_integer_runs<F>(step.reduced, runs, stretch.count, totals);
    else
      fold_integer_runs<F<A>>(rows, inner(step.reduced).size, runs, stretch.count, totals);
    const auto place = to.next(stretch.count);
    sink_states(step, fold, totals, place.count,
                {.out = place_of(step, place.out), .out_stride = to.run().out, .block = at, .block_stride = 1});
    at += stretch.count;
  }
}

}  // namespace ndfold::simd
