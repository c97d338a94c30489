// One state from a state a lane: over the lanes of a warp, a block, a cluster. Every lane comes, and every lane goes
// away with the whole.
#pragma once
#include "kernels/cuda/dialect.h"
#include "kernels/cuda/moments_fold.h"
#include "kernels/folds/fold.h"

namespace ndfold::cuda {

/// Folds of {max, sum}: meeting one by one, states would cost two exponentials each time.
template <class F>
concept MeasuredFold = requires(typename F::State s) {
  F::shrink(s.max, s.max);
  s.sum;
};

/// Over lanes of a warp whose numbers differ in the bits from `from` up to below `to`, both powers of two.
template <class Value, class Combine>
__device__ Value meet_lanes(Value value, int from, int to, const Combine& combine) {
  const auto warp = cg::tiled_partition<kWarp>(cg::this_thread_block());
  for (int mask = from; mask < to; mask *= 2) value = combine(value, warp.shfl_xor(value, mask));
  return value;
}

/// Folds of a value and its index, where elements are values.
template <class F>
concept ArgFold = requires {
  requires std::is_same_v<typename F::Values::Value, typename F::Value>;
};

/// Folds of states that are values and indices, elements or merged ones.
template <class F>
concept IndexedFold = requires(typename F::State s) {
  typename F::Values;
  s.index;
};

template <class F>
__device__ typename F::State combine_lanes(const F& fold, typename F::State state, int from, int to) {
  if constexpr (MeasuredFold<F>) {  // the maximum of all, an exponential a lane, the sum
    using A = decltype(state.max);
    const A max = meet_lanes(state.max, from, to, [](A a, A b) { return folds::maximum(a, b); });
    return {max, meet_lanes(state.sum * F::shrink(state.max, max), from, to, [](A a, A b) { return a + b; })};
  } else if constexpr (IndexedFold<F>) {  // the best value of all, then the first place of it
    const auto best =
        meet_lanes(state.value, from, to, [](auto a, auto b) { return typename F::Values().combine(a, b); });
    const Index mine = F::same(state.value, best) ? state.index : std::numeric_limits<Index>::max();
    return {best, meet_lanes(mine, from, to, [](Index a, Index b) { return a < b ? a : b; })};
  } else if constexpr (MomentsFold<F>) {
    using State = typename F::State;
    const auto sum = [&](auto x) { return meet_lanes(x, from, to, [](auto a, auto b) { return a + b; }); };
    const auto warp = cg::tiled_partition<kWarp>(cg::this_thread_block());
    const auto near = warp.shfl(state.mean, static_cast<unsigned>(lane_of_warp() & ~(to - from)));
    const auto count = sum(state.count);
    const auto share = state.count == 0 ? 0 : state.count * reciprocal(count);
    const auto mean = near + sum(share == 0 ? 0 : (state.mean - near) * share), distance = state.mean - mean;
    return State{count, mean, sum(share == 0 ? 0 : state.variance * share + distance * (distance * share))};
  } else {
    return meet_lanes(state, from, to, [&](const auto& a, const auto& b) { return fold.combine(a, b); });
  }
}

/// States read(0) … read(count - 1), one after the other; where combining takes exponentials, the maximum first.
template <class F, class Read>
__device__ typename F::State combine_several(const F& fold, int count, const Read& read) {
  if constexpr (MeasuredFold<F>) {
    auto max = read(0).max;
    for (int i = 1; i < count; ++i) max = folds::maximum(max, read(i).max);
    decltype(max) sum = 0;
    for (int i = 0; i < count; ++i) {
      const auto state = read(i);
      sum += state.sum * F::shrink(state.max, max);
    }
    return {max, sum};
  } else if constexpr (MomentsFold<F>) {
    return merge_moments<typename F::State>(read(0).mean, [&](const auto& visit) {
      for (int i = 0; i < count; ++i) visit(read(i));
    });
  } else {
    typename F::State whole = read(0);
    for (int i = 1; i < count; ++i) whole = fold.combine(whole, read(i));
    return whole;
  }
}

/// A state and those of a batch, in registers; a missing one is the identity.
template <int kCount, class F>
__device__ typename F::State combine_batch(const F& fold, typename F::State state,
                                           const typename F::State (&batch)[kCount]) {
  if constexpr (MeasuredFold<F>) {
    auto max = state.max;
#pragma unroll
    for (int i = 0; i < kCount; ++i) max = folds::maximum(max, batch[i].max);
    auto sum = state.sum * F::shrink(state.max, max);
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum += batch[i].sum * F::shrink(batch[i].max, max);
    return {max, sum};
  } else if constexpr (MomentsFold<F>) {
    return merge_moments<typename F::State>(state.count == 0 ? batch[0].mean : state.mean, [&](const auto& visit) {
      visit(state);
#pragma unroll
      for (int i = 0; i < kCount; ++i) visit(batch[i]);
    });
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) state = fold.combine(state, batch[i]);
    return state;
  }
}

