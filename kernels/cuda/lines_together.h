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

/// Of a pack a lane has of each line; lanes that have none loaded something all the same.
template <class F, int kLines, class Batch>
__device__ void fold_each(const F& fold, const Batch (&line)[kLines], typename F::State (&states)[kLines],
                          const PacksOfLine& mine) {
#pragma unroll
  for (int l = 0; l < kLines; ++l) states[l] = fold_plainly<true>(fold, line[l]);
  if (!mine.has_some())
#pragma unroll
    for (int l = 0; l < kLines; ++l) states[l] = fold.identity();
}

/// The places of best values, in the order of their indices: numbers of 32 bits, for a line is short.
template <class F, int kLines, class Batch>
__device__ void find_each(const Batch (&line)[kLines], const typename F::Value (&best)[kLines], int (&places)[kLines],
                          const PacksOfLine& mine) {
  constexpr int kCount = Batch::kCount;
  const int first = mine.lane * kCount, turn = line[0].weight < 0 ? -1 : 1;  // of indices that fall, the last place
  const folds::Min<int> nearer;
  const auto look = [&](const auto& same) {
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      places[l] = nearer.identity();
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        if (mine.has_some() && same(line[l].number(i), best[l]))
          places[l] = nearer.combine(places[l], turn * (first + i));
    }
  };
  bool is_ordered = true;
#pragma unroll
  for (int l = 0; l < kLines; ++l) is_ordered = is_ordered && best[l] == best[l];
  if (is_ordered)  // a comparison an element
    look([](auto a, auto b) { return a == b; });
  else
    look([](auto a, auto b) { return F::same(a, b); });
  combine_lines(nearer, places, mine.lanes);
#pragma unroll
  for (int l = 0; l < kLines; ++l) places[l] *= turn;
}

/// What lines were folded to, which all their lanes know: states, or what becomes one where it is asked for.
template <class F, int kLines>
class FoldedLines {
  static constexpr bool kIsPivot = folds::PivotFold<F>, kIsArg = !kIsPivot && ArgFold<F>;
  struct Nothing {};
  using First = std::conditional_t<kIsPivot || kIsArg, typename F::Value, typename F::State>;
  using Second = std::conditional_t<kIsPivot, typename F::Value, std::conditional_t<kIsArg, int, Nothing>>;

 public:
  /// A lane has one pack of each line, of `length` elements.
  template <class Batch>
  __device__ FoldedLines(const F& fold, const Batch (&line)[kLines], const PacksOfLine& mine, Index length)
      : length_(length), weight_(line[0].weight) {
    if constexpr (kIsPivot) {
      fold_each(fold.pivot_fold(), line, first_, mine);
      combine_lines(fold.pivot_fold(), first_, mine.lanes);
      using Around = decltype(fold.around(first_[0], length));
#pragma unroll
      for (int l = 0; l < kLines; ++l) {
        second_[l] = fold_plainly<true>(fold.around(fold.pivot(first_[l], length), length), line[l]);
        if (!mine.has_some()) second_[l] = Around().identity();
      }
      combine_lines(Around(), second_, mine.lanes);  // sums, whatever they are around
    } else if constexpr (kIsArg) {
      fold_each(typename F::Values(), line, first_, mine);
      combine_lines(typename F::Values(), first_, mine.lanes);
      find_each<F>(line, first_, second_, mine);
    } else {
      fold_each(fold, line, first_, mine);
      if constexpr (std::is_arithmetic_v<First>)
        combine_lines(fold, first_, mine.lanes);
      else
#pragma unroll
        for (int l = 0; l < kLines; ++l) first_[l] = combine_lanes(fold, first_[l], 1, mine.lanes);
    }
  }

  /// Of line `which`, as known in advance or not.
  __device__ typename F::State state(const F& fold, int which) const {
    const First first = pick(first_, which);
    if constexpr (kIsPivot)
      return fold.join(first, fold.pivot(first, length_), pick(second_, which), length_);
    else if constexpr (kIsArg)
      return {first, pick(second_, which) * weight_};
    else
      return first;
  }

 private:
  template <class T>
  __device__ static T pick(const T (&from)[kLines], int which) {
    T picked = from[0];
#pragma unroll
    for (int l = 1; l < kLines; ++l)
      if (which == l) picked = from[l];
    return picked;
  }

  Index length_, weight_;
  First first_[kLines];
  Second second_[kLines];
};

/// Each lane of a line writes some of its results.
template <class F, int kLines>
__device__ void write_lines(ResultsOfLane<F>& results, const F& fold, const FoldedLines<F, kLines>& lines,
                            const PacksOfLine& mine) {
  const int lane = mine.lane, together = mine.lanes < kLines ? mine.lanes : kLines;
  if (together == 1)
#pragma unroll
    for (int l = 0; l < kLines; ++l) results.write(fold, lines.state(fold, l), results.has_next(0));
  else
#pragma unroll 1
    for (int from = 0; from < kLines; from += together) {
      results.write_later(fold, lines.state(fold, from + lane), lane, lane < together && results.has_next(lane));
      results.pass(together);
    }
}

}  // namespace ndfold::cuda
