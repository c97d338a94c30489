// Columns of few rows: there is nothing to share, so a lane folds its columns alone, with many loads in flight, and
// nobody meets.
#pragma once
#include "kernels/cuda/column_batch.h"

namespace ndfold::cuda {

/// A lane's packs of a panel, `across` apart: so many where panels are wide, else one. States that take many registers,
/// and batches that are dear to merge, leave room for one pack, but for more of its rows.
template <class F, int kSize>
struct FewRows {
  static constexpr bool kDear = folds::PivotFold<F> || sizeof(typename F::State) > 8;
  static constexpr int kPacks = kDear ? 1 : std::clamp(16 / kSize, 1, 4);
  static constexpr int kLoads = 8;
};

/// Powers are added side by side where elements are compared in pairs: of f32 [8,8388608] along axis 0 that took 86 us
/// for 75.
template <class F, class Source>
inline constexpr bool kFewPowers = SideBySide<F, Source>&& kInPairs<Source>;

/// What merges a lane's batches, of which there are few.
template <class F, class Source>
using FewBatches = std::conditional_t<
    kFewPowers<F, Source>, NearPowers<F, Source, false>,
    std::conditional_t<MomentsSideBySide<F, Source>, NearMoments<F, Source>, Sequence<F, Source::kSize>>>;

template <class F, class Source>
inline constexpr bool kFewSideBySide = !std::is_same_v<FewBatches<F, Source>, Sequence<F, Source::kSize>>;

/// Whether what is missing of a batch has to be one of its rows.
template <class F, class Source>
inline constexpr bool kRepeatsRows = BestOfPairs<F, Source> || kFewPowers<F, Source>;

/// What a lane has of a tile. Its columns are numbered from the panel's start: those in [skipped, left) are there.
template <class Source>
struct FewColumns {
  using Element = typename Source::Element;
  const Element* in;  ///< of the lane's first column
  Index out;
  Index number;  ///< of the first column's output
  int at;        ///< its number
  int skipped, left;

  __device__ FewColumns(const Arguments& step, Index tile, const ColumnLanes& lanes, int width) {
    const AxisNumbers& axis = step.lane_axis;
    const Index outer = quotient(tile, step.by_panels), start = start_of_panel(step, tile, outer, width);
    const Offsets base = offsets(step, step.tile, outer);
    at = lanes.first_column(Source::kSize);
    in = reinterpret_cast<const Element*>(step.in) + base.in + (start + at) * (kIsApart<Source> ? axis.in : Index{1});
    out = base.out + (start + at) * axis.out;
    number = outer * axis.size + start + at;
    skipped = start < 0 ? step.phase : 0;
    left = axis.size - start < width ? static_cast<int>(axis.size - start) : width;
  }
};

/// Columns [low, high) of a lane, rarely. Not inlined: that keeps it out of the way.
template <class Source, class F>
[[gnu::noinline]] __device__ void fold_cut_pack(const Arguments& step, const F& fold,
                                                const typename Source::Element* from, Index in_step,
                                                const StatePlaces& places) {
  constexpr int kRows = 4, kSize = Source::kSize;
  FewBatches<F, Source> batches;
  batches.begin(fold);
  RowCursor<Source> cursor(step, {0, step.reduced, 0, 1});
  for (Index row = 0; row < step.reduced; row += kRows) {
    const int count = step.reduced - row < kRows ? static_cast<int>(step.reduced - row) : kRows;
    Pack<typename Source::Element, kSize> batch[kRows];
    Index index[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const Offsets start = r < count ? cursor.next() : Offsets();
      batch[r] = {};
      if (r < count)
        batch[r] = load_pack<typename Source::Element, kSize>(from + start.in, in_step, places.low, places.high);
      index[r] = start.out;
    }
    if constexpr (kRepeatsRows<F, Source>) repeat_first(batch, count);
    const bool more = row > 0;
    if constexpr (kFewSideBySide<F, Source>)
      more ? batches.template absorb_more<false>(batch, count) : batches.template absorb<false>(batch, count);
    else
      push_rows<false, Source>(fold, batch, index, cursor.out_pitch(), cursor.rises(), count, batches);
    if constexpr (kFewPowers<F, Source>)
      if (!more) batches.expect_more();
  }
  typename F::State states[kSize];
  batches.result(states);
  sink_states(step, fold, states, places);
}

/// A whole pack, or zeros: as words, see WordsOfPack. Elements apart would be awaited one by one, to be words.
template <class Source>
__device__ PackOf<Source> load_if(bool is_there, const typename Source::Element* from, Index step) {
  if constexpr (kIsApart<Source>) {
    PackOf<Source> pack = {};
    if (is_there) pack = load_whole<Source>(from, step);
    return pack;
  }
  using Words = WordsOfPack<Source>;
  Words words = {};
  if (is_there) words = std::bit_cast<Words>(load_whole<Source>(from, step));
  return std::bit_cast<PackOf<Source>>(words);
}

/// kPacks packs of a lane. Those that are whole are folded together, all loads of kRows rows before the first is
/// folded.
template <class Source, class F, int kPacks, int kRows>
class FewColumnsFold {
  static constexpr int kSize = Source::kSize;
  using Element = typename Source::Element;
  using Result = ResultOf<F>;

