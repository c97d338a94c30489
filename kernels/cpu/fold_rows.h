// Body rows: lanes along the reduced axes. Long rows are folded one after the other; short runs in bundles, in the
// order in which they lie in memory.
#pragma once
#include "kernels/cpu/fold_bundles.h"
#include "kernels/cpu/integer_bundles.h"
#include "kernels/cpu/one_run_walk.h"
#include "kernels/cpu/row_turns.h"
#include "kernels/cpu/runs_as_columns.h"
#include "kernels/cpu/sink.h"
#include "kernels/cpu/tree.h"

namespace ndfold::simd {

/// Leaves of lanes meet as lanes, and lanes once a row.
template <template <class> class F, class A, class T>
inline constexpr bool kLeafInLanes = IsLanes<LanesOf<A>> && !PivotFold<F<A>> && !kFoldsIntegers<F<A>, T>;

template <template <class> class F, class A, class T, class Walk>
typename F<A>::State fold_leaves(const FoldParameters& parameters, Walk walk) {
  const auto numbers = make_fold<F<A>>(parameters);
  Leaf<T> leaf;
  if constexpr (kHasIndex<F, A>) {
    auto best = numbers.identity();
    while (walk.next(leaf)) best = arg_leaf<F>(numbers, leaf, best);
    return best;
  } else {
    const auto lanes = make_fold<F<LanesOf<A>>>(parameters);
    if constexpr (kLeafInLanes<F, A, T>) {
      Tree<F<LanesOf<A>>> tree(lanes);
      while (walk.next(leaf)) tree.push(leaf_in_lanes(lanes, leaf));
      return meet(numbers, lanes, tree.result());
    } else {
      Tree<F<A>> tree(numbers);
      while (walk.next(leaf)) tree.push(fold_leaf<F>(numbers, lanes, leaf));
      return tree.result();
    }
  }
}

template <template <class> class F, class A, Loading kLoading, class T>
typename F<A>::State fold_row_as(const Arguments& step, const FoldParameters& parameters, const std::byte* base,
                                 Index begin, Index end) {
  constexpr Index kMost = kLeafElements<F, A, T>;
  if (OneRunWalk<T>::template suits<kLoading>(step))
    return fold_leaves<F, A, T>(parameters, OneRunWalk<T>(step, base, begin, end, kMost));
  RowWalk<T, kLoading> walk(step, base, begin, end, kMost);
  return fold_leaves<F, A, T, RowWalk<T, kLoading>&>(parameters, walk);
}

/// The state of reduced elements [begin, end) of the output at `base`.
template <template <class> class F, class A, Loading kLoading>
typename F<A>::State fold_row(const Arguments& step, const FoldParameters& parameters, const std::byte* base,
                              Index begin, Index end) {
  auto state = make_fold<F<A>>(parameters).identity();
  if (begin == end) return state;
  as_they_lie<F<A>, A, kLoading>(step.input, inner(step.reduced).in == 1, [&]<class T>(T) {
    state = fold_row_as<F, A, kLoading, T>(step, parameters, base, begin, end);
  });
  return state;
}

/// Blocks [first, last), one after the other: a part of every output before the next part of any, so that what lies at
/// a stride beside each other is read while it is near.
template <template <class> class F, class A, Loading kLoading, class T>
void fold_each_row(const Arguments& step, const FoldParameters& parameters, Index first, Index last) {
  if constexpr (kRowsTakeTurns<F, A, T>)
    if (are_read_in_turns<T>(step) && OneRunWalk<T>::template suits<kLoading>(step))
      first = fold_rows_in_turns<F, A, T>(step, parameters, first, last);
  const auto fold = make_fold<F<A>>(parameters);
  const Index reduced = elements(step.reduced), outputs = elements(step.kept);
  Index output = first % outputs, part = first / outputs;
  Odometer kept(step.kept, output);
  for (Index block = first; block < last; ++block, kept.next()) {
    const Index begin = part * step.part, end = std::min(begin + step.part, reduced);
    const std::byte* base = advance(step.in, step.input, kept.in());
    const auto state =
        begin == end ? fold.identity() : fold_row_as<F, A, kLoading, T>(step, parameters, base, begin, end);
    sink_state(step, fold, state, kept.out(), output * step.parts + part);
    if (++output == outputs) output = 0, ++part;
  }
}

/// Blocks: part-major. Bundles, and rows that are whole, have one part.
template <template <class> class F, class A, Loading kLoading = Loading::values>
void fold_rows(const Arguments& step, Index first, Index last) {
  const FoldParameters parameters{.scale = step.scale, .ddof = step.ddof};
  as_they_lie<F<A>, A, kLoading>(step.input, inner(step.reduced).in == 1, [&]<class T>(T) {
    if constexpr (kLoadsAsLanes<A, T>) {
      if (RunsAsColumns::suits(step, kJoinedColumns<F, A, T>) && lies_as<T, kLoading>(step.input))
        return fold_runs_as_columns<F, A, kLoading, T>(step, parameters, first, last);
    }
    if constexpr (kLoadsAsLanes<A, T>)
      if (are_bundled<F, A, kLoading, T>(step)) return fold_bundles<F, A, T>(step, parameters, first, last);
    if constexpr (kHasIndex<F, A> && std::is_integral_v<A>)
      if (are_short_indexed_integers<F, A, kLoading, T>(step))
        return fold_integer_bundles<F, A, T>(step, parameters, first, last);
    if constexpr (kBundlesIntegers<F<A>, T>)
      if (are_short_integers<kLoading, T>(step)) return fold_integer_bundles<F, A, T>(step, parameters, first, last);
    fold_each_row<F, A, kLoading, T>(step, parameters, first, last);
  });
}

}  // namespace ndfold::simd
