// A softmax of rows with one exponential an element: the maximum first, then powers, which wait where the elements did,
// and their share of the sum. What does not fit goes the usual way (rows.h).
#pragma once
#include "kernels/cuda/row_batch.h"

namespace ndfold::cuda {

/// Numbers of type A wait where elements of the same size did; in registers there is room for any.
template <class Source, class Residency>
inline constexpr bool kPowersWait = Source::kSize > 1 &&
                                    ((std::is_same_v<Residency, InRegisters> && kIsInLine<Source>) ||
                                     (std::is_same_v<Residency, InShared> &&
                                      std::is_same_v<typename Source::Element, typename Source::Value>));

/// Whether all packs of a part fit: the same answer in all lanes of the grid.
template <class Source, class Residency, int kUnroll>
__device__ bool powers_fit(const Arguments& step, int lanes) {
  constexpr int kSize = Source::kSize;
  if (std::is_same_v<Residency, InRegisters>) return step.parts == 1 && step.packs_of_run <= kUnroll * lanes;
  const bool whole = step.whole_runs && step.part % kSize == 0;  // else its ends may cut one pack more on each side
  const Index packs = (step.part + kSize - 1) / kSize + (whole ? 0 : 2);
  return (kIsInLine<Source> || whole) && step.scope != Scope::lanes &&
         packs * kSize * static_cast<Index>(sizeof(typename Source::Value)) <= step.tile_bytes;
}

/// What waits of an element x, already multiplied by `scale`: its power for a softmax, itself for a log_softmax.
template <class A>
struct Wait {
  A scale, pivot;
  bool keeps_powers;

  __device__ A of_one(A element, A& sum) const {
    const A number = element * scale, power = folds::exponential(number - pivot);
    sum += power;
    return keeps_powers ? power : number;
  }

  /// Of a pack; adds the powers to `sum`. Elements that are not `here` count nothing.
  template <class Source>
  __device__ Pack<A, Source::kSize> of(const Pack<typename Source::Element, Source::kSize>& elements, unsigned here,
                                       A& sum) const {
    constexpr int kSize = Source::kSize;
    Pack<A, kSize> numbers, powers;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      numbers.at[i] = Source::value(elements.at[i]) * scale;
      powers.at[i] = folds::exponential(numbers.at[i] - pivot);
    }
    if (here != (1u << kSize) - 1)
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        if (!(here >> i & 1)) powers.at[i] = A(0);
#pragma unroll
    for (int i = 0; i < kSize; ++i) sum += powers.at[i];
    return keeps_powers ? powers : numbers;
  }
};

/// What becomes of a number that waited, once the state of all is known. A power is relative to its block's maximum.
template <class A>
struct Finish {
  Normalizer<A> normalizer;
  A share;
  bool keeps_powers;

  Finish() = default;
  __device__ Finish(const Arguments& step, const folds::MaxAndSum<A>& whole, const Wait<A>& wait, A maximum)
      : normalizer(Normalizer<A>::of(step.map, whole, step.alpha)),
        share(normalizer.factor * folds::OnlineSoftmax<A>::shrink(maximum, whole.max)),
        keeps_powers(wait.keeps_powers) {}

  __device__ A operator()(A number) const {
    return keeps_powers ? number * share : (number - normalizer.shift - normalizer.rest) * normalizer.factor;
  }
};

/// The largest of the elements that belong; like ScaledMax it may lose a NaN, which comes back with the sum.
template <class Source, int kUnroll, class F>
__device__ auto maximum_of(const F& fold, const RowBatch<Source, kUnroll>& batch) {
  const auto largest = fold.pivot_fold();
  if (batch.has_whole_packs()) return fold_plainly<false>(largest, WholePacks<Source, kUnroll>{batch});
  return fold_plainly<false>(largest, batch);
}