 public:
  __device__ FewColumnsFold(const Arguments& step, const F& fold, const ColumnLanes& lanes, Index tile)
      : step_(step),
        fold_(fold),
        columns_(step, tile, lanes, lanes.across * kSize * kPacks),
        apart_(lanes.column_step()),
        pitch_(lanes.across * kSize),
        together_((kIsApart<Source> || step.whole_runs) && step.repeat == 1 && is_usual<Result>(step.output)) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int first = columns_.at + p * pitch_, last = first + (kSize - 1) * apart_;
      whole_[p] = together_ && first >= columns_.skipped && last < columns_.left;
      has_cut_ |= !whole_[p] && last >= columns_.skipped && first < columns_.left;
      batches_[p].begin(fold);
    }
  }

  __device__ void run() {
    if constexpr (kFewSideBySide<F, Source>) {
      if (step_.reduced >= kRows) {
        fold_rows<true, kRows>(0, kRows);
        expect_more();
        fold_from<true>(kRows);
      } else {
        fold_some<false>(0);
      }
    } else {
      fold_from<false>(0);
    }
    sink();
    if (!has_cut_) return;
#pragma unroll 1
    for (int p = 0; p < kPacks; ++p) fold_cut(p);
  }

 private:
  __device__ Index in_step() const { return kIsApart<Source> ? apart_ * step_.lane_axis.in : 1; }
  __device__ Index in_pitch() const { return kIsApart<Source> ? pitch_ * step_.lane_axis.in : pitch_; }

  __device__ void expect_more() {
    if constexpr (kFewPowers<F, Source>)
      if (step_.reduced > kRows)
#pragma unroll
        for (int p = 0; p < kPacks; ++p) batches_[p].expect_more();
  }
  // All rows from `row` on. kMore: there was a batch before.
  template <bool kMore>
  __device__ void fold_from(Index row) {
    for (; row + kRows <= step_.reduced; row += kRows) fold_rows<true, kRows, kMore>(row, kRows);
    if (row < step_.reduced) fold_some<kMore>(row);
  }
  template <bool kMore>
  __device__ void fold_some(Index row) {
    fold_rows<kRows == 2, kRows - 1, kMore>(row, static_cast<int>(step_.reduced - row));
  }

  // Rows from `row` on, `count` of them or all kSome.
  template <bool kAll, int kSome, bool kMore = false>
  __device__ void fold_rows(Index row, int count) {
    constexpr bool kRepeats = kRepeatsRows<F, Source>;
    RowCursor<Source> cursor(step_, {row, step_.reduced, 0, 1});
    Pack<Element, kSize> batch[kPacks][kSome];
    Index index[kSome];
    Offsets before = {};
#pragma unroll
    for (int r = 0; r < kSome; ++r) {
      const bool here = kAll || r < count;
      const Offsets start = here ? cursor.next() : before;
      if constexpr (kRepeats) before = start;
      index[r] = start.out;
      const Element* from = columns_.in + start.in;
#pragma unroll
      for (int p = 0; p < kPacks; ++p, from += in_pitch())
        batch[p][r] = load_if<Source>((kRepeats || here) && whole_[p], from, in_step());
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if constexpr (kMore)
        batches_[p].template absorb_more<kAll>(batch[p], count);
      else
        push_rows<kAll, Source>(fold_, batch[p], index, cursor.out_pitch(), cursor.rises(), count, batches_[p]);
    }
  }

  // One dispatch on the type of results for all of them. Packs are whole vectors apart.
  __device__ void sink() const {
    const Index out_step = apart_ * step_.lane_axis.out, out_pitch = pitch_ * step_.lane_axis.out;
    Result results[kPacks][kSize];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      typename F::State states[kSize];
      batches_[p].result(states);
#pragma unroll
      for (int c = 0; c < kSize; ++c) results[p][c] = result_of(step_, fold_, states[c]);
    }
    visit_usual<Result>(step_.output, [&]<class Out>(Out) {
      Out* to = reinterpret_cast<Out*>(step_.out) + columns_.out;
      const bool vectors = out_step == 1 && is_aligned_for_stores<Out, kSize>(to);
#pragma unroll
      for (int p = 0; p < kPacks; ++p, to += out_pitch) {
        if (!whole_[p]) continue;
        Out elements[kSize];
#pragma unroll
        for (int c = 0; c < kSize; ++c) elements[c] = to_element<Out>(results[p][c]);
        if (vectors)
          store_whole(elements, to);
        else
          store_elements(elements, to, out_step, 0, kSize);
      }
    });
  }

  // What is there of a pack that is not whole.
  __device__ void fold_cut(int p) const {
    const int first = columns_.at + p * pitch_, last = first + (kSize - 1) * apart_;
    if (together_ && first >= columns_.skipped && last < columns_.left) return;
    int low = 0, high = 0;
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      low += first + c * apart_ < columns_.skipped;
      high += first + c * apart_ < columns_.left;
    }
    const int beyond = p * pitch_;
    const StatePlaces places{columns_.out + beyond * step_.lane_axis.out,
                             apart_ * step_.lane_axis.out,
                             columns_.number + beyond,
                             apart_,
                             low,
                             high};
    if (low < high) fold_cut_pack<Source>(step_, fold_, columns_.in + p * in_pitch(), in_step(), places);
  }

  const Arguments& step_;
  const F& fold_;
  FewColumns<Source> columns_;
  int apart_, pitch_;  ///< between the lane's columns, and its packs
  bool together_;      ///< whole packs are folded together
  bool whole_[kPacks], has_cut_ = false;
  FewBatches<F, Source> batches_[kPacks];
};

