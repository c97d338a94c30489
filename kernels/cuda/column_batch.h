// What a lane does with a panel of columns: loads its rows in batches, folds them, and writes what becomes of them.
#pragma once
#include "kernels/cuda/batch.h"
#include "kernels/cuda/best_of_pairs.h"
#include "kernels/cuda/column_moments.h"
#include "kernels/cuda/column_powers.h"
#include "kernels/cuda/load_across.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/row_places.h"
#include "kernels/cuda/scopes.h"
#include "kernels/cuda/sinks.h"
#include "kernels/cuda/source.h"
#include "kernels/cuda/tree.h"
#include "kernels/cuda/waiting.h"

namespace ndfold::cuda {

/// What a lane sees of a panel: its columns [low, high), and where they lie.
template <int kSize>
struct Panel {
  Index outputs;  ///< outputs before the panel's outer index
  Index column;   ///< of element 0 of the lane's pack
  Index in, out;  ///< offsets of that element, in elements
  int pitch;      ///< between the lane's columns
  int low, high;
  int first, width;  ///< of all lanes' elements, those with an output

  /// Whether the lane loads whole packs.
  __device__ bool is_whole(const Arguments& step) const {
    return (kSize == 1 || step.whole_runs) && low == 0 && high == kSize;
  }
  /// Whether what lies around its packs is the row's.
  __device__ bool is_inner(const Arguments& step) const { return column > 0 && column + kSize < step.lane_axis.size; }
};

template <int kSize>
__device__ StatePlaces places_of(const Arguments& step, const Panel<kSize>& panel) {
  return {panel.out, panel.pitch * step.lane_axis.out, panel.outputs + panel.column, panel.pitch, panel.low,
          panel.high};
}

/// Where a panel begins, `phase` elements sooner, so that packs are aligned in memory: no axis has 2^32 panels, so that
/// their difference is a word.
__device__ inline Index start_of_panel(const Arguments& step, Index tile, Index outer, int width) {
  const auto panel = static_cast<std::uint32_t>(tile) - static_cast<std::uint32_t>(outer * step.panels);
  return static_cast<Index>(static_cast<std::uint64_t>(panel) * static_cast<std::uint32_t>(width)) - step.phase;
}

template <int kSize>
__device__ Panel<kSize> panel_of(const Arguments& step, Index tile, const ColumnLanes& lanes) {
  const AxisNumbers& axis = step.lane_axis;
  const int wide = lanes.across * kSize, width = wide < step.widest_panel ? wide : step.widest_panel;
  const Index outer = quotient(tile, step.by_panels), start = start_of_panel(step, tile, outer, width);
  const Offsets base = offsets(step, step.tile, outer);
  const Index rest = axis.size - start;
  const int before = start < 0 ? step.phase : 0, end = rest < width ? static_cast<int>(rest) : width;
  const int at = lanes.first_column(kSize);  // from the panel's start on, as those two
  Panel<kSize> panel;
  panel.outputs = outer * axis.size;
  panel.pitch = lanes.column_step();
  panel.column = start + at;
  panel.in = base.in + panel.column * axis.in;
  panel.out = base.out + panel.column * axis.out;
  const int skipped = before - at;
  panel.low = skipped < 0 ? 0 : skipped > kSize ? kSize : skipped;
  panel.high = 0;
#pragma unroll
  for (int c = 0; c < kSize; ++c) panel.high += at + c * panel.pitch < end;
  panel.first = before;
  panel.width = end - before;
  return panel;
}

/// The index of row i of a batch, which is not known in advance: rows of one axis are `pitch` apart.
template <class Source, int kRows>
__device__ Index index_of_row(const Index (&rows)[kRows], Index pitch, int i) {
  if constexpr (kIsInLine<Source>) return rows[0] + i * pitch;
  Index index = rows[0];
#pragma unroll
  for (int u = 1; u < kRows; ++u) index = i == u ? rows[u] : index;
  return index;
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

  __device__ auto number(int i) const { return number_of<Source>(packs[i], column); }
  __device__ Index index(int i) const { return rows[i]; }
  __device__ bool has(int i) const { return i < count; }
  __device__ Index index_in_order(int i) const { return index_of_row<Source>(rows, pitch, i); }
};

/// Rows [begin, end) of the reduced axes, those of one slot of lanes.
struct RowsOfSlot {
  Index begin, end;
  int slot, slots;
  const RowPlace* places = nullptr;  ///< from row `begin` on, where they were looked up
  /// How many of them the slot has, where they are as few as packs that wait.
  __device__ int of_slot() const {
    const int rows = static_cast<int>(end - begin);
    return slot < rows ? static_cast<int>(static_cast<unsigned>(rows - slot + slots - 1) / static_cast<unsigned>(slots))
                       : 0;
  }
};

/// Asks for a lane's first kRows rows, where the reduced axes are one.
template <class Source, int kRows>
__device__ void ask_for_rows(const Arguments& step, const Panel<Source::kSize>& panel, const RowsOfSlot& rows) {
  if (panel.low >= panel.high || step.walk.rank > 1) return;
  const auto* const from = reinterpret_cast<const typename Source::Element*>(step.in) + panel.in;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Index row = rows.begin + rows.slot + r * rows.slots;
    if (row < rows.end) ask_early(from + row * step.walk.near[0].in + panel.low * panel.pitch * step.lane_axis.in);
  }
}

