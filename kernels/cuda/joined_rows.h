// Columns that are few and no whole packs, of rows that follow one another: lanes lie along the memory. As many rows as
// lanes and packs divide into are one long row, whose packs always hold the same columns; who has the same meet at the
// end.
#pragma once
#include "kernels/cuda/column_batch.h"
#include "kernels/cuda/column_sharers.h"
#include "kernels/cuda/line_walk.h"

namespace ndfold::cuda {

/// What a lane takes of rows that follow one another: every `lanes`-th pack of a line from its own on.
template <class Source>
struct JoinedRows {
  LineWalk<Source> line;
  int columns, lane, lanes, together;  ///< together: rows that are one long row
  Index first, weight;                 ///< index of row 0, and between rows
  int column, row;                     ///< of the first element of the lane's packs in that row

  /// `phase`: elements by which pack 0 begins before the line.
  __device__ JoinedRows(const LineWalk<Source>& all, int of_row, int of_block, int phase, Index index, Index apart)
      : line(all), columns(of_row), lane(thread_of_block()), lanes(of_block), first(index), weight(apart) {
    const auto size = static_cast<unsigned>(columns);
    const auto place = static_cast<unsigned>(lane * Source::kSize - phase) + size * unsigned{Source::kSize};
    together = static_cast<int>(static_cast<unsigned>(lanes * Source::kSize) / size);
    row = static_cast<int>(place / size);
    column = static_cast<int>(place) - row * columns;
    row -= Source::kSize;
  }

  /// Calls visit(c, its column, its row) of each element of a pack.
  template <class Visit>
  __device__ void each_element(const Visit& visit) const {
    int in_row = column, of_rows = row;
#pragma unroll
    for (int c = 0; c < Source::kSize; ++c) {
      visit(c, in_row, of_rows);
      if (++in_row == columns) in_row = 0, ++of_rows;
    }
  }
};

/// An element of a pack alone, as a batch: packs that an end cuts. `at`: index of the pack's long row.
template <class Source, class F>
__device__ void fold_cut_pack(const F& fold, const JoinedRows<Source>& rows, Index pack, Index at,
                              typename F::State (&states)[Source::kSize]) {
  const auto place = rows.line.place(pack);
  const Pack<typename Source::Element, Source::kSize> packs[1] = {
      load_pack<typename Source::Element, Source::kSize>(place.in, 1, place.low, place.high)};
  const Index index[1] = {at};
#pragma unroll
  for (int c = 0; c < Source::kSize; ++c) {
    const ColumnBatch<Source, 1> view{packs, index, 0, 1, c};
    if (c >= place.low && c < place.high) states[c] = fold.combine(states[c], fold_view<true>(fold, view));
  }
}

/// Brings a lane's first packs to L2.
template <int kUnroll, class Source>
__device__ void ask_for_packs(const JoinedRows<Source>& rows) {
  if (rows.lane >= rows.lanes) return;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Index pack = rows.lane + static_cast<Index>(u) * rows.lanes;
    if (pack >= rows.line.first_whole() && pack < rows.line.last_whole()) ask_early(rows.line.element(pack));
  }
}

/// A state for each element of the lane's packs.
template <int kUnroll, class Source, class F>
__device__ void fold_joined(const F& fold, const JoinedRows<Source>& rows, typename F::State (&states)[Source::kSize]) {
  constexpr int kSize = Source::kSize;
  const LineWalk<Source>& line = rows.line;
  TreeLevels<F, kSize> levels;
  Merger<F, Source> tree(fold, levels);
  const Index pitch = rows.together * rows.weight, last = line.last_whole();
  const bool skips = rows.lane < line.first_whole();
  Index pack = rows.lane + (skips ? rows.lanes : 0), at = rows.first + (skips ? pitch : 0);
  const auto fold_batch = [&]<bool kAll>(std::bool_constant<kAll>, int count) {
    Pack<typename Source::Element, kSize> batch[kUnroll];
    Index index[kUnroll];
    const Index first = pack;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u, at += pitch, pack += rows.lanes) {
      batch[u] = line.load(line.element(kAll || u < count ? pack : first));
      index[u] = at;
    }
    push_rows<kAll, Source>(fold, batch, index, pitch, pitch > 0, count, tree);
  };
  while (pack - rows.lane + static_cast<Index>(kUnroll) * rows.lanes <= last)  // as in row_batch.h
    fold_batch(std::true_type(), kUnroll);
  int count = 0;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) count += pack + static_cast<Index>(u) * rows.lanes < last;
  const Index next = pack + static_cast<Index>(count) * rows.lanes, at_next = at + count * pitch;
  if (count > 0) fold_batch(std::false_type(), count);
  tree.result(states);
