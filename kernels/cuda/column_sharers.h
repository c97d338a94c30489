// Columns whose states lie in shared memory, several of each: how a block's threads share the merging.
#pragma once
#include "kernels/cuda/combine_rows.h"

namespace ndfold::cuda {

/// How threads share columns of which there are `columns` at a time: a power of two of neighbours each.
struct ColumnSharers {
  int each = kWarp;
  __device__ explicit ColumnSharers(int columns) {
    while (each > 1 && each * columns > threads_of_block()) each /= 2;
  }
  __device__ int lane() const { return thread_of_block() % each; }
  /// Calls visit(column, whether it is one) alike in all threads of a warp.
  template <class Visit>
  __device__ void visit_columns(int columns, const Visit& visit) const {
    const int groups = threads_of_block() / each;
    for (int first = 0; first < columns; first += groups) {
      const int column = first + thread_of_block() / each;
      visit(column, column < columns);
    }
  }
};

/// `rows` states of each of `columns` columns, state `row` at place(column, row); visit(column, state) is called by one
/// thread each. All of them are there, and who writes there again waits for all threads.
template <class F, class Place, class Visit>
__device__ void merge_states(const F& fold, int columns, int rows, const Place& place, const Visit& visit) {
  const ColumnSharers sharers(columns);
  const int first = sharers.lane(), each = sharers.each, count = first < rows ? (rows - first + each - 1) / each : 0;
  sharers.visit_columns(columns, [&](int column, bool is_there) {
    typename F::State state = fold.identity();
    if (is_there && count > 0)
      state = combine_several(fold, count, [&](int i) { return read_state(place(column, first + i * each)); });
    state = combine_lanes(fold, state, 1, each);
    if (is_there && first == 0) visit(column, state);
  });
}

/// Over a block's rows of lanes, as many columns at a time as `bytes` of shared memory hold states of; visit(column of
/// the panel, state) is called by one thread each. Columns are numbered from lane element `first` on. A lane's columns
/// lie a row of lanes apart, which is odd where lanes are many, so that lanes share no bank.
template <int kColumns, class F, class Lanes, class Visit>
__device__ void meet_columns(const F& fold, const typename F::State (&states)[kColumns], const Lanes& lanes, int first,
                             int width, int bytes, const Visit& visit) {
  using State = typename F::State;
  static_assert((kColumns & (kColumns - 1)) == 0);
  const auto block = cg::this_thread_block();
  auto* const area = reinterpret_cast<State*>(shared_memory());
  const int rows = lanes.rows(), room = bytes / static_cast<int>(sizeof(State)) / rows;  // of columns, at least one
  int together = kColumns;                                                               // of a lane's columns
  while (together > room) together /= 2;
  const int wanted = spaced_lanes(lanes.across), apart = wanted < room / together ? wanted : room / together;
  const int most = apart * together;
  const auto place = [&](int column, int row) {
    return area + (row * together + (column & (together - 1))) * apart + column / together;
  };
  for (int begin = 0; begin < width; begin += most) {
    const int count = width - begin < most ? width - begin : most;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int column = lanes.first_column(kColumns) + c * lanes.column_step() - first - begin;
      if (column >= 0 && column < count) *place(column, lanes.row()) = states[c];
    }
    block.sync();
    merge_states(fold, count, rows, place, [&](int column, const State& state) { visit(begin + column, state); });
    block.sync();  // the area is used again
  }
}

}  // namespace ndfold::cuda
