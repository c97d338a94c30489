// A lane's packs of a row in shared memory, where looking again costs little: a fold that does better with two looks
// takes them at the whole row, and nothing of a batch is merged but a number.
#pragma once
#include "kernels/cuda/row_batch.h"

namespace ndfold::cuda {

/// Some packs, `apart` from each other. All lanes of a row have `common` of them, and some have one more.
template <class Source>
struct PacksInShared {
  static constexpr int kMost = Source::kSize == 1 ? 8 : 2;
  const PackOf<Source>* from;
  int apart, common;
  bool has_more;

  /// visit(number of the first, batch): batches of kMost, then of its halves. No lane waits for another.
  template <class Visit>
  __device__ void for_each_batch(const Visit& visit) const {
    const auto* at = from;
    int n = 0;
    for (; n + kMost <= common; n += kMost) take<kMost>(at, n, visit);
    take_rest<kMost / 2>(at, n, visit);
    if (has_more) take<1>(at, common, visit);
  }

 private:
  template <int kCount, class Visit>
  __device__ void take_rest(const PackOf<Source>*& at, int n, const Visit& visit) const {
    if constexpr (kCount > 0) {
      const bool takes = (common & kCount) != 0;
      if (takes) take<kCount>(at, n, visit);
      take_rest<kCount / 2>(at, takes ? n + kCount : n, visit);
    }
  }
  template <int kCount, class Visit>
  __device__ void take(const PackOf<Source>*& at, int n, const Visit& visit) const {
    PackBatch<Source, kCount> batch;
    batch.weight = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      batch.packs[u] = at[u * apart];
      batch.starts[u] = 0;
    }
    at += kCount * apart;
    visit(n, batch);
  }
};

template <class F, class Source>
__device__ typename F::State look_at_all(const F& fold, const PacksInShared<Source>& packs) {
  auto state = fold.identity();
  packs.for_each_batch([&](int, const auto& batch) { state = fold.combine(state, fold_plainly<true>(fold, batch)); });
  return state;
}

/// The nearest place of an element among the lane's, numbered through the row from `first` on, `step` from pack to
/// pack: the first, or if indices fall, minus the last.
template <bool kFalls, class Source, class IsIt>
__device__ int find_place(const PacksInShared<Source>& packs, int first, int step, const IsIt& is_it) {
  const folds::Min<int> nearer;
  int nearest = nearer.identity();
  packs.for_each_batch([&]<class Batch>(int n, const Batch& batch) {
    int found = -1;
#pragma unroll
    for (int k = 0; k < Batch::kCount; ++k) {
      const int i = kFalls ? k : Batch::kCount - 1 - k;
      if (is_it(batch.number(i))) found = i;
    }
    const int pack = found / Source::kSize, place = first + (n + pack) * step + found % Source::kSize;
    if (found >= 0) nearest = nearer.combine(nearest, kFalls ? -place : place);
  });
  return nearest;
}

/// The state of a row that lanes of a warp share. `looks_again`: at all of it, for a fold that does better with two
/// looks; else batch by batch.
template <class F, class Source>
__device__ typename F::State fold_in_shared(const F& fold, const PacksInShared<Source>& packs, Index length,
                                            Index weight, int lane, int lanes, bool looks_again) {
  if constexpr (folds::PivotFold<F>) {
    if (!looks_again) {
      Sequence<F, 1> states;
      states.begin(fold);
      packs.for_each_batch([&](int, const auto& batch) { push_view<true, false>(fold, batch, false, states); });
      return combine_lanes(fold, states.result()[0], 1, lanes);
    }
    const auto looked =
        look_first<folds::Max<typename F::Value>>(fold, [&](const auto& of) { return look_at_all(of, packs); });
    const auto first = combine_lanes(fold.pivot_fold(), looked, 1, lanes);
    const auto pivot = fold.pivot(first, length);
    const auto around = fold.around(pivot, length);
    return fold.join(first, pivot, combine_lanes(around, look_at_all(around, packs), 1, lanes), length);
  } else if constexpr (ArgFold<F>) {
    const typename F::Values values;
    const auto best = combine_lanes(values, look_at_all(values, packs), 1, lanes);
    const int first = lane * Source::kSize, step = lanes * Source::kSize;
    const auto is_same = [&](auto x) { return F::same(x, best); };
    const auto is_best = [&](auto x) { return x == best; };
    const int place = weight < 0     ? find_place<true>(packs, first, step, is_same)
                      : best == best ? find_place<false>(packs, first, step, is_best)
                                     : find_place<false>(packs, first, step, is_same);
    const int nearest = combine_lanes(folds::Min<int>(), place, 1, lanes);
    return {best, (weight < 0 ? -nearest : nearest) * weight};
  } else {
    return combine_lanes(fold, look_at_all(fold, packs), 1, lanes);
  }
}

}  // namespace ndfold::cuda
