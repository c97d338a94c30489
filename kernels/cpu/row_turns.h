// Blocks of rows, a few at a time, read in turns. Leaves and trees are those of a row alone, and so are results.
#pragma once
#include "kernels/cpu/integer_bundles.h"
#include "kernels/cpu/sink.h"
#include "kernels/cpu/tree.h"
#include "kernels/cpu/turns.h"

namespace ndfold::simd {

/// Folds of lanes, from elements that are loaded as such, and those of integers where order does not matter.
template <template <class> class F, class A, class T>
inline constexpr bool kRowsTakeTurns = kHasTurns && (kLoadsAsLanes<A, T> || kBundlesIntegers<F<A>, T>);

template <class State>
using States = std::array<State, kInTurns>;

/// The states of n elements each, as leaf_lanes makes them.
template <class LaneFold, class Watch, class T>
[[gnu::flatten, gnu::noinline]] States<typename LaneFold::State> lanes_in_turns(const LaneFold& fold,
                                                                                const Starts<T>& x, Index n,
                                                                                Watch& watch) {
  Watch seen = watch;
  using Sums = Accumulators<LaneFold, Watch>;
  std::array<Sums, kInTurns> sums = {Sums(fold, seen), Sums(fold, seen), Sums(fold, seen), Sums(fold, seen)};
  add_in_turns(sums, x, n);
  watch = seen;
  return {sums[0].total(), sums[1].total(), sums[2].total(), sums[3].total()};
}

/// Leaves in one look, as leaf_in_lanes makes them.
template <class LaneFold, class T>
States<typename LaneFold::State> leaves_in_turns(const LaneFold& lanes, const Starts<T>& x, Index n) {
  if constexpr (HasQuick<LaneFold>) {
    NanWatch<typename LaneFold::Value> watch;
    const auto nearest = lanes_in_turns(Nearest<LaneFold>(), x, n, watch);
    auto uncertain = watch.found();
    for (const auto& one : nearest) uncertain = either(uncertain, equal(one, splat<typename LaneFold::Value>(0)));
    if (!any(uncertain)) return nearest;
  }
  NoWatch nothing;
  return lanes_in_turns(lanes, x, n, nothing);
}

/// Rows of n elements, of which the first is element `begin` of what is reduced.
template <template <class> class F, class A, class T>
class RowsInTurns {
  using LaneFold = F<LanesOf<A>>;
  static constexpr Index kMost = kLeafElements<F, A, T>;

 public:
  using State = typename F<A>::State;

  RowsInTurns(const FoldParameters& parameters, Index weight)
      : numbers_(make_fold<F<A>>(parameters)), lanes_(make_fold<LaneFold>(parameters)), weight_(weight) {}

  States<State> operator()(const Starts<T>& x, Index n, const States<Index>& begin) const {
    if constexpr (kHasIndex<F, A>)
      return places(x, n, begin);
    else if constexpr (kBundlesIntegers<F<A>, T>)
      return numbers(x, n);
    else if constexpr (PivotFold<F<A>>)
      return around_pivots(x, n);
    else
      return in_lanes(x, n);
  }

 private:
  /// Calls work(leaves of some elements, how many, where they are).
  template <class Work>
  static void each_leaf(const Starts<T>& x, Index n, const Work& work) {
    for (Index at = 0; at < n; at += kMost)
      work(Starts<T>{x[0] + at, x[1] + at, x[2] + at, x[3] + at}, std::min(kMost, n - at), at);
  }

  States<State> in_lanes(const Starts<T>& x, Index n) const {
    using Trees = Tree<LaneFold>;
    std::array<Trees, kInTurns> trees = {Trees(lanes_), Trees(lanes_), Trees(lanes_), Trees(lanes_)};
    each_leaf(x, n, [&](const Starts<T>& leaves, Index some, Index) {
      const auto states = leaves_in_turns(lanes_, leaves, some);
      for (std::size_t s = 0; s < kInTurns; ++s) trees[s].push(states[s]);
    });
    States<State> results;
    for (std::size_t s = 0; s < kInTurns; ++s) results[s] = meet(numbers_, lanes_, trees[s].result());
    return results;
  }

  States<State> numbers(const Starts<T>& x, Index n) const {
    using Trees = Tree<F<A>>;
    std::array<Trees, kInTurns> trees = {Trees(numbers_), Trees(numbers_), Trees(numbers_), Trees(numbers_)};
    each_leaf(x, n, [&](const Starts<T>& leaves, Index some, Index) {
      const auto states = numbers_in_turns<F<A>, State>(leaves, some);
      for (std::size_t s = 0; s < kInTurns; ++s) trees[s].push(states[s]);
    });
    return {trees[0].result(), trees[1].result(), trees[2].result(), trees[3].result()};
  }

