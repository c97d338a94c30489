// The same for columns: lanes `across` apart hold states of the same kColumns outputs. A block's exchange area is
// small, so columns take turns in it.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/pack.h"
#include "kernels/folds/extremum.h"
#include "kernels/folds/sum.h"

namespace ndfold::cuda {

/// How a block of columns is laid out: `across` lanes side by side (a power of two, for a division took as long as a
/// row's loads), slots of whole warps behind each other.
struct ColumnLanes {
  int across, bits;
  bool apart;  ///< a lane's columns are `across` apart, else neighbours

  __device__ ColumnLanes(const Arguments& step, bool are_apart)
      : across(step.lanes), bits(step.lane_bits), apart(are_apart) {}
  __device__ int slot_bits() const { return bits < kWarpBits ? kWarpBits : bits; }
  __device__ int slots() const { return threads_of_block() >> slot_bits(); }
  __device__ int slot() const { return thread_of_block() >> slot_bits(); }
  __device__ int lane() const { return thread_of_block() & (across - 1); }
  /// Rows side by side, and the thread's among them.
  __device__ int rows() const { return threads_of_block() >> bits; }
  __device__ int row() const { return thread_of_block() >> bits; }
  /// Of a lane's columns within the panel: that of column c is first_column() + c * column_step().
  __device__ int first_column(int columns) const { return apart ? lane() : lane() * columns; }
  __device__ int column_step() const { return apart ? across : 1; }
  /// One lane of each slot and column.
  __device__ bool speaks() const { return (thread_of_block() & ((1 << slot_bits()) - 1)) < across; }
};

/// Calls visit(column within the turn, state) for a lane's columns that have this turn.
template <int kColumns, class State, class Visit>
__device__ void columns_of_turn(const ColumnLanes& lanes, int first, int count, State (&states)[kColumns],
                                Visit&& visit) {
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int at = lanes.first_column(kColumns) + c * lanes.column_step() - first;
    if (at >= 0 && at < count) visit(at, states[c]);
  }
}

/// Numbers of a lane's columns over the lanes of a warp that have the same ones: side by side, so that no shuffle waits
/// for that of another column.
template <int kColumns, class F, class Value>
__device__ void combine_lanes_of_columns(const F& fold, Value (&numbers)[kColumns], int across) {
  const auto warp = cg::tiled_partition<kWarp>(cg::this_thread_block());
#pragma unroll 1
  for (int mask = across; mask < kWarp; mask *= 2)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) numbers[c] = fold.combine(numbers[c], warp.shfl_xor(numbers[c], mask));
}

/// Each lane folds what all slots left of its columns in an area of `area`: for numbers that costs less than another
/// meeting. Who writes there again has met all lanes since they read. kSpares: registers, so that two slots are
/// read at a time.
template <bool kSpares = false, int kColumns, class F>
__device__ void combine_slots_directly(const F& fold, typename F::State (&states)[kColumns], const ColumnLanes& lanes,
                                       std::byte* area) {
  using State = typename F::State;
  using States = StatesOfLane<State, kColumns>;
  const auto block = cg::this_thread_block();
  auto* const column = reinterpret_cast<States*>(area) + lanes.lane();
  States whole;
#pragma unroll
  for (int c = 0; c < kColumns; ++c) whole.at[c] = states[c];
  if (lanes.speaks()) column[lanes.slot() * lanes.across] = whole;
  block.sync();
  whole = read_state(column);
  const auto fold_slot = [&](int slot) {
    const States other = read_state(column + slot * lanes.across);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) whole.at[c] = fold.combine(whole.at[c], other.at[c]);
  };
  const int slots = lanes.slots();
  if constexpr (kSpares) {
#pragma unroll 2
    for (int slot = 1; slot < slots; ++slot) fold_slot(slot);
  } else {
    for (int slot = 1; slot < slots; ++slot) fold_slot(slot);
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) states[c] = whole.at[c];
}

template <int kColumns, class F>
__device__ void combine_block_columns(const F& fold, typename F::State (&states)[kColumns], const ColumnLanes& lanes);

/// The same, not inlined and by value: where it is seldom called, it only makes code long.
template <int kColumns, class F>
[[gnu::noinline]] __device__ StatesOfLane<typename F::State, kColumns> combine_wide_columns(
    F fold, StatesOfLane<typename F::State, kColumns> states, ColumnLanes lanes) {
  combine_block_columns(fold, states.at, lanes);
  return states;
}

