// Body rows where a softmax's lines are runs that begin and end anywhere in a pack, as their results do: lanes have one
// batch of the packs that cover the runs, and of each the elements that belong. Runs of whole packs: whole_lines.h.
#pragma once
#include "kernels/cuda/cut_lines.h"

namespace ndfold::cuda {

/// A pack of a line: where it would lie if its run began with one, in elements from the line's first, and the number of
/// its first element within the run, from the run's length on if no element of it belongs.
struct PlaceInRuns {
  int in, number;
};

/// The packs of a block's lines, `packs_of_run` for each run: as many as cover one wherever it begins. Found once for
/// all lines alike, in shared memory.
template <int kSize>
class CoveringPacks {
 public:
  __device__ CoveringPacks(const Arguments& step, int lane, int lanes, int room)
      : in_(reinterpret_cast<PlaceInRuns*>(shared_memory() + kExchangeBytes)),
        out_(reinterpret_cast<int*>(in_ + room)),
        lies_alike_(step.results_lie_alike),
        count_(static_cast<int>(quotient(step.reduced, step.lane_axis.by) * step.packs_of_run)),
        lane_(lane),
        lanes_(lanes) {
    const int none = static_cast<int>(step.lane_axis.size) + kSize;
    for (int i = thread_of_block(); i < room; i += threads_of_block()) {
      const int own = i % lanes < count_ ? i % lanes : 0;  // for a pack that is none
      const Index pack = i < count_ ? i : own, run = quotient(pack, step.by_packs);
      const int number = static_cast<int>(pack - run * step.packs_of_run) * kSize;
      const Offsets begin = offsets(step, step.walk, run);
      in_[i] = {static_cast<int>(begin.in) + number, i < count_ ? number : none};
      if (!lies_alike_) out_[i] = static_cast<int>(begin.out) + number;
    }
    const auto block = cg::this_thread_block();
    block.sync();  // where all packs lie is there
  }

  __device__ PlaceInRuns in(int u) const { return in_[lane_ + u * lanes_]; }
  __device__ int out(int u, const PlaceInRuns& place) const {
    return lies_alike_ ? place.in : out_[lane_ + u * lanes_];
  }
  /// Whether any lane has one.
  __device__ bool have_some(int u) const { return u * lanes_ < count_; }

 private:
  PlaceInRuns* in_;
  int* out_;
  bool lies_alike_;
  int count_, lane_, lanes_;
};

/// A lane's packs of a line, and which of their elements belong.
template <class Source, int kPacks>
class CutRuns {
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize;

 public:
  /// A line from the end of all on has no elements.
  __device__ CutRuns(const Arguments& step, const CoveringPacks<kSize>& packs, int line)
      : size_(static_cast<int>(step.lane_axis.size)), live_(line < static_cast<int>(step.tiles)) {
    const Offsets base = offsets(step, step.tile, live_ ? line : 0);
    const Element* const from = reinterpret_cast<const Element*>(step.in) + base.in;
    out_ = base.out;
    // Neighbours may be looked at, for nobody writes them; but not beyond the tensor, nor in place of results.
    const bool is_outer = !live_ || step.in == step.out || base.in < step.inside_from || base.in > step.inside_to;
#pragma unroll
    for (int u = 0; u < kPacks; ++u) words_[u] = {};
    if (!is_outer) {
#pragma unroll
      for (int u = 0; u < kPacks; ++u) words_[u] = *pack_at(from, packs.in(u), low_[u]);
    } else {
#pragma unroll
      for (int u = 0; u < kPacks; ++u) {
        const auto* const pack = pack_at(from, packs.in(u), low_[u]);
        if (!live_) low_[u] = size_;
        if (is_whole(u))
          words_[u] = *pack;
        else if (low_[u] < size_)
          words_[u] = load_some<Source>(reinterpret_cast<const Element*>(pack), -low_[u], size_ - low_[u]);
      }
    }
  }

  __device__ bool live() const { return live_; }
  __device__ bool has(int u, int i) const { return static_cast<unsigned>(low_[u] + i) < static_cast<unsigned>(size_); }
  __device__ bool is_whole(int u) const { return low_[u] >= 0 && low_[u] + kSize <= size_; }
  __device__ auto number(int u, int i) const { return number_of<Source>(std::bit_cast<PackOf<Source>>(words_[u]), i); }

