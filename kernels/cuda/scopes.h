// Scopes: which tile and part a block folds, and who folds it together. All have the same words, so that a body is
// written once. States meet in a block first, then beyond it.
#pragma once
#include "kernels/cuda/column_sharers.h"
#include "kernels/cuda/combine_columns.h"
#include "kernels/cuda/meeting.h"

namespace ndfold::cuda {

/// Some lanes of a warp, a block, or a cluster, as the step says: asked once a tile, it costs nothing, and one kernel
/// serves all three. Blocks stride over parts in x and over tiles in y: a grid may be smaller than the work.
class NearScope {
 public:
  static constexpr bool kMeets = false;
  static constexpr bool kHasLongLines = false;  // its softmaxes are of what fits, or of what is read again
  __device__ explicit NearScope(const Arguments& step)
      : scope_(step.scope), lanes_(threads_of_block()), lane_(thread_of_block()) {
    if (scope_ != Scope::lanes) return;
    lanes_ = step.lanes;
    lane_ &= lanes_ - 1;
    tile_ = thread_of_block() >> step.lane_bits;
    tiles_at_once_ = threads_of_block() >> step.lane_bits;
  }

  /// Blocks along x fold parts of the same tile, and all of them learn the whole.
  __device__ bool shares_parts() const { return scope_ == Scope::cluster; }
  __device__ int lane() const { return lane_; }
  __device__ int lanes() const { return lanes_; }
  __device__ Index tiles_at_once() const { return tiles_at_once_; }
  __device__ Index tile_of(Index first) const { return first + tile_; }
  __device__ bool speaks() const { return lane_ == 0 && (!shares_parts() || blockIdx.x == 0); }

  /// Among the lanes of one block; then beyond it, where others fold the rest of the tile.
  template <class F>
  __device__ typename F::State combine_near(const F& fold, typename F::State state) const {
    return scope_ == Scope::lanes ? combine_lanes(fold, state, 1, lanes_) : combine_block(fold, state);
  }
  template <class F>
  __device__ typename F::State combine_far(const F& fold, typename F::State state, int) const {
    return scope_ == Scope::cluster ? combine_cluster(fold, state) : state;
  }
  template <int kColumns, class F>
  __device__ void combine_columns_far(const F& fold, typename F::State (&states)[kColumns], const ColumnLanes& lanes,
                                      int, int, int) const {
    if (scope_ == Scope::cluster) combine_cluster_columns(fold, states, lanes);
  }

  /// Where nobody needs the whole to go on, `bytes` of shared memory are there for states: sink(column, state) is
  /// called by one lane of all who fold the tile. `first`, `width`: as in meet_columns().
  template <int kColumns, class F, class Lanes, class Sink>
  __device__ void share_columns(const F& fold, const typename F::State (&states)[kColumns], const Lanes& lanes,
                                int first, int width, int bytes, int, const Sink& sink) const {
    if (scope_ != Scope::cluster) return meet_columns(fold, states, lanes, first, width, bytes, sink);
    auto* const wholes = reinterpret_cast<typename F::State*>(shared_memory() + bytes);
    meet_columns(fold, states, lanes, first, width, bytes,
                 [&](int column, const typename F::State& state) { wholes[column] = state; });
    share_cluster_columns(fold, wholes, width, sink);
  }

 private:
  Scope scope_;
  int lanes_, lane_, tile_ = 0, tiles_at_once_ = 1;
};

/// Any number of co-resident blocks fold a part each, leave their states in memory, and meet.
class GridScope {
  template <int kColumns>
  static constexpr int kPartsAtOnce = kColumns > 4 ? 2 : 4;  // whose states are on their way together

 public:
  static constexpr bool kMeets = true;
  static constexpr bool kHasLongLines = true;
  __device__ explicit GridScope(const Arguments& step) : parts_(step.parts), meeting_(step) {}

  __device__ bool shares_parts() const { return true; }
  __device__ int lane() const { return thread_of_block(); }
  __device__ int lanes() const { return threads_of_block(); }
  __device__ Index tiles_at_once() const { return 1; }
  __device__ Index tile_of(Index first) const { return first; }
  __device__ bool speaks() const { return blockIdx.x == 0 && thread_of_block() == 0; }
  __device__ const Meeting& meeting() const { return meeting_; }

