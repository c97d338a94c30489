// How a lane folds its packs of a row: batches of whole packs, all loaded before the first is folded; the ends of runs,
// which may cut a pack, one by one.
#pragma once
#include "kernels/cuda/batch.h"
#include "kernels/cuda/run_walk.h"
#include "kernels/cuda/scopes.h"
#include "kernels/cuda/tree.h"
#include "kernels/cuda/waiting.h"

namespace ndfold::cuda {

/// kThreads: of a block, at most. kUnroll: independent loads in flight a lane. kBlocks: of a multiprocessor, at least:
/// the registers of a cooperative launch must leave room for the blocks that its plan counts on.
template <int kMostThreads, int kLoads, int kLeastBlocks = 1>
struct Tuned {
  static constexpr int kThreads = kMostThreads, kUnroll = kLoads, kBlocks = kLeastBlocks;
};

/// kUnroll whole packs in registers, as a view for fold_view(); the first `count` of them are there.
template <class Source, int kUnroll>
struct PackBatch {
  using Element = typename Source::Element;
  static constexpr int kSize = Source::kSize, kCount = kUnroll * kSize, kGroup = kSize;
  Pack<Element, kSize> packs[kUnroll];
  Index starts[kUnroll];  ///< numbers of their first elements within the reduced axes
  Index weight;
  Index pitch = 0;  ///< between their numbers, where that is always the same
  int count = kUnroll;

  __device__ auto number(int i) const { return number_of<Source>(packs[i / kSize], i % kSize); }
  __device__ auto pairs(int i) const requires InPairs<Source> {
    return std::bit_cast<WordsOfPack<Source>>(packs[i / kSize]);
  }
  __device__ Index index(int i) const { return starts[i / kSize] + i % kSize * weight; }
  __device__ bool has(int i) const { return i / kSize < count; }
  __device__ bool has_some(int u) const { return u < count; }
  /// The same as index(), of a place that is not known in advance.
  __device__ Index index_in_order(int i) const { return starts[0] + i / kSize * pitch + i % kSize * weight; }
};

/// Elements [low, high) of one pack, as a view for fold_view().
template <class Source>
struct CutPack {
  static constexpr int kCount = Source::kSize, kGroup = 1;
  Pack<typename Source::Element, Source::kSize> pack;
  Index start, weight;
  int low, high;

  __device__ auto number(int i) const { return number_of<Source>(pack, i); }
  __device__ Index index(int i) const { return start + i * weight; }
  __device__ bool has(int i) const { return i >= low && i < high; }
};

/// The first whole pack of a lane, which takes every `lanes`-th from first() + lane on.
template <class Line>
__device__ Index first_of_lane(const Line& line, int lane, int lanes) {
  const Index pack = line.first() + lane;
  return pack < line.first_whole() ? pack + lanes : pack;
}

/// The ends of a line that cut one of the lane's packs; `next` follows its whole ones. Calls visit(pack).
template <class Line, class Visit>
__device__ void visit_cut_packs(const Line& line, int lane, Index next, const Visit& visit) {
#pragma unroll 1
  for (int end = 0; end < 2; ++end)
    if (line.cuts(end) && (end == 0 ? lane == 0 : next == line.cut_pack(1))) visit(line.cut_pack(end));
}

template <class Source>
__device__ Pack<typename Source::Element, Source::kSize> load_cut_pack(const AxisNumbers& axis,
                                                                       const Place<typename Source::Element>& place) {
  return load_pack<typename Source::Element, Source::kSize>(place.in, axis.in, place.low, place.high);
}

template <class Source, class F, class Waiting>
__device__ void fold_cut_pack(const F& fold, const AxisNumbers& axis, const Place<typename Source::Element>& place,
                              Index number, Waiting& waiting, Tree<F, 1>& tree) {
  if (place.low >= place.high) return;
  const auto pack = waiting.get(number, [&] { return load_cut_pack<Source>(axis, place); });
  push_view<false, false>(fold, CutPack<Source>{pack, place.out, axis.out, place.low, place.high}, false, tree);
}

/// Loads and folds the packs of one batch, `lanes` apart; `count` of them are there, or all.
template <bool kAll, int kUnroll, class Source, class F, class Waiting>
__device__ void fold_packs(const F& fold, const LineWalk<Source>& line, Index pack, int lanes, int count, Index number,
                           Waiting& waiting, Tree<F, 1>& tree) {
  PackBatch<Source, kUnroll> batch;
  batch.weight = line.weight();
  batch.pitch = static_cast<Index>(lanes) * Source::kSize * batch.weight;
  batch.count = count;
  const auto* at = line.element(pack);
  const Index pitch = line.pitch(lanes);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const bool here = kAll || u < count;  // else the first once more: a load that is no branch
    batch.packs[u] = waiting.get(here ? number + static_cast<Index>(u) * lanes : number,
                                 [&] { return line.load(here ? at : line.element(pack)); });
    at += pitch;
    batch.starts[u] = line.out(pack + static_cast<Index>(u) * lanes);
  }
  push_view<kAll, kIsInLine<Source>>(fold, batch, batch.weight > 0, tree);
}

