// Body rows where lines are whole packs, and lanes have one batch of them: several packs of a line each, or one of
// several lines. Nothing is walked, and no end is looked for: what is left are loads, a fold in registers, and stores.
// A line of elements that are some way apart is one of packs of one; runs of whole packs together are one, too.
#pragma once
#include "kernels/cuda/kept.h"
#include "kernels/cuda/lines_together.h"
#include "kernels/cuda/sharers.h"

namespace ndfold::cuda {

/// What lanes without a pack of a line that is mapped load: the first pack of this.
alignas(kVectorBytes) [[maybe_unused]] static __device__ const unsigned char kNothing[kVectorBytes] = {};

/// Where they lie, from the line's first element on, in packs. Of runs it is found once a block, for all lines alike,
/// and stands in shared memory: in registers places took as many as elements.
template <class Source, int kPacks>
class PlacesOfPacks {
  static constexpr int kSize = Source::kSize;

 public:
  __device__ PlacesOfPacks(const Arguments& step, const NearScope& scope, const PacksOfLine& mine)
      : near_(scope.lanes()) {
    int* const in = reinterpret_cast<int*>(shared_memory() + kExchangeBytes);
    int* const out = step.results_lie_alike ? in : in + kPacks * near_;
    for (int i = thread_of_block(); i < kPacks * near_; i += threads_of_block()) {
      const int u = i / near_, lane = i - u * near_;
      const Index pack = PacksOfLine{mine.lane - scope.lane() + lane, mine.lanes, mine.packs}.loaded(u);
      const Index run = quotient(pack, step.by_packs), in_run = pack - run * step.packs_of_run;
      const Offsets begin = offsets(step, step.walk, run);
      in[i] = static_cast<int>(begin.in / kSize + in_run * (kSize == 1 ? step.lane_axis.in : 1));
      if (out != in) out[i] = static_cast<int>(begin.out / kSize + in_run * (kSize == 1 ? step.lane_axis.out : 1));
    }
    const auto block = cg::this_thread_block();
    block.sync();  // where all packs lie is there
    in_ = in + scope.lane();
    out_ = out + scope.lane();
  }
  __device__ Index in(int u) const { return in_[u * near_]; }
  __device__ Index out(int u) const { return out_[u * near_]; }

 private:
  int near_;
  const int *in_, *out_;
};

template <class Source, int kPacks>
class PlacesOfPacks<InLine<Source>, kPacks> {
  static constexpr bool kApart = Source::kSize == 1;

 public:
  __device__ PlacesOfPacks(const Arguments& step, const NearScope&, const PacksOfLine& mine)
      : mine_(mine), axis_(step.lane_axis) {}
  __device__ Index in(int u) const { return kApart ? mine_.loaded(u) * axis_.in : mine_.loaded(u); }
  __device__ Index out(int u) const { return kApart ? mine_.at(u) * axis_.out : mine_.at(u); }

 private:
  const PacksOfLine& mine_;
  const AxisNumbers& axis_;
};

/// Where a lane's next lines begin, if lines are one axis: at equal distances. Kept from one turn to the next, for to
/// find them anew takes as many instructions as a pack's elements. Where a lane has a line, or maps lines, they are.
template <class Source>
class LinesAhead {
 public:
  __device__ LinesAhead(const Arguments& step, int first, int apart)
      : step_(step), pitch_(apart * step.tile.near[0].in), next_(first * step.tile.near[0].in) {}

  __device__ Index in(int line) const { return next_ + line * pitch_; }
  __device__ void skip(int lines) { next_ += lines * step_.tile.near[0].in; }

 private:
  const Arguments& step_;
  Index pitch_, next_;
};

/// Lines of a lane, of which those from the tensor's end on are its first once more, or nothing.
template <class Source, int kLines, bool kMaps>
struct LinesOfLane {
  static constexpr bool kAhead = kLines > 1 && !kMaps;
  const PackOf<Source>* from[kLines];
  Index out[kLines];
  bool live[kLines];

  __device__ LinesOfLane(const Arguments& step, const LinesAhead<Source>& ahead, const PacksOfLine& mine, int first,
                         int apart) {
    const int tiles = static_cast<int>(step.tiles);
    if (step.tile.rank <= 1 && (!kAhead || first + (kLines - 1) * apart < tiles)) {
      const AxisNumbers& near = step.tile.near[0];
      Offsets at = {first * near.in, first * near.out, 0};
#pragma unroll
      for (int l = 0; l < kLines; ++l) {
        begin(step, mine, l, kAhead ? Offsets{ahead.in(l), 0, 0} : at, kAhead || first + l * apart < tiles);
        at.in += apart * near.in;
        at.out += apart * near.out;
      }
    } else {
#pragma unroll
      for (int l = 0; l < kLines; ++l) {
        const int line = first + l * apart;
        begin(step, mine, l, detail::far_offsets(step, step.tile, line), line < tiles);
      }
    }
  }

