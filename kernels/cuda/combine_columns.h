// The same for columns: lanes `across` apart hold states of the same kColumns outputs. A block's exchange area is
// small, so columns take turns in it.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/pack.h"
#include "kernels/folds/extremum.h"
#include "kernels/folds/sum.h"

namespace ndfold::cuda {

/// How a block of columns is laid out: `across` lanes side by side (a power of two), slots of whole warps behind each
/// other.
struct ColumnLanes {
  int across;
  __device__ int slot_width() const { return across < kWarp ? kWarp : across; }
  __device__ int slots() const { return threads_of_block() / slot_width(); }
  __device__ int slot() const { return thread_of_block() / slot_width(); }
  __device__ int lane() const { return thread_of_block() % across; }
  /// One lane of each slot and column.
  __device__ bool speaks() const { return thread_of_block() % slot_width() < across; }
};

/// Calls visit(column within the turn, state) for a lane's columns that have this turn.
template <int kColumns, class State, class Visit>
__device__ void columns_of_turn(const ColumnLanes& lanes, int first, int count, State (&states)[kColumns],
                                Visit&& visit) {
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int at = lanes.lane() * kColumns + c - first;
    if (at >= 0 && at < count) visit(at, states[c]);
  }
}

/// States of a lane's columns, side by side.
template <class State, int kColumns>
struct alignas(sizeof(State) * kColumns % 16 == 0 ? 16 : alignof(State)) StatesOfLane {
  State at[kColumns];
};

/// Each lane folds what all slots left of its columns: for numbers that costs less than another meeting.
template <int kColumns, class F>
__device__ void combine_slots_directly(const F& fold, typename F::State (&states)[kColumns], const ColumnLanes& lanes) {
  using State = typename F::State;
  using States = StatesOfLane<State, kColumns>;
  const auto block = cg::this_thread_block();
  auto* const area = reinterpret_cast<States*>(shared_memory()) + lanes.lane();
  States mine;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) mine.at[c] = states[c];
  if (lanes.speaks()) area[lanes.slot() * lanes.across] = mine;
  block.sync();
  States whole = read_state(area);
  for (int slot = 1; slot < lanes.slots(); ++slot) {
    const States other = read_state(area + slot * lanes.across);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) whole.at[c] = fold.combine(whole.at[c], other.at[c]);
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) states[c] = whole.at[c];
  block.sync();  // the area is used again
}

/// Over the slots of a block, and over the lanes of a slot that share columns.
template <int kColumns, class F>
__device__ void combine_block_columns(const F& fold, typename F::State (&states)[kColumns], const ColumnLanes& lanes) {
  using State = typename F::State;
  if constexpr (MeasuredFold<F>) {  // the maxima of all, an exponential a lane and column, the sums
    using A = decltype(states[0].max);
    A maxima[kColumns], sums[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) maxima[c] = states[c].max;
    combine_block_columns(folds::Max<A>(), maxima, lanes);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[c] = states[c].sum * F::shrink(states[c].max, maxima[c]);
    combine_block_columns(folds::Sum<A>(), sums, lanes);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) states[c] = {maxima[c], sums[c]};
    return;
  }
  const auto block = cg::this_thread_block();
  auto* const area = exchange_area<State>();
#pragma unroll
  for (int c = 0; c < kColumns; ++c) states[c] = combine_lanes(fold, states[c], lanes.across, kWarp);
  const int slots = lanes.slots(), columns = lanes.across * kColumns;
  if (slots == 1) return;
  const int most = kExchangeBytes / static_cast<int>(sizeof(State)) / slots;
  if constexpr (std::is_floating_point_v<State>)
    if (columns <= most) return combine_slots_directly(fold, states, lanes);
  for (int first = 0; first < columns; first += most) {
    const int count = columns - first < most ? columns - first : most;
    State* const mine = area + lanes.slot() * count;
    if (lanes.speaks()) columns_of_turn(lanes, first, count, states, [&](int at, State& s) { mine[at] = s; });
    block.sync();
    for (int at = thread_of_block(); at < count; at += threads_of_block()) {
      const auto read = [&](int slot) { return read_state(area + slot * count + at); };
      const State whole = combine_several(fold, slots, read);
      area[at] = whole;
    }
    block.sync();
    columns_of_turn(lanes, first, count, states, [&](int at, State& s) { s = read_state(area + at); });
    block.sync();  // the area is used again
  }
}

/// Over the blocks of a cluster; all lanes of a block know its states.
template <int kColumns, class F>
__device__ void combine_cluster_columns(const F& fold, typename F::State (&states)[kColumns],
                                        const ColumnLanes& lanes) {
  using State = typename F::State;
  const auto block = cg::this_thread_block();
  const auto cluster = this_cluster();
  auto* const area = exchange_area<State>();
  const int columns = lanes.across * kColumns, most = kExchangeBytes / static_cast<int>(sizeof(State)) / 2;
  State* const wholes = area + most;  // beside what the other blocks read
  for (int first = 0; first < columns; first += most) {
    const int count = columns - first < most ? columns - first : most;
    if (lanes.slot() == 0 && lanes.speaks())
      columns_of_turn(lanes, first, count, states, [&](int at, State& s) { area[at] = s; });
    cluster.sync();
    for (int at = thread_of_block(); at < count; at += threads_of_block()) {
      const auto read = [&](int rank) {
        return read_state(cluster.map_shared_rank(area + at, static_cast<unsigned>(rank)));
      };
      const State whole = combine_several(fold, static_cast<int>(cluster.num_blocks()), read);
      wholes[at] = whole;
    }
    block.sync();
    columns_of_turn(lanes, first, count, states, [&](int at, State& s) { s = read_state(wholes + at); });
    cluster.sync();  // nobody leaves, or writes again, while others read
  }
}

}  // namespace ndfold::cuda
