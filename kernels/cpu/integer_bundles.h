// Short runs of integers of many outputs, in the order in which they lie in memory. Their folds are exact: no order
// matters, and each run becomes one number at once.
#pragma once
#include "kernels/cpu/find_integer.h"
#include "kernels/cpu/fold_bundles.h"
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/turns.h"

#include <cstdlib>

namespace ndfold::simd {

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

/// The sum (count, extremum) of a run; what two of them are together.
template <class NumberFold, class Total, class T>
[[gnu::always_inline]] inline Total number_of_run(const T* x, Index n, bool again = false) {
  if constexpr (kIsIntegerExtremum<NumberFold>)
    return extremum_of_run<NumberFold>(x, n, again);
  else
    return static_cast<Total>(fold_run_of_integers(NumberFold(), x, n, again));
}
template <class NumberFold, class Total>
[[gnu::always_inline]] inline Total number_of_both(Total a, Total b) {
  if constexpr (kIsIntegerExtremum<NumberFold>)
    return NumberFold().combine(a, b);
  else
    return a + b;
}

/// The same of a few runs at once: no more than a leaf, whose sums are exact in any order.
template <class NumberFold, class Total, class T>
[[gnu::flatten, gnu::noinline]] std::array<Total, kInTurns> numbers_in_turns(const Starts<T>& x, Index n) {
  constexpr Index kTurn = 1024 / static_cast<Index>(sizeof(T));
  std::array<Total, kInTurns> totals;
  for (std::size_t s = 0; s < kInTurns; ++s) totals[s] = number_of_run<NumberFold, Total>(x[s], std::min(kTurn, n));
  for (Index at = kTurn; at < n; at += kTurn)
    for (std::size_t s = 0; s < kInTurns; ++s) {
      const auto here = number_of_run<NumberFold, Total>(x[s] + at, std::min(kTurn, n - at));
      totals[s] = number_of_both<NumberFold>(totals[s], here);
    }
  return totals;
}

/// Whether the runs of a fourth of the outputs are far from those of the next fourth.
template <class T>
bool lie_apart(const T* const* runs, Index outputs) {
  return std::abs(runs[outputs / kInTurns] - runs[0]) * Index{sizeof(T)} >= kLeastBytesApart;
}

/// How runs are read: from a few places in turns, or each line twice.
struct IntegerReads {
  bool in_turns, again;
};

/// The sums (counts, extrema) of outputs whose runs begin at `runs`.
template <class NumberFold, class Total, class T>
[[gnu::flatten, gnu::noinline]] void fold_integer_runs(const AxisList& rows, Index length, const T* const* runs,
                                                       Index outputs, Total* totals, IntegerReads reads) {
  Odometer row(rows);
  const Index count = elements(rows), each = kHasTurns && reads.in_turns ? outputs / kInTurns : 0;
  for (Index r = 0; r < count; ++r, row.next()) {
    const auto take = [&](Index i, Total here) {
      totals[i] = r == 0 ? here : number_of_both<NumberFold>(totals[i], here);
    };
    if constexpr (kHasTurns)
      for (Index i = 0; i < each; ++i) {
        Starts<T> starts;
        for (Index s = 0; s < kInTurns; ++s) starts[static_cast<std::size_t>(s)] = runs[i + s * each] + row.in();
        const auto numbers = numbers_in_turns<NumberFold, Total>(starts, length);
        for (Index s = 0; s < kInTurns; ++s) take(i + s * each, numbers[static_cast<std::size_t>(s)]);
      }
    for (Index i = kInTurns * each; i < outputs; ++i)
      take(i, number_of_run<NumberFold, Total>(runs[i] + row.in(), length, reads.again));
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
                                                          typename F<T>::State* best, bool again) {
  using Values = typename F<T>::Values;
  const Axis run = inner(reduced);
  Odometer row(outer(reduced));
  const Index count = elements(outer(reduced));
  for (Index r = 0; r < count; ++r, row.next())
    for (Index i = 0; i < outputs; ++i) {
      const T* x = runs[i] + row.in();
      const T here = extremum_of_run<Values>(x, run.size, again);
      if (r > 0 && Values().combine(best[i].value, here) == best[i].value) continue;
      best[i] = {here, row.out() + find_integer(x, run.size, here) * run.out};
    }
}

/// Blocks as fold_rows.
template <template <class> class F, class A, class T>
void fold_integer_bundles(const Arguments& step, const FoldParameters& parameters, Index first, Index last) {
  using State = typename F<A>::State;
  const auto fold = make_fold<F<A>>(parameters);
  const AxisList rows = outer(step.reduced);
  const Index next_run = rows.rank > 0 ? inner(rows).in : std::numeric_limits<Index>::max();
  const Index most = inner(step.kept).in > next_run ? 1 : kFewBundled;
  const bool in_turns = inner(step.reduced).size * Index{sizeof(T)} >= kLeastTurnBytes && are_read_in_turns<T>(step);
  const bool again = is_looked_at_again(step), streams = streams_results(step);
  Stretches from(step.kept, first), to(step.kept, first);
  for (Index at = first; at < last;) {
    const T* runs[kFewBundled];
    State totals[kFewBundled];
    const auto stretch = from.next(std::min(most, last - at));
    for (Index j = 0; j < stretch.count; ++j)
      runs[j] = reinterpret_cast<const T*>(step.in) + stretch.in + j * from.run().in;
    if constexpr (kHasIndex<F, A>)
      find_in_integer_runs<F>(step.reduced, runs, stretch.count, totals, again);
    else
      fold_integer_runs<F<A>>(rows, inner(step.reduced).size, runs, stretch.count, totals,
                              {in_turns && lie_apart(runs, stretch.count), again});
    const auto place = to.next(stretch.count);
    sink_states(step, fold, totals, place.count,
                {.out = place_of(step, place.out),
                 .out_stride = to.run().out,
                 .block = at,
                 .block_stride = 1,
                 .stream = streams});
    at += stretch.count;
  }
  if (streams) finish_streams();
}

}  // namespace ndfold::simd
