// A softmax of panels that wait in shared memory: a lane asks for all rows of its slot, finds its columns' maxima as
// they come, and once all slots know them, the sums of powers. See row_waiting.h.
#pragma once
#include "kernels/cuda/column_batch.h"
#include "kernels/cuda/softmax_fold.h"

namespace ndfold::cuda {

/// What waits in one place: a lane's pack of a row, or an element where its columns lie apart.
template <class Source>
using InPlace = Pack<typename Source::Element, kIsApart<Source> ? 1 : Source::kSize>;

/// Places that a row of a panel takes: as many in every panel, so that a place always belongs to the same lane.
template <class Source>
__device__ int places_of_row(const Arguments& step, int across) {
  constexpr int kSize = Source::kSize;
  const Index most = kIsApart<Source> ? across * kSize : across;
  const Index needed = kIsApart<Source> ? step.lane_axis.size : (step.lane_axis.size + step.phase + kSize - 1) / kSize;
  return static_cast<int>(needed < most ? needed : most);
}

/// Where a lane's rows of a panel wait: places first, first + pitch, … `count` of them; columns apart are `step` places
/// apart, and `columns` of them there.
struct RowsOfLane {
  int first = 0, pitch = 1, count = 0;
  int step = 1, columns = 0;
};

template <class Source, class Waiting>
__device__ RowsOfLane request_panel(const Arguments& step, const Panel<Source::kSize>& panel, const RowsOfSlot& rows,
                                    int places, int lane, Waiting& waiting) {
  using Element = typename Source::Element;
  using P = InPlace<Source>;
  if (panel.low >= panel.high) return {};
  const RowsOfLane mine{rows.slot * places + lane, rows.slots * places, rows.of_slot(), panel.pitch, panel.high};
  const Element* const from = reinterpret_cast<const Element*>(step.in) + panel.in;
  RowCursor<Source> cursor(step, rows);
  if constexpr (kIsApart<Source>) {
    const Index apart = step.lane_axis.in * panel.pitch;
    waiting.request(mine.count, [&](int row) {
      const Element* const at = from + cursor.next().in;
#pragma unroll
      for (int c = 0; c < Source::kSize; ++c)
        if (c < mine.columns)
          waiting.ask(mine.first + row * mine.pitch + c * mine.step, reinterpret_cast<const P*>(at + c * apart));
    });
  } else if (panel.is_whole(step)) {
    waiting.request(mine.count, [&](int row) {
      waiting.ask(mine.first + row * mine.pitch, reinterpret_cast<const P*>(from + cursor.next().in));
    });
  } else {
#pragma unroll 4
    for (int row = 0; row < mine.count; ++row)
      waiting.keep(mine.first + row * mine.pitch, load_columns<false, Source>(step, panel, cursor.next().in));
  }
  return mine;
}

/// A lane's columns of a row that waits.
template <class Source, class Waiting>
__device__ Pack<typename Source::Element, Source::kSize> take_row(const RowsOfLane& rows, int place,
                                                                  const Waiting& waiting) {
  if constexpr (kIsApart<Source>) {
    Pack<typename Source::Element, Source::kSize> pack = {};
#pragma unroll
    for (int c = 0; c < Source::kSize; ++c)
      if (c < rows.columns) pack.at[c] = waiting.at(place + c * rows.step).at[0];
    return pack;
  } else {
    return waiting.at(place);
  }
}

/// Calls visit(std::bool_constant of whether it is whole, packs of rows, how many) for batches of rows [from, to).
template <int kUnroll, class Source, class Waiting, class Visit>
__device__ void visit_waiting(const RowsOfLane& rows, int from, int to, const Waiting& waiting, const Visit& visit) {
  int place = rows.first + from * rows.pitch;
  for (; from + kUnroll <= to; from += kUnroll, place += kUnroll * rows.pitch) {
    Pack<typename Source::Element, Source::kSize> batch[kUnroll] = {};
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) batch[u] = take_row<Source>(rows, place + u * rows.pitch, waiting);
    visit(std::true_type(), batch, kUnroll);
  }
  const int rest = to - from;
  if (rest <= 0) return;
  Pack<typename Source::Element, Source::kSize> batch[kUnroll] = {};
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) batch[u] = take_row<Source>(rows, place + (u < rest ? u * rows.pitch : 0), waiting);
  visit(std::false_type(), batch, rest);
}

