// Folds what a lane has just loaded: a few numbers in registers, all of them or those that belong.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/pairs.h"
#include "kernels/cuda/softmax_fold.h"
#include "kernels/cuda/tree.h"
#include "kernels/folds/fold.h"

namespace ndfold::cuda {

/// Folds whose few elements cost little more than to load them.
template <class F>
concept CheapFold = !folds::PivotFold<F> && sizeof(typename F::State) <= 8;

/// A state and an element more: in one step where a fold has it.
template <class F>
__device__ typename F::State with_element(const F& fold, typename F::State state, typename F::Value x, Index index) {
  if constexpr (requires { fold.absorb(state, x, index); })
    return fold.absorb(state, x, index);
  else
    return fold.combine(state, fold.map(x, index));
}

/// Views of groups that are there, but of which some elements belong to others: belongs(i) says which do not,
/// elements() how many do.
template <class View>
concept CutView = requires(const View view) {
  view.belongs(0);
};

/// A group of neighbours.
template <class F, class View>
__device__ typename F::State fold_group(const F& fold, const View& view, int group) {
  if constexpr (ExtremumFold<F> && PairedView<View>) {
    return extreme_of_group<F>(view, group);
  } else {
    auto of_group = fold.map(view.number(group), view.index(group));
#pragma unroll
    for (int i = group + 1; i < group + View::kGroup; ++i)
      of_group = with_element(fold, of_group, view.number(i), view.index(i));
    return of_group;
  }
}

/// Some numbers in registers. `View` says number(i), index(i) and, when not all are there, has(i), for i < kCount; of
/// kGroup neighbours all are there or none.
template <bool kAll, class F, class View>
__device__ typename F::State fold_plainly(const F& fold, const View& view) {
  typename F::State state = fold.identity();
#pragma unroll
  for (int group = 0; group < View::kCount; group += View::kGroup) {
    if (!kAll && !view.has(group)) continue;
    if constexpr (CutView<View>) {
      auto of_group = fold.identity();
#pragma unroll
      for (int i = group; i < group + View::kGroup; ++i)
        if (view.belongs(i)) of_group = with_element(fold, of_group, view.number(i), view.index(i));
      state = fold.combine(state, of_group);
    } else if constexpr (View::kGroup == 1) {
      const auto number = view.number(group);
      const Index index = view.index(group);
      state = kAll && group == 0 ? fold.map(number, index) : with_element(fold, state, number, index);
    } else {
      const auto of_group = fold_group(fold, view, group);
      state = kAll && group == 0 ? of_group : fold.combine(state, of_group);
    }
  }
  return state;
}

/// Two looks where a fold does better with them: a pivot first, then everything around it.
template <bool kAll, class F, class View>
__device__ typename F::State fold_view(const F& fold, const View& view) {
  if constexpr (folds::PivotFold<F>) {
    int count = View::kCount;
    if constexpr (CutView<View>) {
      count = view.elements();
      if (count == 0) return fold.identity();
    } else if constexpr (!kAll) {
      count = 0;
#pragma unroll
      for (int i = 0; i < View::kCount; i += View::kGroup) count += view.has(i) ? View::kGroup : 0;
      if (count == 0) return fold.identity();
    }
    const auto first = fold_plainly<kAll>(fold.pivot_fold(), view);
    const auto pivot = fold.pivot(first, count);
    const auto second = fold_plainly<kAll>(fold.around(pivot, count), view);
    return fold.join(first, pivot, second, count);
  } else {
    return fold_plainly<kAll>(fold, view);
  }
}

/// Whether a batch can change a state. An index costs three times what its value does, so the values are asked first;
/// `in_order`: indices rise, so that whoever came first keeps a tie.
template <bool kAll, class F, class View>
__device__ bool may_change(const typename F::State& state, const View& view, bool in_order) {
  if constexpr (ArgFold<F>)
    return F::may_change(state, fold_plainly<kAll>(typename F::Values(), view), in_order);
  else
    return true;
}

/// The state of a batch whose indices rise: the first place of its best value. A place is a number of 32 bits.
template <bool kAll, class F, class View>
__device__ typename F::State first_best(const View& view) {
  const auto best = fold_plainly<kAll>(typename F::Values(), view);
  if constexpr (PairedView<View>)
    if (best == best) return {best, view.index_in_order(first_place<kAll>(view, best))};
  int place = 0;
  const auto look = [&](const auto& is_best) {
#pragma unroll
    for (int i = View::kCount - 1; i >= 0; --i)
      if ((kAll || view.has(i)) && is_best(view.number(i))) place = i;
  };
  if (best == best)  // no NaN is there: a comparison an element
    look([&](auto x) { return x == best; });
  else
    look([](auto x) { return x != x; });
  return {best, view.index_in_order(place)};
}

/// Folds with a running pivot: a batch is measured from the largest element so far.
template <class F>
concept RunningFold = requires(const F fold, typename F::State s, typename F::Value x) {
  fold.raise(s, x);
};

/// What a fold looks for first, as `look` finds it. Of a running pivot that is the largest of scale · x: rounded
/// products rise with x where the scale is positive, and one of them is enough, of what `Largest` finds.
template <class Largest, class F, class Look>
__device__ auto look_first(const F& fold, const Look& look) {
  if constexpr (RunningFold<F>)
    return fold.scale > 0 ? look(Largest()) * fold.scale : look(fold.pivot_fold());
  else
    return look(fold.pivot_fold());
}

template <bool kAll, class F, class View>
__device__ auto first_look(const F& fold, const View& view) {
  using A = typename F::Value;
  using Largest = std::conditional_t<PairedView<View>, folds::Max<A>, folds::ScaledMax<A>>;
  return look_first<Largest>(fold, [&](const auto& of) { return fold_plainly<kAll>(of, view); });
}

template <bool kAll, class F, class View>
__device__ void absorb(const F& fold, const View& view, typename F::State& running) {
  using A = typename F::Value;
  const A largest = first_look<kAll>(fold, view);
  if constexpr (requires { Exponent<A>::is_ordinary(largest); }) {  // without branches but for this one
    const A max = folds::any_maximum(running.max, largest);
    if (Exponent<A>::is_ordinary(max)) {
      const auto exponent = Exponent<A>::of_ordinary(max, fold.scale);
      running.sum = running.sum * exponent.shrink_from(running.max) + fold_plainly<kAll>(fold.around(exponent), view);
      running.max = max;
      return;
    }
  }
  fold.raise(running, largest);
  running.sum += fold_plainly<kAll>(fold.around(running.max, 0), view);
}

/// The state of a batch alone. kMayRise: indices rise where `in_order` says so.
template <bool kAll, bool kMayRise, class F, class View>
__device__ typename F::State state_of(const F& fold, const View& view, bool in_order) {
  if constexpr (ArgFold<F> && kMayRise)
    if (in_order) return first_best<kAll, F>(view);
  return fold_view<kAll>(fold, view);
}

/// Folds a batch into one column of a tree. kMayRise: as above.
template <bool kAll, bool kMayRise, class F, class View, class T>
__device__ void push_column(const F& fold, const View& view, bool in_order, T& tree, int column) {
  if (!may_change<kAll, F>(tree.running(column), view, kMayRise && in_order)) return;
  tree.push_one(column, state_of<kAll, kMayRise>(fold, view, in_order));
}

template <bool kAll, bool kMayRise, class F, class View, class T>
__device__ void push_view(const F& fold, const View& view, bool in_order, T& tree) {
  if constexpr (Exact<F>) {
    push_column<kAll, kMayRise>(fold, view, in_order, tree, 0);
  } else if constexpr (RunningFold<F>) {
    absorb<kAll>(fold, view, tree.running(0));
    tree.pushed();
  } else {
    const typename F::State state[1] = {fold_view<kAll>(fold, view)};
    tree.push(state);
  }
}

}  // namespace ndfold::cuda