template <class Source, class F, int kPacks, int kRows>
__device__ void fold_few_rows(const Arguments& step, const F& fold, const ColumnLanes& lanes) {
  const int slots = lanes.rows(), slot = lanes.row();
  const Index stride = static_cast<Index>(gridDim.y) * slots;
  for (Index tile = static_cast<Index>(blockIdx.y) * slots + slot; tile < step.tiles; tile += stride)
    FewColumnsFold<Source, F, kPacks, kRows>(step, fold, lanes, tile).run();
}

template <class Source, class F, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) few_rows(const __grid_constant__ Arguments step) {
  using Few = FewRows<F, Source::kSize>;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const ColumnLanes lanes(step, kIsApart<Source>);
  await_launch_before();
  if constexpr (Few::kPacks > 1)
    if (step.packs_of_lane > 1)
      return fold_few_rows<Source, F, Few::kPacks, Few::kLoads / Few::kPacks>(step, fold, lanes);
  if constexpr (Few::kDear) {  // what is not there is folded, too
    if (step.reduced <= 2) return fold_few_rows<Source, F, 1, 2>(step, fold, lanes);
    if (step.reduced <= 4) return fold_few_rows<Source, F, 1, 4>(step, fold, lanes);
  }
  fold_few_rows<Source, F, 1, Few::kLoads>(step, fold, lanes);
}

}  // namespace ndfold::cuda