/// Where the rows of a slot lie, one after the other; where the reduced axes are one, that is a sum.
template <class Source>
class RowCursor {
 public:
  __device__ RowCursor(const Arguments& step, const RowsOfSlot& rows) : step_(step), row_(rows.begin + rows.slot) {
    slots_ = rows.slots;
    if constexpr (kIsInLine<Source>) {
      const AxisNumbers& axis = step.walk.near[0];
      at_.in = row_ * axis.in;
      at_.out = row_ * axis.out;
      by_.in = rows.slots * axis.in;
      by_.out = rows.slots * axis.out;
    } else if (rows.places != nullptr) {
      places_ = rows.places + rows.slot;
    } else if (by_digits()) {
      at_ = walk_place(step, row_);
      by_ = walk_place(step, slots_);
    }
  }
  /// Whether indices rise from row to row.
  __device__ bool rises() const {
    if constexpr (kIsInLine<Source>) return by_.out > 0;
    return step_.indices_rise;
  }
  /// Between rows, where they lie along one axis.
  __device__ Index out_pitch() const { return by_.out; }
  __device__ Offsets next() {
    Offsets now{at_.in, at_.out, 0};
    if constexpr (kIsInLine<Source>) {
      at_.in += by_.in;
      at_.out += by_.out;
    } else if (places_ != nullptr) {
      now = {places_->in, places_->out, 0};
      places_ += slots_;
    } else if (by_digits()) {
      advance_walk(step_, at_, by_, false);
    } else {
      now = detail::far_offsets(step_, step_.walk, row_);
      row_ += slots_;
    }
    return now;
  }

 private:
  __device__ bool by_digits() const { return is_walked_by_digits(step_) && step_.reduced >> 30 == 0; }

  const Arguments& step_;
  WalkPlace at_ = {}, by_ = {};
  const RowPlace* places_ = nullptr;
  Index row_;
  int slots_;
};

/// All columns of a lane: a pack, or elements that are `step` apart.
template <class Source>
__device__ Pack<typename Source::Element, Source::kSize> load_whole(const typename Source::Element* from, Index step) {
  if constexpr (kIsApart<Source>)
    return load_elements<typename Source::Element, Source::kSize>(from, step);
  else
    return *reinterpret_cast<const Pack<typename Source::Element, Source::kSize>*>(from);
}

/// Whole packs of the lane's columns, or its few columns one by one.
template <bool kVectors, class Source>
__device__ Pack<typename Source::Element, Source::kSize> load_columns(const Arguments& step,
                                                                      const Panel<Source::kSize>& panel, Index row) {
  using Element = typename Source::Element;
  const Element* const from = reinterpret_cast<const Element*>(step.in) + panel.in + row;
  const Index pitch = step.lane_axis.in * panel.pitch;
  if constexpr (kVectors)
    return load_whole<Source>(from, pitch);
  else
    return load_pack<Element, Source::kSize>(from, pitch, panel.low, panel.high);
}

