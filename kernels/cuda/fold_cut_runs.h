// Body rows where a reduction's runs begin and end anywhere in a pack: of the packs that cover a run those elements are
// folded that belong. Folds that do much with an element have two lists: packs that lie within a run wherever it
// begins, of which all belong, and those at its ends. Runs of whole packs: whole_runs.h. A softmax's: cut_runs.h.
#pragma once
#include "kernels/cuda/whole_runs.h"

namespace ndfold::cuda {

/// Whether packs within a run are a list of their own. It pays where an element costs more than to ask whether it
/// belongs: var of [64,512,3025], axes 0 and 2, 0.75 -> 0.94; sums of [512,31,128,33], axes 1 and 3, 0.76 -> 0.73.
template <class F>
inline constexpr bool kHasTwoLists = !CheapFold<F>;

/// Packs of which some elements belong: the numbers of their first ones within their runs, and the runs' length.
template <class Source, int kUnroll>
struct CutBatch {
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize, kCount = kUnroll * kSize, kGroup = kSize;
  WordsOfPack<Source> words[kUnroll];
  int lows[kUnroll], places[kUnroll];
  int size, count;
  bool inside = true;  ///< whether all packs are the tensor's

  __device__ auto number(int i) const {
    return number_of<Source>(std::bit_cast<PackOf<Source>>(words[i / kSize]), i % kSize);
  }
  __device__ Index index(int) const { return 0; }  // indices are looked for last
  __device__ bool has(int i) const { return i / kSize < count; }
  __device__ bool belongs(int i) const {
    return static_cast<unsigned>(lows[i / kSize] + i % kSize) < static_cast<unsigned>(size);
  }
  /// Whether elements of a pack belong. One that begins before its run ends within it, or later.
  __device__ bool has_some(int u) const { return u < count && lows[u] < size; }
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

/// Where the runs of a tile lie, in packs from the one on that has the tile's first element.
template <class SourceOfPacks>
class CutTile {
 public:
  using Source = SourceOfPacks;
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize, kUnit = 1;

  __device__ CutTile(const Arguments& step, const Offsets& base) {
    const Element* const from = reinterpret_cast<const Element*>(step.in) + base.in;
    phase_ = phase_of<kSize>(from);
    packs_ = reinterpret_cast<const WordsOfPack<Source>*>(from - phase_);
  }

  /// The pack that the element is in, `begin` elements after the tile's first, and its place there.
  __device__ int pack_of(int begin) const { return floor(begin + phase_); }
  __device__ int place_of(int begin) const { return (begin + phase_) & (kSize - 1); }

 protected:
  // Rounded down: a shift.
  __device__ static int floor(int elements) { return (elements - (elements & (kSize - 1))) / kSize; }

  const WordsOfPack<Source>* packs_;
  int phase_;
};

/// Of each run the packs that lie within it wherever it begins: all but the first one, and one or two at its end.
template <class SourceOfPacks>
class PacksWithin : public CutTile<SourceOfPacks> {
  using Base = CutTile<SourceOfPacks>;

 public:
  using Source = SourceOfPacks;
  static constexpr int kSize = Source::kSize;
  template <int kUnroll>
  using Batch = PackBatch<Source, kUnroll>;
  using Base::Base;

  template <int kUnroll>
  __device__ Batch<kUnroll> batch(int there) const {
    Batch<kUnroll> batch;
    batch.weight = 0;
    batch.count = there;
    return batch;
  }
  __device__ int place(int begin, int pack) const { return this->pack_of(begin) + pack + 1; }
  template <int kUnroll>
  __device__ void load(Batch<kUnroll>& batch, int u, int place) const {
    batch.packs[u] = std::bit_cast<PackOf<Source>>(this->packs_[place]);
    batch.starts[u] = 0;
  }
  template <int kUnroll>
  __device__ void complete(Batch<kUnroll>&) const {}

  template <class Visit>
  __device__ void visit_backwards(Index begin, int pack, const Visit& visit) const {
    const int run = static_cast<int>(begin), first = (pack + 1) * kSize - this->place_of(run);
    const auto elements = std::bit_cast<PackOf<Source>>(this->packs_[place(run, pack)]);
#pragma unroll
    for (int i = kSize - 1; i >= 0; --i) visit(number_of<Source>(elements, i), first + i);
  }
};

/// Of each run the other packs that may have elements of it. Neighbours are looked at, for nobody writes them, but
/// nothing outside the tensor.
template <class SourceOfPacks>
class PacksAtEnds : public CutTile<SourceOfPacks> {
  using Base = CutTile<SourceOfPacks>;

 public:
  using Source = SourceOfPacks;
  static constexpr int kSize = Source::kSize;
  template <int kUnroll>
  using Batch = CutBatch<Source, kUnroll>;

  __device__ PacksAtEnds(const Arguments& step, const Offsets& base)
      : Base(step, base), within_(static_cast<int>(step.within.packs)), size_(static_cast<int>(step.lane_axis.size)) {
    constexpr Index kFarthest = std::numeric_limits<int>::max() / 2;
    first_ = Base::floor(static_cast<int>(max_of(step.reach_from - base.in, -kFarthest)) + this->phase_ + kSize - 1);
    last_ = Base::floor(static_cast<int>(min_of(step.reach_to - base.in, kFarthest)) + this->phase_ + 1) - 1;
  }

  template <int kUnroll>
  __device__ Batch<kUnroll> batch(int there) const {
    Batch<kUnroll> batch;
    batch.size = size_;
    batch.count = there;
    return batch;
  }

