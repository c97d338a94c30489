// Body rows where lines of neighbours follow one another and begin anywhere in a pack: lanes load the packs of memory
// that cover a line, one batch of them, and leave out what belongs to its neighbours. Only the first line and the last
// have packs that are not all there. Lines of whole packs: whole_lines.h.
#pragma once
#include "kernels/cuda/whole_lines.h"

namespace ndfold::cuda {

/// Elements [low, high) of a pack, one by one. Not inlined: two lines of all need it.
template <class Source>
[[gnu::noinline]] __device__ PackOf<Source> load_some(const typename Source::Element* from, int low, int high) {
  PackOf<Source> pack = {};
#pragma unroll
  for (int i = 0; i < Source::kSize; ++i)
    if (i >= low && i < high) pack.at[i] = from[i];
  return pack;
}

/// A lane's packs of a line, every `lanes`-th of those that cover it, kPacks at most. Element 0 of pack u is number
/// position(u) of the line, below 0 where the line begins within the pack.
template <class Source, int kPacks>
class CutLine {
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  PackOf<Source> packs[kPacks];

  /// A line from the end of all on is the first once more. Lines have two packs at least.
  __device__ CutLine(const Arguments& step, int line, int lane, int lanes)
      : size_(static_cast<int>(step.lane_axis.size)), apart_(lanes * kSize), live_(line < static_cast<int>(step.tiles)) {
    start_ = live_ ? static_cast<Index>(line) * size_ : 0;
    const Element* const first = reinterpret_cast<const Element*>(step.in) + start_;
    const int phase = phase_of<kSize>(first);
    position_ = lane * kSize - phase;
    const bool is_outer = !live_ || line == 0 || line == static_cast<int>(step.tiles) - 1;
    // For a pack that is not there, or not all, the line's second, which is: so no load is a branch.
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      const int from = (is_outer ? has_all(u) : has_some(u)) ? position(u) : kSize - phase;
      packs[u] = *reinterpret_cast<const PackOf<Source>*>(first + from);
    }
    if (!is_outer) return;
#pragma unroll
    for (int u = 0; u < kPacks; ++u)
      if (has_some(u) && !has_all(u))
        packs[u] = load_some<Source>(first + position(u), -position(u), size_ - position(u));
  }

  __device__ bool live() const { return live_; }
  /// Elements before the line.
  __device__ Index start() const { return start_; }
  __device__ int size() const { return size_; }
  __device__ int position(int u) const { return position_ + u * apart_; }
  __device__ bool has_all(int u) const { return position(u) >= 0 && position(u) + kSize <= size_; }
  __device__ bool has_some(int u) const { return position(u) < size_; }
  __device__ bool has(int u, int i) const {
    return static_cast<unsigned>(position(u) + i) < static_cast<unsigned>(size_);
  }
  __device__ auto number(int u, int i) const { return number_of<Source>(packs[u], i); }

 private:
  int size_, apart_, position_ = 0;
  bool live_;
  Index start_ = 0;
};

/// The state of a lane's part of a line.
template <class F, class Source, int kPacks>
__device__ typename F::State fold_part(const F& fold, const CutLine<Source, kPacks>& line) {
  typename F::State state = fold.identity();
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
    if (line.has_all(u)) {
      auto of_pack = fold.map(line.number(u, 0), 0);
#pragma unroll
      for (int i = 1; i < Source::kSize; ++i) of_pack = with_element(fold, of_pack, line.number(u, i), 0);
      state = fold.combine(state, of_pack);
    } else if (line.has_some(u)) {
#pragma unroll
      for (int i = 0; i < Source::kSize; ++i)
        if (line.has(u, i)) state = with_element(fold, state, line.number(u, i), 0);
    }
  }
  return state;
}

/// The number of the first of a lane's elements that is this one.
template <class F, class Source, int kPacks>
__device__ int place_of(typename F::Value x, const CutLine<Source, kPacks>& line) {
  int place = std::numeric_limits<int>::max();
#pragma unroll
  for (int u = kPacks - 1; u >= 0; --u) {
    if (!line.has_some(u)) continue;
#pragma unroll
    for (int i = Source::kSize - 1; i >= 0; --i)
      if (F::same(line.number(u, i), x) && line.has(u, i)) place = line.position(u) + i;
  }
  return place;
}