  /// A lane's pack of a line: its first one, for those of lines that are not there.
  template <class Places>
  __device__ const PackOf<Source>* pack(const Places& places, int line, int u) const {
    return from[line] + (!kMaps || live[line] ? places.in(u) : 0);
  }
  template <int kPacks>
  __device__ void ask_early(const PlacesOfPacks<Source, kPacks>& places) const {
#pragma unroll
    for (int l = 0; l < kLines; ++l)
#pragma unroll
      for (int u = 0; u < kPacks; ++u) cuda::ask_early(pack(places, l, u));
  }

 private:
  __device__ void begin(const Arguments& step, const PacksOfLine& mine, int line, const Offsets& at, bool is_there) {
    const Offsets base = is_there ? at : Offsets{};
    from[line] =
        reinterpret_cast<const PackOf<Source>*>(reinterpret_cast<const typename Source::Element*>(step.in) + base.in);
    if (kMaps && !(is_there && mine.has_some())) from[line] = reinterpret_cast<const PackOf<Source>*>(kNothing);
    out[line] = base.out;
    live[line] = is_there;
  }
};

/// A lane's packs of its lines.
template <class Source, int kLines, int kPacks>
struct BatchOfLines {
  PackBatch<Source, kPacks> line[kLines];

  template <bool kMaps>
  __device__ BatchOfLines(const LinesOfLane<Source, kLines, kMaps>& lines, const PacksOfLine& mine,
                          const PlacesOfPacks<Source, kPacks>& places, Index weight) {
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      auto& batch = line[l];
      batch.weight = weight;
      batch.pitch = mine.lanes * Source::kSize * weight;
      batch.count = 0;
#pragma unroll
      for (int u = 0; u < kPacks; ++u) {
        batch.packs[u] = *lines.pack(places, l, u);
        batch.starts[u] = mine.at(u) * Source::kSize * weight;
        batch.count += mine.has(u);
      }
    }
  }
};

/// Packs of one line that stay elements while they wait: twice as many of 16 bits have room.
template <MapKind kMap, class Tuning, class Source, int kPacks, class F, class Out>
__device__ void softmax_of_kept_line(const F& fold, const LinesOfLane<Source, 1, true>& lines, Out* out,
                                     const PacksOfLine& mine, const PlacesOfPacks<Source, kPacks>& places,
                                     const Sharers<Tuning>& sharers, typename Source::Value alpha) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  const BatchOfLines<Source, 1, kPacks> batch(lines, mine, places, 0);
  sharers.await_each_other();
  KeptElements<Source, kPacks> kept;
  kept.keep_row(batch.line[0].packs, batch.line[0].count, fold.scale);
  A max = combine_line<0>(fold.pivot_fold(), kept.maximum(), mine.lanes);
  A sum = combine_line<1>(folds::Sum<A>(), kept.template sum_of_powers<false>(max), mine.lanes);
  sharers.meet(fold, max, sum);
  using Map = std::conditional_t<kMap == MapKind::softmax, SoftmaxMap<A>, LogSoftmaxMap<A>>;
  const Map map({max, sum}, kept.scale(), alpha);
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
    Out results[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(kept.number(u, i)));
    if (lines.live[0] && mine.has(u)) store_whole(results, out + lines.out[0] + places.out(u) * kSize);
  }
}

/// Numbers are multiplied with the scale where they become powers; of a negative one, all are turned around before.
template <MapKind kMap, class Tuning, class Source, int kLines, int kPacks, class F, class Out>
__device__ void softmax_of_lines(const F& fold, const LinesOfLane<Source, kLines, true>& lines, Out* out,
                                 const PacksOfLine& mine, const PlacesOfPacks<Source, kPacks>& places,
                                 const Sharers<Tuning>& sharers, typename Source::Value alpha) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  BatchOfLines<Source, kLines, kPacks> batch(lines, mine, places, 0);
  sharers.await_each_other();
  const A scale = fold.scale < 0 ? -fold.scale : fold.scale;
  if (fold.scale < 0)
#pragma unroll
    for (int l = 0; l < kLines; ++l)
#pragma unroll
      for (int u = 0; u < kPacks; ++u)
#pragma unroll
        for (int i = 0; i < kSize; ++i) batch.line[l].packs[u].at[i] = negated(batch.line[l].packs[u].at[i]);
  Pack<A, kSize> numbers[kLines][kPacks];
  A max[kLines] = {}, sum[kLines] = {};
#pragma unroll
  for (int l = 0; l < kLines; ++l)
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      auto& pack = numbers[l][u];
#pragma unroll
      for (int i = 0; i < kSize; ++i) pack.at[i] = number_of<Source>(batch.line[l].packs[u], i);
      A of_pack = pack.at[0];
#pragma unroll
      for (int i = 1; i < kSize; ++i) of_pack = folds::any_maximum(of_pack, pack.at[i]);
      max[l] = u == 0 ? of_pack : folds::any_maximum(max[l], of_pack);
    }
  if (!mine.has_some())
#pragma unroll
    for (int l = 0; l < kLines; ++l) max[l] = fold.pivot_fold().identity();
  combine_each<0>(fold.pivot_fold(), max, mine.lanes);