  States<State> around_pivots(const Starts<T>& x, Index n) const {
    using Trees = Tree<F<A>>;
    std::array<Trees, kInTurns> trees = {Trees(numbers_), Trees(numbers_), Trees(numbers_), Trees(numbers_)};
    each_leaf(x, n, [&](const Starts<T>& leaves, Index some, Index) {
      const auto totals = leaves_in_turns(lanes_.pivot_fold(), leaves, some);
      for (std::size_t s = 0; s < kInTurns; ++s) {
        const auto total = meet(numbers_.pivot_fold(), lanes_.pivot_fold(), totals[s]);
        const A pivot = numbers_.pivot(total, some);
        const auto around = fold_leaf_once(numbers_.around(pivot, some), lanes_.around(splat<LanesOf<A>>(pivot), some),
                                           leaf_of(leaves[s], some, 0));
        trees[s].push(numbers_.join(total, pivot, around, some));
      }
    });
    return {trees[0].result(), trees[1].result(), trees[2].result(), trees[3].result()};
  }

  States<State> places(const Starts<T>& x, Index n, const States<Index>& begin) const {
    using Values = typename F<A>::Values;
    using LaneValues = typename LaneFold::Values;
    States<State> best;
    best.fill(numbers_.identity());
    each_leaf(x, n, [&](const Starts<T>& leaves, Index some, Index at) {
      const auto values = leaves_in_turns(LaneValues(), leaves, some);
      for (std::size_t s = 0; s < kInTurns; ++s)
        best[s] = arg_segment<F, A, T>(numbers_, leaf_of(leaves[s], some, begin[s] + at).segments[0],
                                       meet(Values(), LaneValues(), values[s]), best[s]);
    });
    return best;
  }

  Leaf<T> leaf_of(const T* x, Index n, Index element) const {
    Leaf<T> leaf;
    leaf.count = 1, leaf.elements = n;
    leaf.segments[0] = {.start = x, .length = n, .index = element * weight_, .weight = weight_};
    return leaf;
  }

  F<A> numbers_;
  LaneFold lanes_;
  Index weight_;
};

/// A part of an output: where it begins, and what becomes of its state.
template <class T>
struct RowBlock {
  const T* start;
  Index begin, out, state;
};

/// Blocks from `first` on, a few that lie apart at a time; the first that is left, for there are too few or they are
/// shorter.
template <template <class> class F, class A, class T>
Index fold_rows_in_turns(const Arguments& step, const FoldParameters& parameters, Index first, Index last) {
  constexpr Index kMostEach = 16;
  const auto fold = make_fold<F<A>>(parameters);
  const RowsInTurns<F, A, T> rows(parameters, inner(step.reduced).out);
  const Index outputs = elements(step.kept), length = std::min(step.part, elements(step.reduced));
  if (length == 0) return first;
  last = std::min(last, elements(step.reduced) / length * outputs);
  const Index apart = std::clamp<Index>(kBytesApart / (length * Index{sizeof(T)}), 1, kMostEach);
  Index output = first % outputs, part = first / outputs;
  Odometer kept(step.kept, output);
  while (first + kInTurns <= last) {
    const Index each = std::min(apart, (last - first) / kInTurns);
    RowBlock<T> blocks[kInTurns * kMostEach];
    for (Index i = 0; i < kInTurns * each; ++i, kept.next()) {
      const Index begin = part * step.part;
      blocks[i] = {.start = reinterpret_cast<const T*>(step.in) + kept.in() + begin,
                   .begin = begin,
                   .out = kept.out(),
                   .state = output * step.parts + part};
      if (++output == outputs) output = 0, ++part;
    }
    for (Index i = 0; i < each; ++i) {
      const RowBlock<T>* of[kInTurns] = {blocks + i, blocks + each + i, blocks + 2 * each + i, blocks + 3 * each + i};
      const auto states = rows({of[0]->start, of[1]->start, of[2]->start, of[3]->start}, length,
                               {of[0]->begin, of[1]->begin, of[2]->begin, of[3]->begin});
      for (std::size_t s = 0; s < kInTurns; ++s) sink_state(step, fold, states[s], of[s]->out, of[s]->state);
    }
    first += kInTurns * each;
  }
  return first;
}

}  // namespace ndfold::simd