/// The lane's columns of a row, as they wait or read again. Columns apart wait one by one: column_waiting.h.
template <bool kVectors, class Source, class Waiting>
__device__ Pack<typename Source::Element, Source::kSize> columns_again(const Arguments& step,
                                                                       const Panel<Source::kSize>& panel, Index row,
                                                                       Index number, const Waiting& waiting) {
  const auto load = [&] { return load_columns<kVectors, Source>(step, panel, row); };
  if constexpr (kIsApart<Source>)
    return load();
  else
    return waiting.get(number, load);
}

/// What merges a lane's batches.
template <class F, class Source>
using Merger = std::conditional_t<
    SideBySide<F, Source>, PowersOfColumns<F, Source>,
    std::conditional_t<MomentsSideBySide<F, Source>, MomentsOfColumns<F, Source>, Tree<F, Source::kSize>>>;

/// Folds a batch of rows, or `count` of them, into all columns of a tree; others repeat one of those where the best of
/// pairs or columns side by side are wanted. `index` and `pitch`: as in ColumnBatch; `rises`: from row to row.
template <bool kAll, class Source, int kUnroll, class F, class T>
__device__ void push_rows(const F& fold, const Pack<typename Source::Element, Source::kSize> (&batch)[kUnroll],
                          const Index (&index)[kUnroll], Index pitch, bool rises, int count, T& tree) {
  constexpr int kSize = Source::kSize;
  if constexpr (BestOfPairs<F, Source>)
    if (rises)
      return push_pairs<Source, F>(
          batch, [&](int u) { return index_of_row<Source>(index, pitch, u); }, tree);
  if constexpr (requires { tree.template absorb<kAll>(batch, count); }) {
    tree.template absorb<kAll>(batch, count);
  } else {
    typename F::State states[kSize];
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const ColumnBatch<Source, kUnroll> view{batch, index, pitch, count, c};
      if constexpr (Exact<F>)
        push_column<kAll, true>(fold, view, rises, tree, c);
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
}

/// One batch: kUnroll rows, of which `count` are there, or all. `number`: of the first row's pack among those that
/// wait.
template <bool kAll, bool kVectors, int kUnroll, class Source, class F, class Waiting>
__device__ void fold_batch_of_panel(const F& fold, const Arguments& step, const Panel<Source::kSize>& panel,
                                    RowCursor<Source>& cursor, int count, Index number, int pitch,
                                    const Waiting& waiting, Merger<F, Source>& tree) {
  Pack<typename Source::Element, Source::kSize> batch[kUnroll];
  Index index[kUnroll];
  Offsets start = {};
  if constexpr (kVectors && kIsAcross<Source>) {
    Index at[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (kAll || u < count) start = cursor.next();
      at[u] = panel.in + start.in;
      index[u] = start.out;
    }
    load_packs_across<Source>(step, panel.is_inner(step), at, panel.low, panel.high, batch);
  } else {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (kAll || u < count) start = cursor.next();  // else the row before once more: a load that is no branch
      batch[u] =
          columns_again<kVectors, Source>(step, panel, start.in, number + (kAll || u < count ? u * pitch : 0), waiting);
      index[u] = start.out;
    }
  }
  push_rows<kAll, Source>(fold, batch, index, cursor.out_pitch(), cursor.rises(), count, tree);
}

template <bool kVectors, int kUnroll, class Source, class F, class Waiting>
__device__ void fold_rows_of_panel(const F& fold, const Arguments& step, const Panel<Source::kSize>& panel,
                                   const RowsOfSlot& rows, int packs, int lane, const Waiting& waiting,
                                   Merger<F, Source>& tree) {
  const int stride = kUnroll * rows.slots, pitch = rows.slots * packs;
  RowCursor<Source> cursor(step, rows);
  Index left = rows.end - rows.begin - (kUnroll == 1 ? rows.slot : 0),
        number = static_cast<Index>(rows.slot) * packs + lane;
  const auto is_whole = [&] { return kUnroll == 1 ? left > 0 : left >= stride; };
  for (; is_whole(); left -= stride, number += kUnroll * pitch)  // all slots together: fold_whole_packs()
    fold_batch_of_panel<true, kVectors, kUnroll>(fold, step, panel, cursor, kUnroll, number, pitch, waiting, tree);
  if (kUnroll == 1 || left <= rows.slot) return;
  int count = 1;
#pragma unroll
  for (int u = 1; u < kUnroll; ++u) count += rows.slot + static_cast<Index>(u) * rows.slots < left;
  fold_batch_of_panel<false, kVectors, kUnroll>(fold, step, panel, cursor, count, number, pitch, waiting, tree);
}

