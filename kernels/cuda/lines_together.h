// Several short lines a lane: they meet side by side, level by level, so that no shuffle waits for that of another
// line, and results of some are finished by a lane each.
#pragma once
#include "kernels/cuda/results.h"
#include "kernels/cuda/row_batch.h"

namespace ndfold::cuda {

/// Packs of a line that a lane has: every `lanes`-th from `lane` on, of `packs`.
struct PacksOfLine {
  int lane, lanes, packs;

  __device__ int at(int u) const { return lane + u * lanes; }
  __device__ bool has(int u) const { return at(u) < packs; }
  __device__ bool has_some() const { return lane < packs; }
  /// What the lane loads: for a pack that it does not have, its own first. So no load is a branch, and in place no lane
  /// looks at what another writes.
  __device__ int loaded(int u) const { return has(u) ? at(u) : has_some() ? lane : 0; }
};

/// Over the lanes of a line, a power of two of a warp's.
template <int kMask = 1, int kLines, class F>
__device__ void combine_lines(const F& fold, typename F::State (&states)[kLines], int lanes) {
  if constexpr (kMask < kWarp) {
    if (kMask >= lanes) return;
    const auto warp = cg::tiled_partition<kWarp>(cg::this_thread_block());
#pragma unroll
    for (int l = 0; l < kLines; ++l) states[l] = fold.combine(states[l], warp.shfl_xor(states[l], kMask));
    combine_lines<2 * kMask>(fold, states, lanes);
  }
}

/// Over the lanes of each line; of several a lane, those of a warp. No barrier follows, so the next time takes another
/// turn.
template <int kTurn, int kLines, class F>
__device__ void combine_each(const F& fold, typename F::State (&states)[kLines], int lanes) {
  if (kLines > 1 || lanes <= kWarp) return combine_lines(fold, states, lanes);
  states[0] = combine_block_in_turn<kTurn>(fold, states[0]);
}

template <int kTurn, class F>
__device__ typename F::State combine_line(const F& fold, typename F::State state, int lanes) {
  typename F::State states[1] = {state};
  combine_each<kTurn>(fold, states, lanes);
  return states[0];
}

/// Lines that neighbours divide: each of kShare lanes goes on with every kShare-th of them. Of four lines three
/// shuffles leave a lane one, where each to the end would take four a level, and four tell all lanes what became of
/// all.
template <int kLines, int kShare>
class DividedLines {
 public:
  static constexpr int kMine = kLines / kShare;

  __device__ explicit DividedLines(int lanes) : lanes_(lanes) {}

  /// The number of the lane's line `i`.
  __device__ static int line(int i) { return (lane_of_warp() & (kShare - 1)) + i * kShare; }

  /// From what each lane has of all lines the whole of its own.
  template <class F>
  __device__ void combine(const F& fold, const typename F::State (&all)[kLines],
                          typename F::State (&mine)[kMine]) const {
    divide<1>(fold, all, mine);
    if constexpr (kMine == 1)
      mine[0] = meet_lanes(mine[0], kShare, lanes_, [&](auto a, auto b) { return fold.combine(a, b); });
  }

  /// What the lanes know of their lines, to all of them.
  template <class T>
  __device__ void tell(const T (&mine)[kMine], T (&all)[kLines]) const {
    const auto warp = cg::tiled_partition<kWarp>(cg::this_thread_block());
    const int first = lane_of_warp() & ~(kShare - 1);
#pragma unroll
    for (int l = 0; l < kLines; ++l)
      all[l] = kShare == 1 ? mine[l] : warp.shfl(mine[l / kShare], static_cast<unsigned>(first + l % kShare));
  }

 private:
  template <int kMask, class F, int kSome>
  __device__ static void divide(const F& fold, const typename F::State (&some)[kSome],
                                typename F::State (&mine)[kMine]) {
    using State = typename F::State;
    if constexpr (kMask == kShare) {
#pragma unroll
      for (int l = 0; l < kMine; ++l) mine[l] = some[l];
    } else {
      const auto warp = cg::tiled_partition<kWarp>(cg::this_thread_block());
      const bool odd = (lane_of_warp() & kMask) != 0;
      State half[kSome / 2];
#pragma unroll
      for (int l = 0; l < kSome / 2; ++l) {
        const State kept = odd ? some[2 * l + 1] : some[2 * l], given = odd ? some[2 * l] : some[2 * l + 1];
        half[l] = fold.combine(kept, warp.shfl_xor(given, kMask));
      }
      divide<2 * kMask>(fold, half, mine);
    }
  }

