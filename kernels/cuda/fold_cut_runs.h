// Body rows where a reduction's runs begin and end anywhere in a pack: packs that cover a run are loaded whole, and of
// each the elements that belong are folded. Runs of whole packs: whole_runs.h. A softmax's: cut_runs.h.
#pragma once
#include "kernels/cuda/whole_runs.h"

namespace ndfold::cuda {

/// Packs of which some elements belong: the numbers of their first ones within their runs, and the runs' length.
template <class PacksSource, int kUnroll>
struct CutBatch {
  using Source = PacksSource;
  static constexpr int kSize = Source::kSize, kCount = kUnroll * kSize, kGroup = kSize;
  WordsOfPack<Source> words[kUnroll];
  int lows[kUnroll];
  int size, count;
  unsigned before = 0, after = 0;  ///< bits of packs that are cut by the first element of the tensor, or by its last

  __device__ auto number(int i) const {
    return number_of<Source>(std::bit_cast<PackOf<Source>>(words[i / kSize]), i % kSize);
  }
  __device__ Index index(int) const { return 0; }  // indices are looked for last
  __device__ bool has(int i) const { return i / kSize < count; }
  __device__ bool belongs(int i) const {
    return static_cast<unsigned>(lows[i / kSize] + i % kSize) < static_cast<unsigned>(size);
  }
  /// Whether no element belongs. A pack that begins before its run ends within it, or later.
  __device__ bool is_empty() const {
    bool empty = true;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) empty = empty && (u >= count || lows[u] >= size);
    return empty;
  }
  /// How many of all elements belong.
  __device__ int elements() const {
    int sum = 0;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int first = lows[u] < 0 ? 0 : lows[u], last = lows[u] + kSize < size ? lows[u] + kSize : size;
      sum += u < count && first < last ? last - first : 0;
    }
    return sum;
  }
};

/// A tile whose runs begin anywhere. Neighbours are looked at, for nobody writes them, but nothing outside the tensor.
template <class SourceOfPacks>
class CutTile {
  using Element = typename SourceOfPacks::Element;

 public:
  using Source = SourceOfPacks;
  static constexpr int kSize = Source::kSize, kUnit = 1;
  template <int kUnroll>
  using Batch = CutBatch<Source, kUnroll>;

  __device__ CutTile(const Arguments& step, const Offsets& base)
      : from_(reinterpret_cast<const Element*>(step.in) + base.in),
        phase_(phase_of<kSize>(from_)),
        size_(static_cast<int>(step.lane_axis.size)) {
    constexpr Index kFarthest = std::numeric_limits<int>::max() / 2;
    const Index first = max_of(step.reach_from - base.in, -kFarthest) + kSize - 1;
    const Index last = min_of(step.reach_to - base.in, kFarthest) - (kSize - 1);
    first_ = static_cast<int>(first - phase_of<kSize>(from_ + first));
    last_ = static_cast<int>(last - phase_of<kSize>(from_ + last));
  }

  template <int kUnroll>
  __device__ Batch<kUnroll> batch(int there) const {
    Batch<kUnroll> batch;
    batch.size = size_;
    batch.count = there;
    return batch;
  }

  /// Elements from the tile's first one on, and from the run's.
  struct PlaceOfPack {
    int at, low;
  };
  __device__ PlaceOfPack place(int begin, int pack) const {
    const int low = pack * kSize - ((phase_ + begin) & (kSize - 1));
    return {begin + low, low};
  }
  template <int kUnroll>
  __device__ void load(Batch<kUnroll>& batch, int u, const PlaceOfPack& place) const {
    const bool before = place.at < first_;
    const bool after = place.at > last_;
    const int inside = before ? first_ : after ? last_ : place.at;
    batch.words[u] = *reinterpret_cast<const WordsOfPack<Source>*>(from_ + inside);
    batch.lows[u] = place.low;
    batch.before |= (before ? 1u : 0u) << u;
    batch.after |= (after ? 1u : 0u) << u;
  }
  /// Loads what belongs of the packs that the tensor cuts: those next to its whole ones. Of others nothing does.
  template <int kUnroll>
  __device__ void complete(Batch<kUnroll>& batch) const {
    if ((batch.before | batch.after) == 0) return;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int cut = (batch.before >> u & 1) != 0 ? first_ - kSize : last_ + kSize;
      if (((batch.before | batch.after) >> u & 1) != 0)
        batch.words[u] = load_some<Source>(from_ + cut, -batch.lows[u], size_ - batch.lows[u]);
    }
  }

  template <class Visit>
  __device__ void visit_backwards(Index begin, int pack, const Visit& visit) const {
    const PlaceOfPack place = this->place(static_cast<int>(begin), pack);
#pragma unroll
    for (int i = kSize - 1; i >= 0; --i)
      if (static_cast<unsigned>(place.low + i) < static_cast<unsigned>(size_))
        visit(Source::value(from_[place.at + i]), place.low + i);
  }

 private:
  const Element* from_;
  int phase_, size_, first_, last_;  ///< packs of the tensor begin at first_ to last_, from the tile's first element on
};

/// Parts are as many packs each, but for the last ones.
template <class Source, class F, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    fold_cut_runs(const __grid_constant__ Arguments step) {
  const Index packs = quotient(step.reduced, step.lane_axis.by) * step.packs_of_run;
  fold_tiles_of_runs<CutTile<Source>, F, Tuning>(step, [&](Index part) {
    const Index begin = min_of(part * step.part, packs);
    return PacksOfPart{static_cast<int>(begin), static_cast<int>(min_of(begin + step.part, packs))};
  });
}

}  // namespace ndfold::cuda