template <class Source, int kUnroll, class F, class Waiting>
__device__ void fold_panel(const F& fold, const Arguments& step, const Panel<Source::kSize>& panel,
                           const RowsOfSlot& rows, int packs, int lane, const Waiting& waiting,
                           typename F::State (&states)[Source::kSize]) {
  TreeLevels<F, Source::kSize> levels;
  Merger<F, Source> tree(fold, levels);
  if (panel.is_whole(step) || (kIsAcross<Source> && panel.low < panel.high))
    fold_rows_of_panel<true, kUnroll, Source>(fold, step, panel, rows, packs, lane, waiting, tree);
  else if (panel.low < panel.high)
    fold_rows_of_panel<false, 1, Source>(fold, step, panel, rows, packs, lane, waiting, tree);
  tree.result(states);
}

/// What writes a state of a panel's column: sink(column, state).
template <class F, class Scope, class Lanes, int kSize>
__device__ auto sink_of_column(const F& fold, const Arguments& step, const Scope& scope, const Lanes& lanes,
                               const Panel<kSize>& panel, Index part) {
  const int before = panel.first - lanes.first_column(kSize);  // of the panel's columns, from the lane's first on
  return [&, before, part](int column, const typename F::State& state) {
    const Index number = panel.outputs + panel.column + before + column;
    sink_state(step, fold, state, panel.out + (before + column) * step.lane_axis.out,
               scope.shares_parts() ? number : number * step.parts + part);
  };
}

/// States that meet at once, a thread a column. Small ones meet as quickly where each lane folds those of all slots,
/// and leave as packs: a maximum of [64,48,8192] f32 took 28 us, at once 32; a variance of 16 bits down 127 rows 92
/// and 87.
template <class State>
inline constexpr bool kMeetAtOnce = sizeof(State) > 8;

/// Results of a panel's columns, or states of its part, from all lanes that have some of its rows.
template <class F, class Scope, class Lanes, int kSize>
__device__ void share_columns(const F& fold, const Arguments& step, const Scope& scope,
                              const typename F::State (&states)[kSize], const Lanes& lanes, const Panel<kSize>& panel,
                              Index part, int turn) {
  scope.share_columns(fold, states, lanes, panel.first, panel.width, static_cast<int>(step.tile_bytes), turn,
                      sink_of_column<F>(fold, step, scope, lanes, panel, part));
}

/// Writes what Map makes of each element of the slot's rows, as it waited, and of its column's state: any layout. Not
/// inlined and by value, for column_waiting.h has a shorter one for what is common.
template <class Source, class Out, class Map, class Waiting, class State>
[[gnu::noinline]] __device__ void map_panel(const Arguments& step, Panel<Source::kSize> panel, RowsOfSlot rows,
                                            int packs, int lane, Waiting waiting,
                                            StatesOfLane<State, Source::kSize> states) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  if (panel.low >= panel.high) return;
  Map maps[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) maps[c] = {states.at[c], static_cast<A>(step.scale), static_cast<A>(step.alpha)};
  const int pitch = rows.slots * packs;
  const Index apart = step.lane_axis.out * panel.pitch;
  const bool neighbours = apart == 1 && panel.low == 0 && panel.high == kSize;
  Out* const out = reinterpret_cast<Out*>(step.out) + panel.out;
  RowCursor<Source> cursor(step, rows);
  Index number = static_cast<Index>(rows.slot) * packs + lane;
#pragma unroll 4
  for (Index row = rows.begin + rows.slot; row < rows.end; row += rows.slots, number += pitch) {
    const Offsets start = cursor.next();
    const auto elements = columns_again<false, Source>(step, panel, start.in, number, waiting);
    Out mapped[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) mapped[i] = to_element<Out>(maps[i](number_of<Source>(elements, i)));
    Out* const to = out + start.out;
    if (neighbours && is_aligned_for_stores<Out, kSize>(to))
      store_whole(mapped, to);
    else
      store_elements(mapped, to, apart, panel.low, panel.high);
  }
}

}  // namespace ndfold::cuda
