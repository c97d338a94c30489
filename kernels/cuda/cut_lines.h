// Body rows where lines of neighbours begin anywhere in a pack: lanes have one batch of the whole packs of a line, and
// the first lane and the last the packs at its ends, of which they leave out neighbours. The first and the last line
// may not look there, nor any in place of its input. Packs are those of results, where elements begin elsewhere in
// theirs: their words are loaded one by one then, and come from one cache line. Lines of whole packs: whole_lines.h.
#pragma once
#include "kernels/cuda/whole_lines.h"

namespace ndfold::cuda {

/// A pack that begins anywhere, and perhaps an element of each neighbour.
template <class Source>
__device__ WordsOfPack<Source> load_anywhere(const typename Source::Element* from) {
  using Element = typename Source::Element;
  if constexpr (sizeof(Element) >= sizeof(std::uint32_t)) {
    return std::bit_cast<WordsOfPack<Source>>(load_elements<Element, Source::kSize>(from, 1));
  } else {
    static_assert(sizeof(Element) == 2);
    constexpr int kWords = Source::kSize / 2;
    const int cut = phase_of<2>(from);
    const auto* const words = reinterpret_cast<const std::uint32_t*>(from - cut);
    std::uint32_t at[kWords + 1];
#pragma unroll
    for (int i = 0; i < kWords; ++i) at[i] = words[i];
    at[kWords] = words[kWords - 1 + cut];
    WordsOfPack<Source> pack;
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      pack.at[i] = static_cast<std::uint32_t>((std::uint64_t{at[i + 1]} << 32 | at[i]) >> (16 * cut));
    return pack;
  }
}

/// A lane's part of a line that has two packs at least: kPacks whole ones at most, and perhaps the elements before or
/// after all of them.
template <class Source, int kPacks, class Out>
class CutLine {
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  PackBatch<Source, kPacks> batch;

  /// A line from the end of all on is the first once more.
  __device__ CutLine(const Arguments& step, int line, int lane, int lanes)
      : size_(static_cast<int>(step.lane_axis.size)), live_(line < static_cast<int>(step.tiles)) {
    const Offsets base = offsets(step, step.tile, live_ ? line : 0);
    start_ = base.out;
    const Element* const from = reinterpret_cast<const Element*>(step.in) + base.in;
    const bool alike = std::is_void_v<Out> || step.begins_alike;
    int phase = phase_of<kSize>(from);
    if constexpr (!std::is_void_v<Out>)
      if (!alike) phase = phase_of<kSize>(reinterpret_cast<const Out*>(step.out) + base.out);
    begin_ = phase == 0 ? 0 : kSize - phase;
    lane_ = lane;
    lanes_ = lanes;
    const int packs = static_cast<int>(static_cast<unsigned>(size_ - begin_) / unsigned{kSize});
    const int after = begin_ + packs * kSize;
    const bool is_first = lane == 0, is_last = lane == lanes - 1;
    edge_ = is_first && phase != 0 ? -phase : is_last ? after : size_;
    WordsOfPack<Source> words[kPacks] = {};
    batch.count = 0;
    batch.weight = batch.pitch = 0;
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      batch.starts[u] = 0;
      batch.count += lane + u * lanes < packs;
    }
    words_ = {};
    const bool in_place = step.in == step.out;  // then nobody looks at what another lane writes
    // For a pack that the lane does not have, or may not look at, its own first one. So no load is a branch.
    const auto pack_of = [&](int u) { return lane + u * lanes < packs ? lane + u * lanes : lane < packs ? lane : 0; };
    const bool is_outer = !live_ || in_place || base.in < step.inside_from || base.in > step.inside_to;
    if (alike ? live_ || !in_place : !is_outer) {
      const int at = is_outer || edge_ >= size_ ? begin_ + pack_of(0) * kSize : edge_;
      if (alike) {
        const auto* const whole = reinterpret_cast<const WordsOfPack<Source>*>(from + begin_);
#pragma unroll
        for (int u = 0; u < kPacks; ++u) words[u] = whole[pack_of(u)];
        words_ = *reinterpret_cast<const WordsOfPack<Source>*>(from + at);
      } else if constexpr (!std::is_void_v<Out>) {
#pragma unroll
        for (int u = 0; u < kPacks; ++u) words[u] = load_anywhere<Source>(from + begin_ + pack_of(u) * kSize);
        words_ = load_anywhere<Source>(from + at);
      }
    } else if (live_ && !alike) {
#pragma unroll
      for (int u = 0; u < kPacks; ++u) words[u] = load_some<Source>(from + begin_ + pack_of(u) * kSize, 0, kSize);
    }
    if (is_outer && edge_ < size_ && live_) words_ = load_some<Source>(from + edge_, -edge_, size_ - edge_);
#pragma unroll
    for (int u = 0; u < kPacks; ++u) batch.packs[u] = std::bit_cast<PackOf<Source>>(words[u]);
  }