template <class P, int kUnroll>
struct NumbersInRegisters {
  P packs[kUnroll];
  template <class Load>
  __device__ P get(Index, int u, const Load&) const {
    return packs[u];
  }
};

template <class P>
struct NumbersInShared {
  P* packs = reinterpret_cast<P*>(shared_memory() + kExchangeBytes);
  template <class Load>
  __device__ P get(Index number, int, const Load&) const {
    return packs[static_cast<unsigned>(number)];
  }
};

/// One batch of each lane holds the row.
template <class Source, class Out, int kUnroll, class F, class Scope, class Walk>
__device__ void softmax_in_registers(const Arguments& step, const F& fold, const Scope& scope, const Walk& walk,
                                     Out* out, int turn) {
  using A = typename Source::Value;
  const Index pack = walk.first() + scope.lane();
  RowBatch<Source, kUnroll> batch;
  typename ReadAgain::Place<Pack<typename Source::Element, Source::kSize>, kUnroll> nowhere(step);
  load_batch(batch, walk, step.lane_axis, pack, scope.lanes(), nowhere);
  const A maximum = scope.combine(fold.pivot_fold(), maximum_of(fold, batch), turn);
  const Wait<A> wait{fold.scale, fold.pivot(maximum, 1), step.map == MapKind::softmax};
  NumbersInRegisters<Pack<A, Source::kSize>, kUnroll> numbers;
  A sum = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    numbers.packs[u] = {};
    if (batch.here[u] != 0) numbers.packs[u] = wait.template of<Source>(batch.packs[u], batch.here[u], sum);
  }
  const typename F::State whole = {maximum, scope.combine(folds::Sum<A>(), sum, turn)};
  map_batch<Source, Out, kUnroll>(step.lane_axis, out, walk, pack, scope.lanes(), numbers,
                                  Finish<A>(step, whole, wait, maximum));
}

/// A block's part waits in its shared memory; each lane gets back what it left there.
template <class Source, class Out, int kUnroll, class F, class Scope, class Walk>
__device__ void softmax_in_shared(const Arguments& step, const F& fold, const Scope& scope, const Walk& walk, Out* out,
                                  int turn) {
  using A = typename Source::Value;
  using P = Pack<A, Source::kSize>;
  const int lanes = scope.lanes();
  const Index begin = walk.first() + scope.lane(), stride = static_cast<Index>(kUnroll) * lanes;
  const auto largest = fold.pivot_fold();
  typename InShared::Place<P, kUnroll> elements(step);
  A maximum = largest.identity();
  for (Index pack = begin; pack < walk.last(); pack += stride) {
    RowBatch<Source, kUnroll> batch;
    load_batch(batch, walk, step.lane_axis, pack, lanes, elements);
    maximum = largest.combine(maximum, maximum_of(fold, batch));
  }
  maximum = combine_block(largest, maximum);
  const Wait<A> wait{fold.scale, fold.pivot(maximum, 1), step.map == MapKind::softmax};
  const NumbersInShared<P> numbers;
  const folds::Sum<A> adding;
  Tree<folds::Sum<A>, 1> tree(adding);
  for (Index pack = begin; pack < walk.last(); pack += stride) {
    A sums[1] = {A(0)};
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index at = pack + static_cast<Index>(u) * lanes;
      if (at >= walk.last()) continue;
      P& place = numbers.packs[static_cast<unsigned>(at - walk.first())];
      place = wait.template of<Source>(place, walk.here(at), sums[0]);
    }
    tree.push(sums);
  }
  A sum[1];
  tree.result(sum);
  typename F::State whole = {maximum, sum[0]};  // a lane's; all of a block have the same maximum
  whole = scope.combine(fold, whole, turn);
  const Finish<A> finish(step, whole, wait, maximum);
  for (Index pack = begin; pack < walk.last(); pack += stride)
    map_batch<Source, Out, kUnroll>(step.lane_axis, out, walk, pack, lanes, numbers, finish);
}

}  // namespace ndfold::cuda