/// A copy of its own: compilers that watch memory do not look into the arguments of calls.
template <class State>
__device__ State read_state(const State* from) {
  const State state = *from;
  return state;
}

template <class State>
__device__ State* exchange_area() {
  static_assert(sizeof(State) * kWarp <= kExchangeBytes);
  return reinterpret_cast<State*>(shared_memory());
}

/// Over a block: warps first, then one state a warp. No barrier follows, so the next time takes another turn's area.
template <int kTurn, class F>
__device__ typename F::State combine_block_in_turn(const F& fold, typename F::State state) {
  const auto block = cg::this_thread_block();
  auto* const area = exchange_area<typename F::State>() + kTurn * kWarp;
  const int warps = threads_of_block() / kWarp, lane = lane_of_warp();
  state = combine_lanes(fold, state, 1, kWarp);
  if (warps == 1) return state;
  if (lane == 0) area[thread_of_block() / kWarp] = state;
  block.sync();  // states of all warps are there
  return combine_lanes(fold, lane < warps ? read_state(area + lane) : fold.identity(), 1, kWarp);
}

template <class F>
__device__ typename F::State combine_block(const F& fold, typename F::State state) {
  const auto block = cg::this_thread_block();
  state = combine_block_in_turn<0>(fold, state);
  if (threads_of_block() > kWarp) block.sync();  // the area is used again
  return state;
}

/// Over all lanes of a row: of a warp at most, or of the block.
template <int kTurn, class F>
__device__ typename F::State combine_lanes_of_row(const F& fold, typename F::State state, int lanes) {
  return lanes > kWarp ? combine_block_in_turn<kTurn>(fold, state) : combine_lanes(fold, state, 1, lanes);
}

/// Over the blocks of a cluster, one state each, which all lanes of a block know. Each leaves it in the shared memory
/// of all, which none of them is to use since all blocks met last: none then has to wait until others have read.
template <class F>
__device__ typename F::State exchange_in_cluster(const F& fold, typename F::State state) {
  using State = typename F::State;
  const auto cluster = this_cluster();
  static_assert(2 * sizeof(State) * kWarp <= kExchangeBytes / 2);  // turns of blocks lie before
  auto* const area = reinterpret_cast<State*>(shared_memory() + kExchangeBytes / 2);
  const int blocks = static_cast<int>(cluster.num_blocks()), thread = thread_of_block(), lane = lane_of_warp();
  if (thread < blocks) cluster.map_shared_rank(area, static_cast<unsigned>(thread))[cluster.block_rank()] = state;
  cluster.sync();  // every block's state is here
  return combine_lanes(fold, lane < blocks ? read_state(area + lane) : fold.identity(), 1, kWarp);
}

template <class F>
__device__ typename F::State combine_cluster(const F& fold, typename F::State state) {
  const auto read_cluster = cluster_of_readers();
  read_cluster.sync();  // all blocks are there, and have read the states of the tile before
  return exchange_in_cluster(fold, state);
}

}  // namespace ndfold::cuda