  __device__ bool live() const { return live_; }
  /// Where its results begin.
  __device__ Index start() const { return start_; }
  __device__ int size() const { return size_; }
  /// The number of the first element of a pack within the line.
  __device__ int position(int u) const { return begin_ + (lane_ + u * lanes_) * kSize; }

  /// The pack at an end of the line: the number of its first element, and whether an element of it belongs here.
  __device__ bool has_edge() const { return edge_ < size_; }
  __device__ int edge() const { return edge_; }
  __device__ bool is_at_edge(int i) const { return static_cast<unsigned>(edge_ + i) < static_cast<unsigned>(size_); }
  __device__ auto number_at_edge(int i) const { return number_of<Source>(std::bit_cast<PackOf<Source>>(words_), i); }
  __device__ int before_edge() const { return -edge_; }
  __device__ int after_edge() const { return size_ - edge_; }

 private:
  int size_, begin_ = 0, edge_ = 0, lane_ = 0, lanes_ = 1;
  bool live_;
  Index start_ = 0;
  WordsOfPack<Source> words_;
};

/// The state of a lane's part of a line.
template <class F, class Source, int kPacks, class Out>
__device__ typename F::State fold_part(const F& fold, const CutLine<Source, kPacks, Out>& line) {
  typename F::State state = fold_plainly<false>(fold, line.batch);
  if (!line.has_edge()) return state;
#pragma unroll
  for (int i = 0; i < Source::kSize; ++i)
    if (line.is_at_edge(i)) state = with_element(fold, state, line.number_at_edge(i), 0);
  return state;
}

/// The number of the first of a lane's elements that is this one.
template <class F, class Source, int kPacks, class Out>
__device__ int place_of(typename F::Value x, const CutLine<Source, kPacks, Out>& line) {
  constexpr int kSize = Source::kSize;
  int place = std::numeric_limits<int>::max();
#pragma unroll
  for (int u = kPacks - 1; u >= 0; --u)
    if (u < line.batch.count)
#pragma unroll
      for (int i = kSize - 1; i >= 0; --i)
        if (F::same(line.batch.number(u * kSize + i), x)) place = line.position(u) + i;
  if (line.has_edge())
#pragma unroll
    for (int i = kSize - 1; i >= 0; --i)
      if (line.is_at_edge(i) && line.edge() + i < place && F::same(line.number_at_edge(i), x)) place = line.edge() + i;
  return place;
}

/// The state of a line, over its lanes.
template <class Source, class F, int kPacks, class Out>
__device__ typename F::State fold_cut_line(const F& fold, const NearScope& scope,
                                           const CutLine<Source, kPacks, Out>& line, Index weight) {
  const int lanes = scope.lanes(), size = line.size();
  if constexpr (folds::PivotFold<F>) {
    const auto first = combine_line<0>(fold.pivot_fold(), fold_part(fold.pivot_fold(), line), lanes);
    const auto pivot = fold.pivot(first, size);
    const auto around = fold.around(pivot, size);
    return fold.join(first, pivot, combine_line<1>(around, fold_part(around, line), lanes), size);
  } else if constexpr (ArgFold<F>) {
    const typename F::Values values;
    const auto mine = fold_part(values, line), best = combine_line<0>(values, mine, lanes);
    const int place = F::same(mine, best) ? place_of<F>(best, line) : std::numeric_limits<int>::max();
    return {best, combine_line<1>(folds::Min<int>(), place, lanes) * weight};
  } else {
    return scope.combine_near(fold, fold_part(fold, line));
  }
}

/// Numbers are multiplied with the scale first: what does not belong is -inf then, whose power is 0.
template <MapKind kMap, class Tuning, class Source, class F, int kPacks, class Out>
__device__ void softmax_of_cut_line(const F& fold, const CutLine<Source, kPacks, Out>& line, int lanes,
                                    const Sharers<Tuning>& sharers, Out* out, typename Source::Value alpha) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  Pack<A, kSize> numbers[kPacks], edge;
  A max = -folds::kInfinity<A>, sum = 0;