  /// Packs from the tile's first one on; elements from the run's first one on.
  struct PlaceOfPack {
    int pack, low;
  };
  __device__ PlaceOfPack place(int begin, int pack) const {
    const int of_run = pack == 0 ? 0 : pack + within_;
    return {this->pack_of(begin) + of_run, of_run * kSize - this->place_of(begin)};
  }
  template <int kUnroll>
  __device__ void load(Batch<kUnroll>& batch, int u, const PlaceOfPack& place) const {
    const int inside = place.pack < first_ ? first_ : place.pack > last_ ? last_ : place.pack;
    batch.words[u] = this->packs_[inside];
    batch.lows[u] = place.low;
    batch.places[u] = place.pack;
    batch.inside = batch.inside && inside == place.pack;
  }
  /// Loads what belongs of packs that the tensor cuts.
  template <int kUnroll>
  __device__ void complete(Batch<kUnroll>& batch) const {
    if (batch.inside) return;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (batch.places[u] < first_ || batch.places[u] > last_)
        batch.words[u] = load_some<Source>(element(batch.places[u]), -batch.lows[u], size_ - batch.lows[u]);
  }

  template <class Visit>
  __device__ void visit_backwards(Index begin, int pack, const Visit& visit) const {
    const PlaceOfPack place = this->place(static_cast<int>(begin), pack);
#pragma unroll
    for (int i = kSize - 1; i >= 0; --i)
      if (static_cast<unsigned>(place.low + i) < static_cast<unsigned>(size_))
        visit(Source::value(element(place.pack)[i]), place.low + i);
  }

 private:
  __device__ const typename Base::Element* element(int pack) const {
    return reinterpret_cast<const typename Base::Element*>(this->packs_ + pack);
  }

  int within_, size_, first_, last_;  ///< the tensor's whole packs are first_ to last_
};

/// The packs of a part: in one list, or in two, each divided among parts by itself.
template <class Source, int kUnroll, bool kTwo>
class ListsOfCutRuns {
  using AtEnds = std::integral_constant<int, 0>;
  using Within = std::integral_constant<int, 1>;
  static constexpr int kAtEnds = kTwo ? kUnroll / 2 : kUnroll;  // fewer of them

 public:
  static constexpr int kLists = kTwo ? 2 : 1;
  using Table = RunTable<1>;

  template <class Scope>
  __device__ ListsOfCutRuns(const Arguments& step, const Scope& scope, Table& table, const Offsets& base, Index part)
      : step_(step),
        table_(table),
        ends_tile_(step, base),
        within_tile_(step, base),
        ends_(step.at_ends.packs, step.at_ends.by, scope.lane(), scope.lanes()),
        within_(step.within.packs, step.within.by, scope.lane(), scope.lanes()) {
    const Index runs = quotient(step.reduced, step.lane_axis.by);
    part_at_ends_ = part_of(step.at_ends, runs, part);
    part_within_ = part_of(step.within, runs, part);
  }

  template <class Visit>
  __device__ void each(const Visit& visit) const {
    visit(AtEnds());
    if constexpr (kTwo) visit(Within());
  }
  /// Some runs after the other: both lists find the same cache lines.
  template <class Visit>
  __device__ void visit(const Visit& visit) {
    if constexpr (!kTwo) {
      visit_ends(part_at_ends_, visit);
    } else {
      PacksOfPart within = {part_within_.begin, part_within_.begin}, ends = {part_at_ends_.begin, part_at_ends_.begin};
      while (within.end < part_within_.end || ends.end < part_at_ends_.end) {
        within = some_of(within, step_.within, part_within_);
        within_.template visit<kUnroll>(
            step_, table_, within_tile_, within.begin, within.end,
            [&](auto all, int pack, const auto& batch) { visit(Within(), all, pack, batch); });
        ends = some_of(ends, step_.at_ends, part_at_ends_);
        visit_ends(ends, visit);
      }
    }
  }
  template <class IsIt>
  __device__ Index find(AtEnds, int pack, const IsIt& is_it) const {
    return ends_.find(step_, ends_tile_, pack, is_it);
  }
  template <class IsIt>
  __device__ Index find(Within, int pack, const IsIt& is_it) const {
    return within_.find(step_, within_tile_, pack, is_it);
  }

 private:
  template <class Visit>
  __device__ void visit_ends(const PacksOfPart& packs, const Visit& visit) {
    ends_.template visit<kAtEnds>(step_, table_, ends_tile_, packs.begin, packs.end,
                                  [&](auto all, int pack, const auto& batch) { visit(AtEnds(), all, pack, batch); });
  }
  __device__ static PacksOfPart part_of(const PacksOfRun& list, Index runs, Index part) {
    const Index all = runs * list.packs, begin = min_of(part * list.part, all);
    return {static_cast<int>(begin), static_cast<int>(min_of(begin + list.part, all))};
  }
  // Those of the next runs.
  __device__ static PacksOfPart some_of(const PacksOfPart& before, const PacksOfRun& list, const PacksOfPart& all) {
    const int left = all.end - before.end, some = list.together;
    return {before.end, before.end + (left < some ? left : some)};
  }

  const Arguments& step_;
  Table& table_;
  PacksAtEnds<Source> ends_tile_;
  PacksWithin<Source> within_tile_;
  PacksOfRuns<PacksAtEnds<Source>> ends_;
  PacksOfRuns<PacksWithin<Source>> within_;
  PacksOfPart part_at_ends_, part_within_;
};

template <class Source, class F, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    fold_cut_runs(const __grid_constant__ Arguments step) {
  fold_tiles_of_runs<ListsOfCutRuns<Source, Tuning::kUnroll, kHasTwoLists<F>>, F>(step);
}

}  // namespace ndfold::cuda
