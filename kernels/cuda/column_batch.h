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
  int count;
  int column;

  __device__ auto number(int i) const { return Source::value(packs[i].at[column]); }
  __device__ Index index(int i) const { return rows[i]; }
  __device__ bool has(int i) const { return i < count; }
};

/// Where row `at` of the reduced axes lies; where these are one axis, that is a product.
template <class Source>
__device__ Offsets offsets_of_row(const Arguments& step, Index at) {
  if constexpr (kIsInLine<Source>)
    return {at * step.walk.near[0].in, at * step.walk.near[0].out, 0};
  else
    return offsets(step, step.walk, at);
}

/// Rows [begin, end) of the reduced axes, those of one slot of lanes.
struct RowsOfSlot {
  Index begin, end;
  int slot, slots;
};

template <class Source, int kUnroll, class F, class Waiting>
__device__ void fold_panel(const F& fold, const Arguments& step, const Panel& panel, const RowsOfSlot& rows, int packs,
                           int lane, Waiting& waiting, typename F::State (&states)[Source::kSize]) {
  constexpr int kSize = Source::kSize;
  using Element = typename Source::Element;
  Tree<F, kSize> tree(fold);
  const bool vectors = step.whole_runs && panel.low == 0 && panel.high == kSize;
  const Element* const from = reinterpret_cast<const Element*>(step.in) + panel.in;
  for (Index row = rows.begin + rows.slot; row < rows.end; row += static_cast<Index>(kUnroll) * rows.slots) {
    Pack<Element, kSize> batch[kUnroll];
    Index index[kUnroll];
    int count = 0;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index at = row + static_cast<Index>(u) * rows.slots;
      batch[u] = {};
      index[u] = 0;
      if (at >= rows.end) continue;
      const Offsets start = offsets_of_row<Source>(step, at);
      batch[u] = vectors ? *reinterpret_cast<const Pack<Element, kSize>*>(from + start.in)
                         : load_pack<Element, kSize>(from + start.in, step.lane_axis.in, panel.low, panel.high);
      index[u] = start.out;
      waiting.keep((at - rows.begin) * packs + lane, batch[u], panel.low < panel.high);
      ++count;
    }
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const ColumnBatch<Source, kUnroll> view{batch, index, count, c};
      states[c] = count == kUnroll ? fold_view<true>(fold, view) : fold_view<false>(fold, view);
    }
    tree.push(states);
  }
  tree.result(states);
}

/// Writes map(column, element) of each element of the slot's rows, as it waited.
template <class Source, class Out, int kUnroll, class Waiting, class Map>
__device__ void map_panel(const Arguments& step, const Panel& panel, const RowsOfSlot& rows, int packs, int lane,
                          const Waiting& waiting, const Map& map) {
  constexpr int kSize = Source::kSize;
  using Element = typename Source::Element;
  for (Index row = rows.begin + rows.slot; row < rows.end; row += static_cast<Index>(kUnroll) * rows.slots) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const Index at = row + static_cast<Index>(u) * rows.slots;
      if (at >= rows.end || panel.low >= panel.high) continue;
      const Offsets start = offsets_of_row<Source>(step, at);
      const auto load = [&] {
        const Element* from = reinterpret_cast<const Element*>(step.in) + panel.in + start.in;
        return load_pack<Element, kSize>(from, step.lane_axis.in, panel.low, panel.high);
      };
      const auto elements = waiting.get((at - rows.begin) * packs + lane, u, load);
      Out mapped[kSize];
#pragma unroll
      for (int i = 0; i < kSize; ++i) mapped[i] = to_element<Out>(map(i, elements.at[i]));
      store_pack(mapped, reinterpret_cast<Out*>(step.out) + panel.out + start.out, step.lane_axis.out, panel.low,
                 panel.high);
    }
  }
}

}  // namespace ndfold::cuda