/// The states that all lanes of the block have of a panel whose rows were asked for: the maxima meet first.
template <int kUnroll, class Source, class F, class Waiting>
__device__ void fold_waiting(const F& fold, const ColumnLanes& lanes, const RowsOfLane& rows, const Waiting& waiting,
                             typename F::State (&states)[Source::kSize]) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  const Index nowhere[kUnroll] = {};
  const auto maximum = fold.pivot_fold();
  A maxima[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) maxima[c] = maximum.identity();
#pragma unroll 1
  for (int group = 0; group < Waiting::kGroups; ++group) {
    waiting.await_group(group);
    const int from = waiting.begin_of(group, rows.count), to = waiting.begin_of(group + 1, rows.count);
    visit_waiting<kUnroll, Source>(rows, from, to, waiting, [&](auto all, const auto& batch, int count) {
#pragma unroll
      for (int c = 0; c < kSize; ++c) {
        const ColumnBatch<Source, kUnroll> view{batch, nowhere, 0, count, c};
        maxima[c] = maximum.combine(maxima[c], fold_plainly<decltype(all)::value>(maximum, view));
      }
    });
  }
  combine_in_turn<0>(folds::Max<A>(), maxima, lanes);

  decltype(fold.around(A(), 0)) powers[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) powers[c] = fold.around(maxima[c], 0);
  TreeLevels<folds::Sum<A>, kSize> levels;
  Tree<folds::Sum<A>, kSize> tree(powers[0], levels);
  visit_waiting<kUnroll, Source>(rows, 0, rows.count, waiting, [&](auto all, const auto& batch, int count) {
    A sums[kSize];
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const ColumnBatch<Source, kUnroll> view{batch, nowhere, 0, count, c};
      sums[c] = fold_plainly<decltype(all)::value>(powers[c], view);
    }
    tree.push(sums);
  });
  A sums[kSize];
  tree.result(sums);
  combine_in_turn<1>(folds::Sum<A>(), sums, lanes);
#pragma unroll
  for (int c = 0; c < kSize; ++c) states[c] = {maxima[c], sums[c]};
}

/// Whether the lane can store its packs of every row whole.
template <class Source, class Out>
__device__ bool stores_packs(const Arguments& step, const Panel<Source::kSize>& panel) {
  constexpr int kSize = Source::kSize, kPart = kStored<Out, kSize>;
  if (kSize == 1) return panel.low < panel.high;
  Index strides = 0;
#pragma unroll
  for (int i = 0; i < kNearAxes; ++i) strides |= i < step.walk.rank ? step.walk.near[i].out : 0;
  return panel.low == 0 && panel.high == kSize && step.lane_axis.out == 1 && step.walk.rank <= kNearAxes &&
         strides % kPart == 0 && is_aligned_for_stores<Out, kSize>(reinterpret_cast<Out*>(step.out) + panel.out);
}

/// map_panel() of rows that wait.
template <class Source, class Out, int kUnroll, class Map, class Waiting, class State>
__device__ void map_waiting(const Arguments& step, const Panel<Source::kSize>& panel, const RowsOfSlot& rows,
                            const RowsOfLane& mine, const Waiting& waiting, const State (&states)[Source::kSize]) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  Map maps[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) maps[c] = {states[c], static_cast<A>(step.scale), static_cast<A>(step.alpha)};
  const bool whole = stores_packs<Source, Out>(step, panel);
  const Index apart = step.lane_axis.out * panel.pitch;
  Out* const out = reinterpret_cast<Out*>(step.out) + panel.out;
  RowCursor<Source> cursor(step, rows);
  int place = mine.first;
#pragma unroll kUnroll
  for (int row = 0; row < mine.count; ++row, place += mine.pitch) {
    const auto elements = take_row<Source>(mine, place, waiting);
    Out mapped[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) mapped[i] = to_element<Out>(maps[i](number_of<Source>(elements, i)));
    Out* const to = out + cursor.next().out;
    if (!kIsApart<Source> && whole)
      store_whole(mapped, to);
    else
      store_elements(mapped, to, apart, panel.low, panel.high);
  }
}

}  // namespace ndfold::cuda
