// Body rows of a softmax where a block, or those of a cluster, take one long line of neighbours at a time, wherever in
// a pack it begins: registers keep as many whole packs as they have room for, shared memory the others, and some lanes
// an element each of those before and after them.
#pragma once
#include "kernels/cuda/kept.h"
#include "kernels/cuda/packs_beyond.h"
#include "kernels/cuda/sharers.h"
#include "kernels/cuda/shifted_stores.h"

namespace ndfold::cuda {

/// Whole packs of a line, and an element of its ends where the lane has one: places are counted from the first pack on.
template <class Source, class Out>
struct LongLine {
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize, kNoEnd = std::numeric_limits<int>::min();

  const PackOf<Source>* packs;
  Out* out;
  int end;
  PacksOfLine mine;

  /// Of at least twice as many lanes as a pack has elements.
  __device__ LongLine(const Arguments& step, int line, int lane, int lanes) {
    const Offsets base = offsets(step, step.tile, line);
    const Element* const from = reinterpret_cast<const Element*>(step.in) + base.in;
    const int size = static_cast<int>(step.lane_axis.size), phase = phase_of<kSize>(from);
    const int before = phase == 0 ? 0 : kSize - phase;
    const int whole = static_cast<int>(static_cast<unsigned>(size - before) / unsigned{kSize});
    const int after = size - before - whole * kSize;
    packs = reinterpret_cast<const PackOf<Source>*>(from + before);
    out = reinterpret_cast<Out*>(step.out) + base.out + before;
    end = lane < before ? lane - before : lane >= lanes - after ? size - before - lanes + lane : kNoEnd;
    mine = {lane, lanes, whole};
  }

  __device__ bool has_end() const { return end != kNoEnd; }
  __device__ auto number_at_end() const { return Source::value(reinterpret_cast<const Element*>(packs)[end]); }
};

/// kAlike: results begin in a pack where their elements do.
template <MapKind kMap, bool kAlike, class Tuning, class Source, class F, class Out>
__device__ void softmax_of_long_line(const F& fold, const LongLine<Source, Out>& line, bool goes_beyond,
                                     const Sharers<Tuning>& sharers, typename Source::Value alpha) {
  using A = typename Source::Value;
  using P = PackOf<Source>;
  constexpr int kPacks = Tuning::kUnroll, kSize = Source::kSize;
  constexpr bool kPowers = kMap == MapKind::softmax;
  const PacksOfLine& mine = line.mine;
  P packs[kPacks];
  int count = 0;
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
    packs[u] = line.packs[mine.loaded(u)];
    count += mine.has(u);
  }
  PacksBeyond<Source, kPacks> beyond(mine, goes_beyond);
  beyond.ask(line.packs);
  const A at_end = line.has_end() ? line.number_at_end() * fold.scale : -folds::kInfinity<A>;
  sharers.await_each_other();
  const A scale = fold.scale < 0 ? -fold.scale : fold.scale;
  Kept<Source, kPacks> kept;
  kept.keep_row(packs, count, fold.scale);
  beyond.await(fold.scale < 0);
  A max = folds::any_maximum(kept.maximum(), folds::any_maximum(beyond.maximum(scale), at_end));
  max = combine_line<0>(fold.pivot_fold(), max, mine.lanes);
  A sum = kept.template sum_of_powers<kPowers>(max) + beyond.sum_of_powers(Exponent<A>::of(max, scale));
  if (line.has_end()) sum += Exponent<A>::of(max, A(1)).power(at_end);
  sum = combine_line<1>(folds::Sum<A>(), sum, mine.lanes);
  const A share = sharers.meet(fold, max, sum);
  using Powers = typename Kept<Source, kPacks>::Powers;
  std::conditional_t<kPowers, Powers, LogSoftmaxMap<A>> map({max, sum}, kept.scale(), alpha);
  if constexpr (kPowers && std::is_same_v<Powers, PowerMap<A>>) map.factor *= share;
  const auto store = [&](const Out(&results)[kSize], int pack) {
    [[maybe_unused]] const int lane = lane_of_warp();
    Out* const to = line.out + pack * kSize;
    if constexpr (kAlike)
      store_whole(results, to);
    else
      store_shifted(results, to, phase_of<kSize>(line.out), pack < mine.packs, lane != 0,
                    lane + 1 < kWarp && pack + 1 < mine.packs);
  };
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
    Out results[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(kept.number(u, i)));
    if (!kAlike || mine.has(u)) store(results, mine.at(u));
  }
  using Map = std::conditional_t<kPowers, SoftmaxMap<A>, LogSoftmaxMap<A>>;
  if (beyond.are_any()) beyond.template map_each<!kAlike, Out>(Map({max, sum}, scale, alpha), store);
  if (line.has_end()) store_element(line.out[line.end], Map({max, sum}, A(1), alpha)(at_end));
}

/// Of fewer than 2^30 lines.
template <class Source, class F, class Sink, bool kAlike, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    long_lines(const __grid_constant__ Arguments step) {
  using Line = LongLine<Source, typename Sink::Out>;
  const NearScope scope(step);
  const Sharers<Tuning> sharers(scope);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const auto alpha = static_cast<typename Source::Value>(step.alpha);
  const int tiles = static_cast<int>(step.tiles), stride = static_cast<int>(gridDim.y);
  for (int at = static_cast<int>(blockIdx.y); at < tiles; at += stride) {
    const Line line(step, at, sharers.lane(scope), sharers.lanes(scope));
    if (at < stride) {
      if (has_few_blocks())
#pragma unroll
        for (int u = 0; u <= Tuning::kUnroll; ++u) ask_early(line.packs + line.mine.loaded(u));
      await_launch_before();
    }
    softmax_of_long_line<Sink::kMap, kAlike>(fold, line, line.mine.packs > line.mine.lanes * Tuning::kUnroll, sharers,
                                             alpha);
  }
}

}  // namespace ndfold::cuda