/// The state of a line, over its lanes.
template <class Source, class F, int kPacks>
__device__ typename F::State fold_cut_line(const F& fold, const NearScope& scope, const CutLine<Source, kPacks>& line,
                                           Index weight) {
  const int lanes = scope.lanes(), size = line.size();
  if constexpr (folds::PivotFold<F>) {
    const auto first = combine_line<0, 1>(fold.pivot_fold(), fold_part(fold.pivot_fold(), line), lanes);
    const auto pivot = fold.pivot(first, size);
    const auto around = fold.around(pivot, size);
    return fold.join(first, pivot, combine_line<1, 1>(around, fold_part(around, line), lanes), size);
  } else if constexpr (ArgFold<F>) {
    const typename F::Values values;
    const auto mine = fold_part(values, line), best = combine_line<0, 1>(values, mine, lanes);
    const int place = F::same(mine, best) ? place_of<F>(best, line) : std::numeric_limits<int>::max();
    return {best, combine_line<1, 1>(folds::Min<int>(), place, lanes) * weight};
  } else {
    return scope.combine_near(fold, fold_part(fold, line));
  }
}

/// Numbers are multiplied with the scale first: what does not belong is -inf then, whose power is 0.
template <MapKind kMap, class Source, class F, int kPacks, class Out>
__device__ void softmax_of_cut_line(const F& fold, const CutLine<Source, kPacks>& line, int lanes, Out* out,
                                    typename Source::Value alpha) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  Pack<A, kSize> numbers[kPacks];
  A max = -folds::kInfinity<A>, sum = 0;
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) numbers[u].at[i] = line.number(u, i) * fold.scale;
    if (!line.has_all(u))
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        if (!line.has(u, i)) numbers[u].at[i] = -folds::kInfinity<A>;
    A of_pack = numbers[u].at[0];
#pragma unroll
    for (int i = 1; i < kSize; ++i) of_pack = folds::any_maximum(of_pack, numbers[u].at[i]);
    max = folds::any_maximum(max, of_pack);
  }
  max = combine_line<0, 1>(fold.pivot_fold(), max, lanes);
  const auto exponent = Exponent<A>::of(max, A(1));
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
    A of_pack = 0;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const A power = exponent.power(numbers[u].at[i]);
      of_pack = i == 0 ? power : of_pack + power;
      if constexpr (kMap == MapKind::softmax) numbers[u].at[i] = power;
    }
    sum += of_pack;
  }
  sum = combine_line<1, 1>(folds::Sum<A>(), sum, lanes);
  if (!line.live()) return;
  using Map = std::conditional_t<kMap == MapKind::softmax, PowerMap<A>, LogSoftmaxMap<A>>;
  const Map map({max, sum}, A(1), alpha);
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
    Out results[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(numbers[u].at[i]));
    Out* const to = out + line.start() + line.position(u);
    if (line.has_all(u))
      store_whole(results, to);
    else if (line.has_some(u))
      store_elements(results, to, 1, -line.position(u), line.size() - line.position(u));
  }
}

/// Of fewer than 2^30 lines; results begin in a pack where their elements do.
template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) cut_lines(const __grid_constant__ Arguments step) {
  const NearScope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const int tiles = static_cast<int>(step.tiles), apart = static_cast<int>(scope.tiles_at_once());
  const int stride = static_cast<int>(gridDim.y) * apart, ahead = static_cast<int>(scope.tile_of(0));
  int first = static_cast<int>(blockIdx.y) * apart;
  ResultsOfLane<F> results(step, first + ahead, apart);
  for (; first < tiles; first += stride) {
    const CutLine<Source, Tuning::kUnroll> line(step, first + ahead, scope.lane(), scope.lanes());
    if constexpr (Sink::kMaps) {
      auto* const out = reinterpret_cast<typename Sink::Out*>(step.out);
      const auto alpha = static_cast<typename Source::Value>(step.alpha);
      softmax_of_cut_line<Sink::kMap>(fold, line, scope.lanes(), out, alpha);
    } else {
      const auto state = fold_cut_line<Source>(fold, scope, line, step.lane_axis.out);
      results.write(fold, state, line.live() && scope.lane() == 0);
      results.skip(stride - apart);
    }
  }
}

}  // namespace ndfold::cuda