#pragma unroll 1
  for (int end = 0; end < 2; ++end) {
    const Index cut = line.cut_pack(end);  // the first one is lane 0's, and pack 0
    if (line.cuts(end) && cut == (end == 0 ? rows.lane : next))
      fold_cut_pack(fold, rows, cut, end == 0 ? rows.first : at_next, states);
  }
  if constexpr (ArgFold<F>)
    rows.each_element([&](int c, int, int row) {
      if (states[c].index != fold.identity().index) states[c].index += row * rows.weight;
    });
}

/// Over all lanes of a block that hold a column; visit(column, state) is called by one thread each. States of as many
/// columns as there is room for meet at a time.
template <class Source, class F, class Visit>
__device__ void combine_joined(const F& fold, const Arguments& step, const JoinedRows<Source>& rows,
                               const typename F::State (&states)[Source::kSize], const Visit& visit) {
  using State = typename F::State;
  const auto block = cg::this_thread_block();
  auto* const area = reinterpret_cast<State*>(shared_memory());
  const int together = rows.together, room = static_cast<int>(step.tile_bytes) / static_cast<int>(sizeof(State));
  const int most = room / together < rows.columns ? room / together : rows.columns;
  for (int first = 0; first < rows.columns; first += most) {
    const int count = rows.columns - first < most ? rows.columns - first : most;
    rows.each_element([&](int c, int column, int row) {
      column -= first;
      if (rows.lane < rows.lanes && column >= 0 && column < count)
        area[(row < 0 ? row + together : row) * count + column] = states[c];
    });
    block.sync();
    merge_states(
        fold, count, together, [&](int column, int row) { return area + row * count + column; },
        [&](int column, const State& state) { visit(first + column, state); });
    block.sync();  // the area is used again
  }
}

template <class Source, class F, class Scope, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    joined_rows(const __grid_constant__ Arguments step) {
  using State = typename F::State;
  const Scope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const AxisNumbers& axis = step.lane_axis;
  const int columns = static_cast<int>(axis.size);
  int turn = 0;
  for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y, ++turn)
    for (Index part = blockIdx.x; part < step.parts; part += gridDim.x) {
      const Offsets base = offsets(step, step.tile, tile);
      const Index begin = part * step.part, end = min_of(begin + step.part, step.reduced);
      const auto* const from = reinterpret_cast<const typename Source::Element*>(step.in) + base.in + begin * axis.size;
      const Index weight = step.walk.near[0].out;
      const JoinedRows<Source> rows(LineWalk<Source>(axis, from, 0, 0, (end - begin) * axis.size), columns, step.lanes,
                                    phase_of<Source::kSize>(from), begin * weight, weight);
      if (turn == 0 && part == blockIdx.x) {
        if (has_few_blocks()) ask_for_packs<Tuning::kUnroll>(rows);
        await_launch_before(rows.line.first(), rows.line.last());
      }
      State states[Source::kSize];
      if (rows.lane < rows.lanes) {
        fold_joined<Tuning::kUnroll>(fold, rows, states);
      } else {
#pragma unroll
        for (int c = 0; c < Source::kSize; ++c) states[c] = fold.identity();
      }
      const auto sink = [&](int column, const State& state) {
        const Index number = tile * axis.size + column;
        sink_state(step, fold, state, base.out + column * axis.out,
                   scope.shares_parts() ? number : number * step.parts + part);
      };
      if constexpr (!Scope::kMeets) {
        combine_joined(fold, step, rows, states, sink);
      } else {
        combine_joined(fold, step, rows, states, [&](int column, const State& state) {
          scope.meeting().template slot<State>(turn, part)[column] = state;
        });
        scope.merge_columns(fold, columns, turn, sink);
      }
    }
}

}  // namespace ndfold::cuda
