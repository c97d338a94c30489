// What a lane does with a panel of columns: loads its rows in batches, folds them, and writes what becomes of them.
#pragma once
#include "kernels/cuda/batch.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/scopes.h"
#include "kernels/cuda/sinks.h"
#include "kernels/cuda/source.h"
#include "kernels/cuda/tree.h"
#include "kernels/cuda/waiting.h"

namespace ndfold::cuda {

/// What a lane sees of a panel: its columns [low, high), and where they lie.
struct Panel {
  Index outputs;  ///< outputs before the panel's outer index
  Index column;   ///< of element 0 of the lane's pack
  Index in, out;  ///< offsets of that element, in elements
  int low, high;
  int first, width;  ///< of all lanes' elements, those with an output
};

/// Panels begin `phase` elements before the axis, so that packs are aligned in memory.
template <int kSize>
__device__ Panel panel_of(const Arguments& step, Index tile, const ColumnLanes& lanes) {
  const AxisNumbers& axis = step.lane_axis;
  const int width = lanes.across * kSize;
  const Index outer = quotient(tile, step.by_panels);
  const Index start = (tile - outer * step.panels) * width - step.phase;
  const Offsets base = offsets(step, step.tile, outer);
  Panel panel;
  panel.outputs = outer * axis.size;
  panel.column = start + lanes.lane() * kSize;
  panel.in = base.in + panel.column * axis.in;
  panel.out = base.out + panel.column * axis.out;
  const auto within = [](Index n, int most) { return static_cast<int>(n < 0 ? 0 : n > most ? most : n); };
  panel.low = within(-panel.column, kSize);
  panel.high = within(axis.size - panel.column, kSize);
  panel.first = within(-start, width);
  panel.width = within(axis.size - start, width) - panel.first;
  return panel;
}

/// Element `column` of kUnroll rows, as a view for fold_view(). Rows beyond the last are missing.
template <class Source, int kUnroll>
struct ColumnBatch {
  static constexpr int kCount = kUnroll, kGroup = 1;
  const Pack<typename Source::Element, Source::kSize> (&packs)[kUnroll];
  const Index (&rows)[kUnroll];
  Index pitch;  ///< between rows, where that is always the same
  int count;
  int column;

  __device__ auto number(int i) const { return Source::value(packs[i].at[column]); }
  __device__ Index index(int i) const { return rows[i]; }
  __device__ bool has(int i) const { return i < count; }
  __device__ Index index_in_order(int i) const { return rows[0] + i * pitch; }
};

/// Rows [begin, end) of the reduced axes, those of one slot of lanes.
struct RowsOfSlot {
  Index begin, end;
  int slot, slots;
};

/// Where the rows of a slot lie, one after the other; where the reduced axes are one, that is a sum.
template <class Source>
class RowCursor {
 public:
  __device__ RowCursor(const Arguments& step, const RowsOfSlot& rows) : step_(step) {
    const Index first = rows.begin + rows.slot;
    if constexpr (kIsInLine<Source>) {
      const AxisNumbers& axis = step.walk.near[0];
      at_ = {first * axis.in, first * axis.out, 0};
      by_ = {rows.slots * axis.in, rows.slots * axis.out, 0};
    } else {
      row_ = first;
      slots_ = rows.slots;
    }
  }
  /// Between rows, where they lie along one axis.
  __device__ Index out_pitch() const { return by_.out; }
  __device__ Offsets next() {
    if constexpr (kIsInLine<Source>) {
      const Offsets now = at_;
      at_.in += by_.in;
      at_.out += by_.out;
      return now;
    } else {
      const Offsets now = offsets(step_, step_.walk, row_);
      row_ += slots_;
      return now;
    }
  }