#pragma unroll
  for (int u = 0; u < kPacks; ++u)
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      numbers[u].at[i] = line.batch.number(u * kSize + i) * fold.scale;
      max = folds::any_maximum(max, numbers[u].at[i]);
    }
  if (line.has_edge())
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      edge.at[i] = line.is_at_edge(i) ? line.number_at_edge(i) * fold.scale : -folds::kInfinity<A>;
      max = folds::any_maximum(max, edge.at[i]);
    }
  max = combine_line<0>(fold.pivot_fold(), max, lanes);
  const auto exponent = Exponent<A>::of(max, A(1));
  const auto sum_of_pack = [&](Pack<A, kSize>& pack) {
    A of_pack = 0;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const A power = exponent.power(pack.at[i]);
      of_pack = i == 0 ? power : of_pack + power;
      if constexpr (kMap == MapKind::softmax) pack.at[i] = power;
    }
    return of_pack;
  };
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
    const A of_pack = sum_of_pack(numbers[u]);
    sum += u < line.batch.count ? of_pack : A(0);
  }
  if (line.has_edge()) sum += sum_of_pack(edge);
  sum = combine_line<1>(folds::Sum<A>(), sum, lanes);
  const A share = sharers.meet(fold, max, sum);
  if (!line.live()) return;
  using Map = std::conditional_t<kMap == MapKind::softmax, PowerMap<A>, LogSoftmaxMap<A>>;
  Map map({max, sum}, A(1), alpha);
  if constexpr (kMap == MapKind::softmax && Sharers<Tuning>::kMayBeMany) map.factor *= share;
  Out* const to = out + line.start();
  Out results[kSize];
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(numbers[u].at[i]));
    if (u < line.batch.count) store_whole(results, to + line.position(u));
  }
  if (!line.has_edge()) return;
#pragma unroll
  for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(edge.at[i]));
  store_cut(results, to + line.edge(), line.before_edge(), line.after_edge());
}

/// The same with packs that stay elements while they wait; what is at an end is made a number when it is asked for.
template <MapKind kMap, class Tuning, class Source, class F, int kPacks, class Out>
__device__ void softmax_of_kept_cut_line(const F& fold, const CutLine<Source, kPacks, Out>& line, int lanes,
                                         const Sharers<Tuning>& sharers, Out* out, typename Source::Value alpha) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  KeptElements<Source, kPacks> kept;
  kept.keep_row(line.batch.packs, line.batch.count, fold.scale);
  const auto at_edge = [&](int i) { return line.number_at_edge(i) * fold.scale; };
  A max = kept.maximum();
  if (line.has_edge())
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      if (line.is_at_edge(i)) max = folds::any_maximum(max, at_edge(i));
  max = combine_line<0>(fold.pivot_fold(), max, lanes);
  A sum = kept.template sum_of_powers<false>(max);
  if (line.has_edge()) {
    const auto exponent = Exponent<A>::of(max, A(1));
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      if (line.is_at_edge(i)) sum += exponent.power(at_edge(i));
  }
  sum = combine_line<1>(folds::Sum<A>(), sum, lanes);
  sharers.meet(fold, max, sum);
  if (!line.live()) return;
  using Map = std::conditional_t<kMap == MapKind::softmax, SoftmaxMap<A>, LogSoftmaxMap<A>>;
  const Map map({max, sum}, kept.scale(), alpha);
  Out* const to = out + line.start();
  Out results[kSize];
#pragma unroll
  for (int u = 0; u < kPacks; ++u) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(kept.number(u, i)));
    if (u < line.batch.count) store_whole(results, to + line.position(u));
  }
  if (!line.has_edge()) return;
  const Map of_scaled({max, sum}, A(1), alpha);
#pragma unroll
  for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(of_scaled(at_edge(i)));
  store_cut(results, to + line.edge(), line.before_edge(), line.after_edge());
}

/// Of fewer than 2^30 lines of two lanes at least; results begin in a pack where their elements do.
template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) cut_lines(const __grid_constant__ Arguments step) {
  const NearScope scope(step);
  const Sharers<Tuning> sharers(scope);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const int tiles = static_cast<int>(step.tiles), apart = static_cast<int>(scope.tiles_at_once());
  const int stride = static_cast<int>(gridDim.y) * apart, ahead = static_cast<int>(scope.tile_of(0));
  int first = static_cast<int>(blockIdx.y) * apart;
  ResultsOfLane<F> results(step, first + ahead, apart);
  await_launch_before(stride);  // within the loop loads waited for each other: sums of 65 took 187 us for 104
  for (; first < tiles; first += stride) {
    const CutLine<Source, Tuning::kUnroll, typename Sink::Out> line(step, first + ahead, sharers.lane(scope),
                                                                    sharers.lanes(scope));
    if constexpr (Sink::kMaps) {
      auto* const out = reinterpret_cast<typename Sink::Out*>(step.out);
      const auto alpha = static_cast<typename Source::Value>(step.alpha);
      sharers.await_each_other();
      if constexpr (kKeepsElements<Source, Tuning::kUnroll>)
        softmax_of_kept_cut_line<Sink::kMap>(fold, line, sharers.lanes(scope), sharers, out, alpha);
      else
        softmax_of_cut_line<Sink::kMap>(fold, line, sharers.lanes(scope), sharers, out, alpha);
    } else {
      const auto state = fold_cut_line<Source>(fold, scope, line, step.lane_axis.out);
      results.write(fold, state, line.live() && scope.lane() == 0);
      results.skip(stride - apart);
    }
  }
}

}  // namespace ndfold::cuda
