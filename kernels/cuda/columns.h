// Body columns: lanes along a kept axis. A block folds a panel of neighbouring outputs; a lane has a pack of them, and
// slots of lanes behind each other take every n-th row.
#pragma once
#include "kernels/cuda/column_waiting.h"

namespace ndfold::cuda {

/// A panel that there was no room for: not inlined, for it would double the code of those that wait. By value: what has
/// an address is not in registers.
template <class Source, int kUnroll, class F, class Waiting>
[[gnu::noinline]] __device__ StatesOfLane<typename F::State, Source::kSize> fold_without_room(
    F fold, const Arguments& step, Panel<Source::kSize> panel, RowsOfSlot rows, int places, int lane, Waiting waiting) {
  StatesOfLane<typename F::State, Source::kSize> states;
  fold_panel<Source, kUnroll>(fold, step, panel, rows, places, lane, waiting, states.at);
  return states;
}

/// Folds a panel and writes what becomes of each of its elements.
template <class Source, class Sink, class Waiting, int kUnroll, class F, class Scope>
__device__ void map_columns(const F& fold, const Arguments& step, const Scope& scope, const ColumnLanes& lanes,
                            const Panel<Source::kSize>& panel, const RowsOfSlot& rows, int turn) {
  using A = typename Source::Value;
  using Out = typename Sink::Out;
  constexpr int kSize = Source::kSize;
  const int places = Waiting::kWaits ? places_of_row<Source>(step, lanes.across) : 0;
  Waiting waiting(step);
  typename F::State states[kSize];
  RowsOfLane mine;
  if constexpr (Waiting::kWaits) {
    if (waiting.hold((rows.end - rows.begin) * places)) {
      mine = request_panel<Source>(step, panel, rows, places, lanes.lane(), waiting);
      fold_waiting<kUnroll, Source>(fold, lanes, mine, waiting, states);
    } else {
      const auto found = fold_without_room<Source, kUnroll>(fold, step, panel, rows, places, lanes.lane(), waiting);
#pragma unroll
      for (int c = 0; c < kSize; ++c) states[c] = found.at[c];
      combine_block_columns(fold, states, lanes);
    }
  } else {
    fold_panel<Source, kUnroll>(fold, step, panel, rows, places, lanes.lane(), waiting, states);
    combine_block_columns(fold, states, lanes);
  }
  scope.combine_columns_far(fold, states, lanes, panel.first, panel.width, turn);
  const auto map = [&]<class Map>(Map) {
    if constexpr (Waiting::kWaits)
      if (waiting.holds())  // all lanes alike: calls of what is not inlined do not diverge
        return map_waiting<Source, Out, kUnroll, Map>(step, panel, rows, mine, waiting, states);
    StatesOfLane<typename F::State, kSize> found;
#pragma unroll
    for (int c = 0; c < kSize; ++c) found.at[c] = states[c];
    map_panel<Source, Out, Map>(step, panel, rows, places, lanes.lane(), waiting, found);
  };
  if (step.map == MapKind::softmax)
    map(SoftmaxMap<A>());
  else
    map(LogSoftmaxMap<A>());
}

/// Results of a panel, or states of its part: all lanes learn of each column, and those of one slot write.
template <class F, class Scope, int kSize>
__device__ void sink_columns(const F& fold, const Arguments& step, const Scope& scope,
                             typename F::State (&states)[kSize], const ColumnLanes& lanes, const Panel<kSize>& panel,
                             Index part, int turn) {
  combine_block_columns(fold, states, lanes);
  if constexpr (Scope::kMeets) {
    scope.template leave_columns<kSize, F>(states, lanes, panel.first, panel.width, turn);
    scope.merge_columns(fold, panel.width, turn, sink_of_column<F>(fold, step, scope, lanes, panel, part));
  } else {
    scope.combine_columns_far(fold, states, lanes, panel.first, panel.width, turn);
    if (lanes.row() != 0 || (scope.shares_parts() && blockIdx.x != 0)) return;
    StatePlaces to = places_of(step, panel);
    if (!scope.shares_parts()) {
      to.number = to.number * step.parts + part;
      to.number_step *= step.parts;
    }
    sink_states(step, fold, states, to);
  }
}

/// Whether results may leave as packs without a meeting. Small states of several axes had no registers for that: sums
/// bf16 of [32,512,8,512] over axes 0 and 2 took 44 us for 42.
template <class Source, class F, class Scope>
inline constexpr bool kMayBeAlone = !Scope::kMeets && (kMeetAtOnce<typename F::State> || kIsInLine<Source>);

/// Results of a panel whose columns no other lane has, as packs.
template <class F, int kSize>
__device__ void sink_alone(const F& fold, const Arguments& step, const typename F::State (&states)[kSize],
                           const Panel<kSize>& panel, Index part) {
  StatePlaces to = places_of(step, panel);
  to.number = to.number * step.parts + part;
  to.number_step *= step.parts;
  sink_states(step, fold, states, to);
}

/// Whether a kernel looks up where rows lie: a reduction's along several axes.
template <class Source, class Sink>
inline constexpr bool kLooksUpRows = !Sink::kMaps && !kIsInLine<Source>;
template <class Source, class Sink>
using PlacesOfRows = std::conditional_t<kLooksUpRows<Source, Sink>, RowPlaces, NoRowPlaces>;

template <class Source, class F, class Scope, class Sink, class Residency, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) columns(const __grid_constant__ Arguments step) {
  constexpr int kSize = Source::kSize;
  using Waiting = typename Residency::template Place<InPlace<Source>>;
  const Scope scope(step);
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const ColumnLanes lanes(step, kIsApart<Source>);
  const PlacesOfRows<Source, Sink> places(step);
  int turn = 0;
  for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y, ++turn)
    for (Index part = blockIdx.x; part < step.parts; part += gridDim.x) {
      const Index begin = part * step.part, end = begin + step.part < step.reduced ? begin + step.part : step.reduced;
      const Panel<kSize> panel = panel_of<kSize>(step, tile, lanes);
      const RowsOfSlot rows{begin, end, lanes.row(), lanes.rows(), places.from(begin)};
      if (turn == 0 && part == blockIdx.x) {
        if (has_few_blocks()) ask_for_rows<Source, Tuning::kUnroll>(step, panel, rows);
        await_launch_before(panel.in, panel.out, rows.end);
      }
      if constexpr (Sink::kMaps) {
        map_columns<Source, Sink, Waiting, Tuning::kUnroll>(fold, step, scope, lanes, panel, rows, turn);
      } else {
        typename F::State states[kSize];
        fold_panel<Source, Tuning::kUnroll>(fold, step, panel, rows, 0, lanes.lane(), Waiting(step), states);
        if (kMayBeAlone<Source, F, Scope> && lanes.rows() == 1 && !scope.shares_parts())
          sink_alone(fold, step, states, panel, part);
        else if constexpr (kMeetAtOnce<typename F::State>)
          share_columns(fold, step, scope, states, lanes, panel, part, turn);
        else
          sink_columns(fold, step, scope, states, lanes, panel, part, turn);
      }
    }
}

}  // namespace ndfold::cuda