#pragma unroll
  for (int l = 0; l < kLines; ++l) {
    max[l] *= scale;
    const auto exponent = Exponent<A>::of(max[l], scale);
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      A of_pack = 0;
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const A power = exponent.power(numbers[l][u].at[i]);
        of_pack = i == 0 ? power : of_pack + power;
        if constexpr (kMap == MapKind::softmax) numbers[l][u].at[i] = power;
      }
      sum[l] += mine.has(u) ? of_pack : A(0);
    }
  }
  combine_each<1>(folds::Sum<A>(), sum, mine.lanes);
  using Map = std::conditional_t<kMap == MapKind::softmax, PowerMap<A>, LogSoftmaxMap<A>>;
#pragma unroll
  for (int l = 0; l < kLines; ++l) {
    const A share = sharers.meet(fold, max[l], sum[l]);
    Map map({max[l], sum[l]}, scale, alpha);
    if constexpr (kMap == MapKind::softmax && Sharers<Tuning>::kMayBeMany) map.factor *= share;
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      Out results[kSize];
#pragma unroll
      for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(numbers[l][u].at[i]));
      if (lines.live[l] && mine.has(u)) store_whole(results, out + lines.out[l] + places.out(u) * kSize);
    }
  }
}

/// The state of a line, over any lanes. Two looks, where a fold does better with them, are two looks at all of it.
template <class Source, int kPacks, class F, class Combine>
__device__ typename F::State fold_line_at_once(const F& fold, const PackBatch<Source, kPacks>& batch, int length,
                                               const Combine& combine) {
  if constexpr (folds::PivotFold<F>) {
    const auto first = combine(fold.pivot_fold(), first_look<false>(fold, batch));
    const auto pivot = fold.pivot(first, length);
    const auto around = fold.around(pivot, length);
    return fold.join(first, pivot, combine(around, fold_plainly<false>(around, batch)), length);
  } else if constexpr (ArgFold<F>) {
    return combine(fold, batch.count == 0   ? fold.identity()
                         : batch.weight > 0 ? first_best<false, F>(batch)
                                            : fold_plainly<false>(fold, batch));
  } else {
    return combine(fold, fold_plainly<false>(fold, batch));
  }
}

/// Of fewer than 2^30 lines. kLines > 1: of lines of no more packs than lanes, a pack of each; else some packs of one.
template <class Source, class F, class Sink, int kLines, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    whole_lines(const __grid_constant__ Arguments step) {
  constexpr int kPacks = kLines > 1 ? 1 : Tuning::kUnroll;
  if constexpr (!Sink::kMaps) let_next_launch_begin();
  const NearScope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const auto alpha = static_cast<typename Source::Value>(step.alpha);
  const Index runs = kIsInLine<Source> ? 1 : quotient(step.reduced, step.lane_axis.by);
  const Sharers<Tuning> sharers(scope);
  const PacksOfLine mine{sharers.lane(scope), sharers.lanes(scope), static_cast<int>(runs * step.packs_of_run)};
  const PlacesOfPacks<Source, kPacks> places(step, scope, mine);
  const int tiles = static_cast<int>(step.tiles), apart = static_cast<int>(scope.tiles_at_once());
  const int block = kLines * apart, stride = static_cast<int>(gridDim.y) * block;
  int first = static_cast<int>(blockIdx.y) * block;
  const int ahead = static_cast<int>(scope.tile_of(0));
  ResultsOfLane<F> results(step, first + ahead, apart);
  LinesAhead<Source> lines_ahead(step, first + ahead, apart);
  for (; first < tiles; first += stride) {
    const LinesOfLane<Source, kLines, Sink::kMaps> lines(step, lines_ahead, mine, first + ahead, apart);
    if (first < stride) {
      if (has_few_blocks()) lines.ask_early(places);
      await_launch_before();
    }
    if constexpr (Sink::kMaps) {
      auto* const out = reinterpret_cast<typename Sink::Out*>(step.out);
      if constexpr (kKeepsElements<Source, kPacks> && kLines == 1)
        softmax_of_kept_line<Sink::kMap, Tuning, Source, kPacks>(fold, lines, out, mine, places, sharers, alpha);
      else
        softmax_of_lines<Sink::kMap, Tuning, Source, kLines, kPacks>(fold, lines, out, mine, places, sharers, alpha);
    } else {
      const BatchOfLines<Source, kLines, kPacks> batch(lines, mine, places, step.lane_axis.out);
      const int length = static_cast<int>(step.lane_axis.size);
      const auto combine = [&]<class Of>(const Of& of_lanes, typename Of::State state) {
        if constexpr (std::is_arithmetic_v<typename Of::State>)
          if (mine.lanes <= kWarp) {
            typename Of::State states[1] = {state};
            combine_lines(of_lanes, states, mine.lanes);
            return states[0];
          }
        return scope.combine_near(of_lanes, state);
      };
      if constexpr (kLines > 1) {
        write_lines<kLines>(results, fold, batch.line, mine, length);
        results.skip(stride);
      } else {
        const auto state = fold_line_at_once(fold, batch.line[0], length, combine);
        results.write(fold, state, lines.live[0] && mine.lane == 0);
        results.skip(stride - block);
      }
    }
    lines_ahead.skip(stride);
  }
}

}  // namespace ndfold::cuda