  template <class F>
  __device__ typename F::State combine_near(const F& fold, typename F::State state) const {
    return combine_block(fold, state);
  }
  template <class F>
  __device__ typename F::State combine_far(const F& fold, typename F::State state, int turn) const {
    using State = typename F::State;
    if (thread_of_block() == 0) *meeting_.slot<State>(turn, blockIdx.x) = state;
    meeting_.meet(turn);
    state = fold.identity();
    for (Index part = thread_of_block(); part < parts_; part += threads_of_block())
      state = fold.combine(state, read_state(meeting_.slot<State>(turn, part)));
    return combine_block(fold, state);
  }

  /// `width` columns of the tile have an output, from lane element `first` on.
  template <int kColumns, class F>
  __device__ void combine_columns_far(const F& fold, typename F::State (&states)[kColumns], const ColumnLanes& lanes,
                                      int first, int width, int turn) const {
    using State = typename F::State;
    constexpr int kAtOnce = kPartsAtOnce<kColumns>;
    State* const mine = meeting_.slot<State>(turn, blockIdx.x);
    if (lanes.slot() == 0 && lanes.speaks())
      columns_of_turn(lanes, first, width, states, [&](int at, State& s) { mine[at] = s; });
    meeting_.meet(turn);
    const int rows = lanes.rows();
#pragma unroll
    for (int c = 0; c < kColumns; ++c) states[c] = fold.identity();
    for (Index part = lanes.row(); part < parts_; part += kAtOnce * rows) {
      State theirs[kColumns][kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const int at = lanes.first_column(kColumns) + c * lanes.column_step() - first;
          const bool there = at >= 0 && at < width && part + i * rows < parts_;
          theirs[c][i] = there ? read_state(meeting_.slot<State>(turn, part + i * rows) + at) : fold.identity();
        }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) states[c] = combine_batch(fold, states[c], theirs[c]);
    }
    combine_block_columns(fold, states, lanes);
  }

  /// Where nobody needs the whole to go on, as in NearScope: every block leaves its columns.
  template <int kColumns, class F, class Lanes, class Sink>
  __device__ void share_columns(const F& fold, const typename F::State (&states)[kColumns], const Lanes& lanes,
                                int first, int width, int bytes, int turn, const Sink& sink) const {
    using State = typename F::State;
    State* const mine = meeting_.slot<State>(turn, blockIdx.x);
    meet_columns(fold, states, lanes, first, width, bytes,
                 [&](int column, const State& state) { mine[column] = state; });
    merge_columns(fold, width, turn, sink);
  }

  /// The same of states that one slot has of all columns.
  template <int kColumns, class F>
  __device__ void leave_columns(typename F::State (&states)[kColumns], const ColumnLanes& lanes, int first, int width,
                                int turn) const {
    auto* const mine = meeting_.slot<typename F::State>(turn, blockIdx.x);
    if (lanes.slot() == 0 && lanes.speaks())
      columns_of_turn(lanes, first, width, states, [&](int at, auto& s) { mine[at] = s; });
  }

  /// After the meeting each warp of the group merges some of the columns that all have left; sink(column, state) is
  /// called by one lane.
  template <class F, class Sink>
  __device__ void merge_columns(const F& fold, int columns, int turn, const Sink& sink) const {
    using State = typename F::State;
    constexpr int kAtOnce = kPartsAtOnce<1>;
    const int parts = static_cast<int>(parts_);  // as many as resident blocks, at most
    int bits = kWarpBits;
    while (bits > 0 && 1 << (bits - 1) >= parts) --bits;
    const int each = 1 << bits, at_once = static_cast<int>(gridDim.x) * threads_of_block() >> bits;
    const int lane = static_cast<int>(blockIdx.x) * threads_of_block() + thread_of_block();
    const State* const states = meeting_.slot<State>(turn, 0);
    const Index pitch = meeting_.pitch();
    meeting_.meet(turn);
    for (int first = 0; first < columns; first += at_once) {
      const int column = first + (lane >> bits);
      State state = fold.identity();
      for (int part = lane & (each - 1); column < columns && part < parts; part += kAtOnce * each) {
        State theirs[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
          theirs[i] =
              part + i * each < parts ? read_state(states + (part + i * each) * pitch + column) : fold.identity();
        state = combine_batch(fold, state, theirs);
      }
      state = combine_lanes(fold, state, 1, each);
      if (column < columns && (lane & (each - 1)) == 0) sink(column, state);
    }
  }

 private:
  Index parts_;
  Meeting meeting_;
};

}  // namespace ndfold::cuda