/// Those of a lane from `pack` on. Lanes of a warp are in a whole batch together or not at all: else the loads of some
/// would wait for those of others.
template <int kUnroll, class Source, class F, class Waiting>
__device__ Index fold_whole_packs(const F& fold, const LineWalk<Source>& line, Index pack, int lane, int lanes,
                                  Index before, Waiting& waiting, Tree<F, 1>& tree) {
  const Index last = line.last_whole(), stride = static_cast<Index>(kUnroll) * lanes;
  for (; pack - lane + stride <= last; pack += stride)
    fold_packs<true, kUnroll>(fold, line, pack, lanes, kUnroll, before + pack, waiting, tree);
  if (pack >= last) return pack;
  int count = 1;
#pragma unroll
  for (int u = 1; u < kUnroll; ++u) count += pack + static_cast<Index>(u) * lanes < last;
  fold_packs<false, kUnroll>(fold, line, pack, lanes, count, before + pack, waiting, tree);
  return pack + static_cast<Index>(count) * lanes;
}

/// `before`: the number of the line's pack 0 among those of the walk. Where nothing waits, the first and the last lane
/// ask for the cut packs before all others: asked for after them, they would be waited for alone.
template <int kUnroll, class Source, class F, class Waiting>
__device__ void fold_line(const F& fold, const AxisNumbers& axis, const LineWalk<Source>& line, int lane, int lanes,
                          Index before, Waiting& waiting, Tree<F, 1>& tree) {
  if constexpr (Source::kSize == 1) {
    fold_whole_packs<kUnroll>(fold, line, line.first() + lane, lane, lanes, before, waiting, tree);
  } else if constexpr (Waiting::kWaits) {
    const Index first = first_of_lane(line, lane, lanes);
    const Index next = fold_whole_packs<kUnroll>(fold, line, first, lane, lanes, before, waiting, tree);
    visit_cut_packs(line, lane, next, [&](Index cut) {
      fold_cut_pack<Source>(fold, axis, line.place(cut), before + cut, waiting, tree);
    });
  } else {
    const int end = lane == 0 ? 0 : 1;
    const bool cuts = (lane == 0 || lane == lanes - 1) && line.cuts(end);
    Pack<typename Source::Element, Source::kSize> asked = {};
    if (cuts) asked = load_cut_pack<Source>(axis, line.place(line.cut_pack(end)));
    fold_whole_packs<kUnroll>(fold, line, line.first_whole() + lane, lane, lanes, before, waiting, tree);
    const auto push = [&](const auto& pack, Index number) {
      const auto place = line.place(number);
      push_view<false, false>(fold, CutPack<Source>{pack, place.out, axis.out, place.low, place.high}, false, tree);
    };
    if (cuts) push(asked, line.cut_pack(end));
    if (lanes == 1 && line.cuts(1)) push(load_cut_pack<Source>(axis, line.place(line.cut_pack(1))), line.cut_pack(1));
  }
}