 private:
  const Arguments& step_;
  Offsets at_, by_;
  Index row_ = 0;
  int slots_ = 0;
};

/// Whole packs of the lane's columns, or its few columns one by one.
template <bool kVectors, class Source>
__device__ Pack<typename Source::Element, Source::kSize> load_columns(const Arguments& step, const Panel& panel,
                                                                      Index row) {
  using Element = typename Source::Element;
  using P = Pack<Element, Source::kSize>;
  const Element* const from = reinterpret_cast<const Element*>(step.in) + panel.in + row;
  if constexpr (kVectors)
    return *reinterpret_cast<const P*>(from);
  else
    return load_pack<Element, Source::kSize>(from, step.lane_axis.in, panel.low, panel.high);
}

/// One batch: kUnroll rows, of which `count` are there, or all. `number`: of the first row's pack among those that
/// wait.
template <bool kAll, bool kVectors, int kUnroll, class Source, class F, class Waiting>
__device__ void fold_batch_of_panel(const F& fold, const Arguments& step, const Panel& panel, RowCursor<Source>& cursor,
                                    int count, Index number, int pitch, Waiting& waiting,
                                    Tree<F, Source::kSize>& tree) {
  constexpr int kSize = Source::kSize;
  Pack<typename Source::Element, kSize> batch[kUnroll];
  Index index[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    batch[u] = {};
    const Offsets start = kAll || u < count ? cursor.next() : Offsets();
    if (kAll || u < count) batch[u] = load_columns<kVectors, Source>(step, panel, start.in);
    index[u] = start.out;
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (kAll || u < count) waiting.keep(number + u * pitch, batch[u]);
  typename F::State states[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) {
    const ColumnBatch<Source, kUnroll> view{batch, index, cursor.out_pitch(), count, c};
    if constexpr (Exact<F>)
      push_column<kAll, kIsInLine<Source>>(fold, view, cursor.out_pitch() > 0, tree, c);
    else if constexpr (RunningFold<F>)
      absorb<kAll>(fold, view, tree.running(c));
    else
      states[c] = fold_view<kAll>(fold, view);
  }
  if constexpr (RunningFold<F>)
    tree.pushed();
  else if constexpr (!Exact<F>)
    tree.push(states);
}

template <bool kVectors, int kUnroll, class Source, class F, class Waiting>
__device__ void fold_rows_of_panel(const F& fold, const Arguments& step, const Panel& panel, const RowsOfSlot& rows,
                                   int packs, int lane, Waiting& waiting, Tree<F, Source::kSize>& tree) {
  const Index stride = static_cast<Index>(kUnroll) * rows.slots;
  const int pitch = rows.slots * packs;
  RowCursor<Source> cursor(step, rows);
  Index row = rows.begin + rows.slot, number = static_cast<Index>(rows.slot) * packs + lane;
  for (; row + stride - rows.slots < rows.end; row += stride, number += kUnroll * pitch)
    fold_batch_of_panel<true, kVectors, kUnroll>(fold, step, panel, cursor, kUnroll, number, pitch, waiting, tree);
  if (kUnroll == 1 || row >= rows.end) return;
  int count = 1;
#pragma unroll
  for (int u = 1; u < kUnroll; ++u) count += row + static_cast<Index>(u) * rows.slots < rows.end;
  fold_batch_of_panel<false, kVectors, kUnroll>(fold, step, panel, cursor, count, number, pitch, waiting, tree);
}

template <class Source, int kUnroll, class F, class Waiting>
__device__ void fold_panel(const F& fold, const Arguments& step, const Panel& panel, const RowsOfSlot& rows, int packs,
                           int lane, Waiting& waiting, typename F::State (&states)[Source::kSize]) {
  TreeLevels<F, Source::kSize> levels;
  Tree<F, Source::kSize> tree(fold, levels);
  if (step.whole_runs && panel.low == 0 && panel.high == Source::kSize)
    fold_rows_of_panel<true, kUnroll, Source>(fold, step, panel, rows, packs, lane, waiting, tree);
  else if (panel.low < panel.high)
    fold_rows_of_panel<false, 1, Source>(fold, step, panel, rows, packs, lane, waiting, tree);
  tree.result(states);
}

/// Writes what Map makes of each element of the slot's rows, as it waited, and of its column's state.
template <class Source, class Out, int kUnroll, class Map, class Waiting, class State>
__device__ void map_panel(const Arguments& step, const Panel& panel, const RowsOfSlot& rows, int packs, int lane,
                          const Waiting& waiting, const State (&states)[Source::kSize]) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  if (panel.low >= panel.high) return;
  Map maps[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) maps[c] = {states[c], static_cast<A>(step.scale), static_cast<A>(step.alpha)};
  const int pitch = rows.slots * packs;
  const bool neighbours = step.lane_axis.out == 1 && panel.low == 0 && panel.high == kSize;
  Out* const out = reinterpret_cast<Out*>(step.out) + panel.out;
  RowCursor<Source> cursor(step, rows);
  Index number = static_cast<Index>(rows.slot) * packs + lane;
  for (Index row = rows.begin + rows.slot; row < rows.end; row += static_cast<Index>(kUnroll) * rows.slots) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u, number += pitch) {
      if (row + static_cast<Index>(u) * rows.slots >= rows.end) continue;
      const Offsets start = cursor.next();
      const auto elements = waiting.get(number, [&] { return load_columns<false, Source>(step, panel, start.in); });
      Out mapped[kSize];
#pragma unroll
      for (int i = 0; i < kSize; ++i) mapped[i] = to_element<Out>(maps[i](Source::value(elements.at[i])));
      Out* const to = out + start.out;
      if (neighbours && is_aligned_for_stores<Out, kSize>(to))
        store_whole(mapped, to);
      else
        store_elements(mapped, to, step.lane_axis.out, panel.low, panel.high);
    }
  }
}

}  // namespace ndfold::cuda