  int lanes_;
};

/// Of lanes that have no pack of any line: they loaded one all the same, so that nothing is a branch.
template <class F, int kLines>
__device__ void clear_idle(const F& fold, typename F::State (&states)[kLines], const PacksOfLine& mine) {
  if (!mine.has_some())
#pragma unroll
    for (int l = 0; l < kLines; ++l) states[l] = fold.identity();
}

/// Of a pack a lane has of each line.
template <class F, int kLines, class Batch>
__device__ void fold_each(const F& fold, const Batch (&line)[kLines], typename F::State (&states)[kLines],
                          const PacksOfLine& mine) {
#pragma unroll
  for (int l = 0; l < kLines; ++l) states[l] = fold_plainly<true>(fold, line[l]);
  clear_idle(fold, states, mine);
}

/// What each line is looked at with again.
template <class F, int kLines, class Around>
__device__ void look_around(const F& fold, const typename F::Value (&pivots)[kLines], Index length,
                            Around (&around)[kLines]) {
  if constexpr (requires { Exponent<typename F::Value>::of_ordinary(pivots[0], pivots[0]); } && RunningFold<F>) {
    Exponent<typename F::Value> exponents[kLines];
    measure_from(pivots, fold.scale, exponents);
#pragma unroll
    for (int l = 0; l < kLines; ++l) around[l] = fold.around(exponents[l]);
  } else {
#pragma unroll
    for (int l = 0; l < kLines; ++l) around[l] = fold.around(pivots[l], length);
  }
}

/// The lane's places of best values, in the order of their indices: numbers of 32 bits, for a line is short.
template <class F, int kLines, class Batch>
__device__ void find_each(const Batch (&line)[kLines], const typename F::Value (&best)[kLines], int (&places)[kLines],
                          const PacksOfLine& mine) {
  constexpr int kCount = Batch::kCount;
  const int first = mine.lane * kCount, turn = line[0].weight < 0 ? -1 : 1;  // of indices that fall, the last place
  const folds::Min<int> nearer;
  bool is_ordered = true;
#pragma unroll
  for (int l = 0; l < kLines; ++l) is_ordered = is_ordered && best[l] == best[l];
  if constexpr (PairedView<Batch>)
    if (is_ordered && turn > 0) {
#pragma unroll
      for (int l = 0; l < kLines; ++l) places[l] = first + first_place<true>(line[l], best[l]);
      return clear_idle(nearer, places, mine);
    }
  const auto look = [&](const auto& same) {
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      places[l] = nearer.identity();
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (same(line[l].number(i), best[l])) places[l] = nearer.combine(places[l], turn * (first + i));
    }
    clear_idle(nearer, places, mine);
  };
  if (is_ordered)  // a comparison an element
    look([](auto a, auto b) { return a == b; });
  else
    look([](auto a, auto b) { return F::same(a, b); });
}

/// What the lane's lines were folded to: states, or what becomes one where it is asked for.
template <class F, int kLines, int kShare>
class FoldedLines {
  using Lines = DividedLines<kLines, kShare>;
  static constexpr bool kIsPivot = folds::PivotFold<F>, kIsArg = !kIsPivot && ArgFold<F>;
  struct Nothing {};
  using First = std::conditional_t<kIsPivot || kIsArg, typename F::Value, typename F::State>;
  using Second = std::conditional_t<kIsPivot, typename F::Value, std::conditional_t<kIsArg, int, Nothing>>;

 public:
  static constexpr int kMine = Lines::kMine;

  /// A lane has one pack of each line, of `length` elements.
  template <class Batch>
  __device__ FoldedLines(const F& fold, const Batch (&line)[kLines], const PacksOfLine& mine, Index length)
      : length_(length), weight_(line[0].weight) {
    const Lines lines(mine.lanes);
    if constexpr (kIsPivot) {
      typename F::Value firsts[kLines], seconds[kLines], pivots[kMine];
#pragma unroll
      for (int l = 0; l < kLines; ++l) firsts[l] = first_look<true>(fold, line[l]);
      clear_idle(fold.pivot_fold(), firsts, mine);
      lines.combine(fold.pivot_fold(), firsts, first_);
#pragma unroll
      for (int l = 0; l < kMine; ++l) pivots[l] = fold.pivot(first_[l], length);
      lines.tell(pivots, firsts);
      using Around = decltype(fold.around(firsts[0], length));
      Around around[kLines];
      look_around(fold, firsts, length, around);
#pragma unroll
      for (int l = 0; l < kLines; ++l) seconds[l] = fold_plainly<true>(around[l], line[l]);
      clear_idle(Around(), seconds, mine);
      lines.combine(Around(), seconds, second_);  // sums, whatever they are around
    } else if constexpr (kIsArg) {
      typename F::Value values[kLines];
      int places[kLines];
      fold_each(typename F::Values(), line, values, mine);
      lines.combine(typename F::Values(), values, first_);
      lines.tell(first_, values);
      find_each<F>(line, values, places, mine);
      lines.combine(folds::Min<int>(), places, second_);
      if (weight_ < 0)
#pragma unroll
        for (int l = 0; l < kMine; ++l) second_[l] = -second_[l];
    } else {
      typename F::State states[kLines];
      fold_each(fold, line, states, mine);
      lines.combine(fold, states, first_);
    }
  }

  __device__ typename F::State state(const F& fold, int i) const {
    if constexpr (kIsPivot)
      return fold.join(first_[i], fold.pivot(first_[i], length_), second_[i], length_);
    else if constexpr (kIsArg)
      return {first_[i], second_[i] * weight_};
    else
      return first_[i];
  }

 private:
  Index length_, weight_;
  First first_[kMine];
  Second second_[kMine];
};

/// Each lane of a line folds with the others, and writes some of the results.
template <int kShare, class F, int kLines, class Batch>
__device__ void write_lines(ResultsOfLane<F>& results, const F& fold, const Batch (&line)[kLines],
                            const PacksOfLine& mine, Index length) {
  if constexpr (kShare > 1)
    if (mine.lanes < kShare) return write_lines<kShare / 2>(results, fold, line, mine, length);
  using Lines = FoldedLines<F, kLines, kShare>;
  const Lines lines(fold, line, mine, length);
#pragma unroll
  for (int i = 0; i < Lines::kMine; ++i) {
    const int at = DividedLines<kLines, kShare>::line(i);
    results.write_later(fold, lines.state(fold, i), at, mine.lane < kShare && results.has_next(at));
  }
}

}  // namespace ndfold::cuda