/// One batch of whole packs of runs, `by` apart; `count` of them are there, or all.
template <bool kAll, int kUnroll, class Source, class F, class Waiting>
__device__ void fold_packs_of_runs(const F& fold, const AxisNumbers& axis, const RunWalk<Source>& walk, RunCursor& at,
                                   const RunCursor& by, int lanes, int count, Index number, Waiting& waiting,
                                   Tree<F, 1>& tree) {
  PackBatch<Source, kUnroll> batch;
  batch.weight = axis.out;
  batch.count = count;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    batch.packs[u] = {};
    batch.starts[u] = 0;
    if (!kAll && u >= count) continue;
    batch.packs[u] =
        waiting.get(number + static_cast<Index>(u) * lanes, [&] { return LineWalk<Source>::load(walk.element(at)); });
    batch.starts[u] = at.place.out;
    walk.advance(at, by);
  }
  push_view<kAll, false>(fold, batch, false, tree);
}

template <int kUnroll, class Source, class F, class Waiting>
__device__ void fold_whole_runs(const F& fold, const AxisNumbers& axis, const RunWalk<Source>& walk, int lane,
                                int lanes, Waiting& waiting, Tree<F, 1>& tree) {
  int pack = static_cast<int>(walk.first()) + lane;
  const int last = static_cast<int>(walk.last()), first = static_cast<int>(walk.first()), stride = kUnroll * lanes;
  RunCursor at = walk.cursor(pack);
  const RunCursor by = walk.cursor(lanes);
  for (; pack - lane + stride <= last; pack += stride)  // as in fold_whole_packs()
    fold_packs_of_runs<true, kUnroll>(fold, axis, walk, at, by, lanes, kUnroll, pack - first, waiting, tree);
  if (pack >= last) return;
  int count = 1;
#pragma unroll
  for (int u = 1; u < kUnroll; ++u) count += pack + u * lanes < last;
  fold_packs_of_runs<false, kUnroll>(fold, axis, walk, at, by, lanes, count, pack - first, waiting, tree);
}

template <int kUnroll, class Source, class F, class Waiting>
__device__ typename F::State fold_walk(const F& fold, const LineWalk<Source>& line, const AxisNumbers& axis, int lane,
                                       int lanes, Waiting& waiting) {
  TreeLevels<F, 1> levels;
  Tree<F, 1> tree(fold, levels);
  fold_line<kUnroll>(fold, axis, line, lane, lanes, -line.first(), waiting, tree);
  return tree.result();
}

template <int kUnroll, class Source, class F, class Waiting>
__device__ typename F::State fold_walk(const F& fold, const RunWalk<Source>& walk, const AxisNumbers& axis, int lane,
                                       int lanes, Waiting& waiting) {
  TreeLevels<F, 1> levels;
  Tree<F, 1> tree(fold, levels);
  if (walk.is_whole()) {
    fold_whole_runs<kUnroll>(fold, axis, walk, lane, lanes, waiting, tree);
  } else if (walk.is_long(lanes)) {
    for (Index run = walk.first_run(); run < walk.last_run(); ++run) {
      const LineWalk<Source> line = walk.line(run);
      fold_line<kUnroll>(fold, axis, line, lane, lanes, walk.number(run, line), waiting, tree);
    }
  } else {
    for (Index pack = walk.first() + lane; pack < walk.last(); pack += lanes)
      fold_cut_pack<Source>(fold, axis, walk.place(pack), pack - walk.first(), waiting, tree);
  }
  return tree.result();
}

}  // namespace ndfold::cuda