/// The same as combine_block_columns(), for numbers of which now a maximum meets and now a sum: each has its half of
/// the area, so that a meeting is one barrier.
template <int kHalf, int kColumns, class F>
__device__ void combine_in_turn(const F& fold, typename F::State (&numbers)[kColumns], const ColumnLanes& lanes) {
  constexpr int kBytes = kExchangeBytes / 2;
  if (lanes.slots() * lanes.across * static_cast<int>(sizeof(numbers)) > kBytes) {
    StatesOfLane<typename F::State, kColumns> states;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) states.at[c] = numbers[c];
    states = combine_wide_columns(fold, states, lanes);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) numbers[c] = states.at[c];
    return;
  }
  combine_lanes_of_columns(fold, numbers, lanes.across);
  if (lanes.slots() > 1) combine_slots_directly(fold, numbers, lanes, shared_memory() + kHalf * kBytes);
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
    combine_in_turn<0>(folds::Max<A>(), maxima, lanes);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[c] = states[c].sum * F::shrink(states[c].max, maxima[c]);
    combine_in_turn<1>(folds::Sum<A>(), sums, lanes);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) states[c] = {maxima[c], sums[c]};
    return;
  }
  const auto block = cg::this_thread_block();
  auto* const area = exchange_area<State>();
  if constexpr (std::is_arithmetic_v<State>)
    combine_lanes_of_columns(fold, states, lanes.across);
  else
#pragma unroll
    for (int c = 0; c < kColumns; ++c) states[c] = combine_lanes(fold, states[c], lanes.across, kWarp);
  const int slots = lanes.slots(), columns = lanes.across * kColumns;
  if (slots == 1) return;
  if constexpr (std::is_floating_point_v<State>)
    if (columns * slots * static_cast<int>(sizeof(State)) <= kExchangeBytes) {
      combine_slots_directly(fold, states, lanes, shared_memory());
      return block.sync();  // the area is used again
    }
  const int most = kExchangeBytes / static_cast<int>(sizeof(State)) / slots;
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

/// A share of columns whose states every block of a cluster has at the same place; visit(column, state) is called by
/// one lane. Neighbouring lanes read a column's from all blocks at once: one after the other, each would take a trip
/// through the cluster.
template <class F, class Visit>
__device__ void merge_over_cluster(const F& fold, typename F::State* states, int columns, int share, int shares,
                                   const Visit& visit) {
  const auto cluster = this_cluster();
  const int blocks = static_cast<int>(cluster.num_blocks());
  int each = 1;
  while (each < blocks) each *= 2;
  const int rank = thread_of_block() & (each - 1), at_once = threads_of_block() / each;
  for (int base = share * at_once; base < columns; base += shares * at_once) {
    const int column = base + thread_of_block() / each;
    const bool there = column < columns && rank < blocks;
    typename F::State state = fold.identity();
    if (there) state = read_state(cluster.map_shared_rank(states + column, static_cast<unsigned>(rank)));
    state = combine_lanes(fold, state, 1, each);
    if (there && rank == 0) visit(column, state);
  }
}

/// States that every block of a cluster has of so many columns; sink(column, state) is called by one lane of all
/// blocks.
template <class F, class Sink>
__device__ void share_cluster_columns(const F& fold, typename F::State* states, int columns, const Sink& sink) {
  const auto cluster = this_cluster();
  const auto read_cluster = cluster_of_readers();
  cluster.sync();
  merge_over_cluster(fold, states, columns, static_cast<int>(cluster.block_rank()),
                     static_cast<int>(cluster.num_blocks()), sink);
  read_cluster.sync();  // nobody leaves, or writes again, while others read
}

/// Over the blocks of a cluster; all lanes of a block know its states.
template <int kColumns, class F>
__device__ void combine_cluster_columns(const F& fold, typename F::State (&states)[kColumns],
                                        const ColumnLanes& lanes) {
  using State = typename F::State;
  const auto block = cg::this_thread_block();
  const auto cluster = this_cluster();
  const auto read_cluster = cluster_of_readers();
  auto* const area = exchange_area<State>();
  const int columns = lanes.across * kColumns, most = kExchangeBytes / static_cast<int>(sizeof(State)) / 2;
  State* const wholes = area + most;  // beside what the other blocks read
  for (int first = 0; first < columns; first += most) {
    const int count = columns - first < most ? columns - first : most;
    if (lanes.slot() == 0 && lanes.speaks())
      columns_of_turn(lanes, first, count, states, [&](int at, State& s) { area[at] = s; });
    cluster.sync();
    merge_over_cluster(fold, area, count, 0, 1, [&](int at, const State& state) { wholes[at] = state; });
    block.sync();
    columns_of_turn(lanes, first, count, states, [&](int at, State& s) { s = read_state(wholes + at); });
    read_cluster.sync();  // nobody leaves, or writes again, while others read
  }
}

}  // namespace ndfold::cuda