  template <class Out>
  __device__ void store(Out* out, const CoveringPacks<kSize>& packs, int u, const Out (&results)[kSize]) const {
    const PlaceInRuns place = packs.in(u);
    Out* const to = out + out_ + (packs.out(u, place) + low_[u] - place.number);
    if (is_whole(u))
      store_whole(results, to);
    else if (low_[u] < size_)
      store_cut(results, to, -low_[u], size_ - low_[u]);
  }

 private:
  __device__ static const WordsOfPack<Source>* pack_at(const Element* line, const PlaceInRuns& place, int& low) {
    const Element* const first = line + place.in;
    const int phase = phase_of<kSize>(first);
    low = place.number - phase;
    return reinterpret_cast<const WordsOfPack<Source>*>(first - phase);
  }

  int size_;
  bool live_;
  Index out_;
  int low_[kPacks];  ///< the number of a pack's first element within its run
  WordsOfPack<Source> words_[kPacks];
};

/// Numbers are multiplied with the scale first: what does not belong is -inf then, whose power is 0.
template <MapKind kMap, class Source, class F, int kPacks, class Out>
__device__ void softmax_of_cut_runs(const F& fold, const CutRuns<Source, kPacks>& line,
                                    const CoveringPacks<Source::kSize>& packs, int lanes, Out* out,
                                    typename Source::Value alpha) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  Pack<A, kSize> numbers[kPacks];
  A max = -folds::kInfinity<A>, sum = 0;
#pragma unroll
  for (int u = 0; u < kPacks; ++u)
    if (packs.have_some(u))
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        numbers[u].at[i] = line.has(u, i) ? line.number(u, i) * fold.scale : -folds::kInfinity<A>;
        max = folds::any_maximum(max, numbers[u].at[i]);
      }
  max = combine_line<0>(fold.pivot_fold(), max, lanes);
  const auto exponent = Exponent<A>::of(max, A(1));
#pragma unroll
  for (int u = 0; u < kPacks; ++u)
    if (packs.have_some(u)) {
      A of_pack = 0;
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const A power = exponent.power(numbers[u].at[i]);
        of_pack = i == 0 ? power : of_pack + power;
        if constexpr (kMap == MapKind::softmax) numbers[u].at[i] = power;
      }
      sum += of_pack;
    }
  sum = combine_line<1>(folds::Sum<A>(), sum, lanes);
  if (!line.live()) return;
  using Map = std::conditional_t<kMap == MapKind::softmax, PowerMap<A>, LogSoftmaxMap<A>>;
  const Map map({max, sum}, A(1), alpha);
#pragma unroll
  for (int u = 0; u < kPacks; ++u)
    if (packs.have_some(u)) {
      Out results[kSize];
#pragma unroll
      for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(numbers[u].at[i]));
      line.store(out, packs, u, results);
    }
}

/// Of fewer than 2^30 lines, by lanes of a warp or a block; results begin in a pack where their elements do.
template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) cut_runs(const __grid_constant__ Arguments step) {
  const NearScope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const auto alpha = static_cast<typename Source::Value>(step.alpha);
  const CoveringPacks<Source::kSize> packs(step, scope.lane(), scope.lanes(), scope.lanes() * Tuning::kUnroll);
  const int tiles = static_cast<int>(step.tiles), apart = static_cast<int>(scope.tiles_at_once());
  const int stride = static_cast<int>(gridDim.y) * apart, ahead = static_cast<int>(scope.tile_of(0));
  await_launch_before();
  for (int first = static_cast<int>(blockIdx.y) * apart; first < tiles; first += stride) {
    const CutRuns<Source, Tuning::kUnroll> line(step, packs, first + ahead);
    auto* const out = reinterpret_cast<typename Sink::Out*>(step.out);
    softmax_of_cut_runs<Sink::kMap>(fold, line, packs, scope.lanes(), out, alpha);
  }
}

}  // namespace ndfold::cuda
