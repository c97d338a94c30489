// Folds what a lane has just loaded: a few numbers in registers, all of them or those that belong.
#pragma once
#include "kernels/cuda/dialect.h"
#include "kernels/folds/fold.h"

namespace ndfold::cuda {

/// Some numbers in registers. `View` says number(i), index(i) and, when not all belong, has(i), for i < kCount; of
/// kGroup neighbours all belong or none.
template <bool kAll, class F, class View>
__device__ typename F::State fold_plainly(const F& fold, const View& view) {
  typename F::State state = kAll ? fold.map(view.number(0), view.index(0)) : fold.identity();
#pragma unroll
  for (int group = 0; group < View::kCount; group += View::kGroup) {
    if (!kAll && !view.has(group)) continue;
#pragma unroll
    for (int i = kAll && group == 0 ? 1 : group; i < group + View::kGroup; ++i)
      state = fold.combine(state, fold.map(view.number(i), view.index(i)));
  }
  return state;
}

/// Two looks where a fold does better with them: a pivot first, then everything around it.
template <bool kAll, class F, class View>
__device__ typename F::State fold_view(const F& fold, const View& view) {
  if constexpr (folds::PivotFold<F>) {
    int count = View::kCount;
    if constexpr (!kAll) {
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

}  // namespace ndfold::cuda
