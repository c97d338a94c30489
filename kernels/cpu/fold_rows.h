// Body rows: lanes along the reduced axes, one output (or one part of it) at a time.
#pragma once
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/sink.h"
#include "kernels/cpu/tree.h"

namespace ndfold::simd {

/// Elements of a leaf: few where rounding adds up, many where order does not matter.
template <template <class> class F, class A>
inline constexpr Index kLeafElements = std::is_integral_v<A> || HasQuick<F<LanesOf<A>>> || requires {
  typename F<A>::Values;
}
? 8 * kChunk : kChunk;

/// The state of reduced elements [begin, end) of the output at `base`.
template <template <class> class F, class A, Loading kLoading>
typename F<A>::State fold_row(const Arguments& step, const FoldParameters& parameters, const std::byte* base,
                              Index begin, Index end) {
  const auto numbers = make_fold<F<A>>(parameters);
  if (begin == end) return numbers.identity();
  RowWalk<A, kLoading> walk(step, base, begin, end, kLeafElements<F, A>);
  Leaf<A> leaf;
  if constexpr (requires { typename F<A>::Values; }) {
    auto best = numbers.identity();
    while (walk.next(leaf)) best = arg_leaf<F>(numbers, leaf, best);
    return best;
  } else {
    const auto lanes = make_fold<F<LanesOf<A>>>(parameters);
    Tree<F<A>> tree(numbers);
    while (walk.next(leaf)) tree.push(fold_leaf<F>(numbers, lanes, leaf));
    return tree.result();
  }
}

/// Blocks: output-major, `parts` to an output.
template <template <class> class F, class A, Loading kLoading = Loading::values>
void fold_rows(const Arguments& step, Index first, Index last) {
  const FoldParameters parameters{.scale = step.scale, .ddof = step.ddof};
  const auto fold = make_fold<F<A>>(parameters);
  const Index reduced = elements(step.reduced);
  Index part = first % step.parts;
  Odometer kept(step.kept, first / step.parts);
  for (Index block = first; block < last; ++block) {
    const Index begin = part * step.part, end = std::min(begin + step.part, reduced);
    const auto state = fold_row<F, A, kLoading>(step, parameters, advance(step.in, step.input, kept.in()), begin, end);
    sink_state(step, fold, state, kept.out(), block);
    if (++part == step.parts) part = 0, kept.next();
  }
}

/// The same with states for elements: merges what earlier blocks left, pairwise.
template <template <class> class F, class A>
void merge_rows(const Arguments& step, Index first, Index last) {
  using State = typename F<A>::State;
  const auto fold = make_fold<F<A>>({.scale = step.scale, .ddof = step.ddof});
  const Index reduced = elements(step.reduced);
  Index part = first % step.parts;
  Odometer kept(step.kept, first / step.parts);
  for (Index block = first; block < last; ++block) {
    Tree<F<A>> tree(fold);
    const Index end = std::min((part + 1) * step.part, reduced);
    for (Index i = part * step.part; i < end; ++i) {
      State state;
      std::memcpy(&state, step.in + (kept.in() + i) * static_cast<Index>(sizeof state), sizeof state);
      tree.push(state);
    }
    sink_state(step, fold, tree.result(), kept.out(), block);
    if (++part == step.parts) part = 0, kept.next();
  }
}

}  // namespace ndfold::simd
