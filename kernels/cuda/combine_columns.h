// The same for columns: lanes `across` apart hold states of the same kColumns outputs. A block's exchange area is
// small, so columns take turns in it.
#pragma once
#include "kernels/cuda/combine_rows.h"

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

template <int kColumns, class F>
__device__ void combine_block_columns(const F& fold, typename F::State (&states)[kColumns], const ColumnLanes& lanes) {
  using State = typename F::State;
  const auto block = cg::this_thread_block();
  auto* const area = exchange_area<State>();
#pragma unroll
  for (int c = 0; c < kColumns; ++c) states[c] = combine_lanes(fold, states[c], lanes.across, kWarp);
  const int slots = lanes.slots(), columns = lanes.across * kColumns;
  if (slots == 1) return;
  const int most = kExchangeBytes / static_cast<int>(sizeof(State)) / slots;
  for (int first = 0; first < columns; first += most) {
    const int count = columns - first < most ? columns - first : most;
    State* const mine = area + lanes.slot() * count;
    if (lanes.speaks()) columns_of_turn(lanes, first, count, states, [&](int at, State& s) { mine[at] = s; });
    block.sync();
    for (int at = thread_of_block(); at < count; at += threads_of_block()) {
      State whole = read_state(area + at);
      for (int slot = 1; slot < slots; ++slot) whole = fold.combine(whole, read_state(area + slot * count + at));
      area[at] = whole;
    }
    block.sync();
    columns_of_turn(lanes, first, count, states, [&](int at, State& s) { s = read_state(area + at); });
    block.sync();  // the area is used again
  }
}

template <int kColumns, class F>
__device__ void combine_cluster_columns(const F& fold, typename F::State (&states)[kColumns],
                                        const ColumnLanes& lanes) {
  using State = typename F::State;
  const auto block = cg::this_thread_block();
  const auto cluster = this_cluster();
  auto* const area = exchange_area<State>();
  combine_block_columns(fold, states, lanes);
  const int columns = lanes.across * kColumns, most = kExchangeBytes / static_cast<int>(sizeof(State)) / 2;
  State* const wholes = area + most;  // beside what the other blocks read
  for (int first = 0; first < columns; first += most) {
    const int count = columns - first < most ? columns - first : most;
    if (lanes.slot() == 0 && lanes.speaks())
      columns_of_turn(lanes, first, count, states, [&](int at, State& s) { area[at] = s; });
    cluster.sync();
    for (int at = thread_of_block(); at < count; at += threads_of_block()) {
      State whole = read_state(cluster.map_shared_rank(area + at, 0u));
      for (unsigned rank = 1; rank < cluster.num_blocks(); ++rank)
        whole = fold.combine(whole, read_state(cluster.map_shared_rank(area + at, rank)));
      wholes[at] = whole;
    }
    block.sync();
    columns_of_turn(lanes, first, count, states, [&](int at, State& s) { s = read_state(wholes + at); });
    cluster.sync();  // nobody leaves, or writes again, while others read
  }
}

}  // namespace ndfold::cuda
