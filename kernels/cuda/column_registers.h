// A softmax of columns that fit the registers of their lanes: a lane loads all rows of its slot at once, and they stay
// with it until they are written.
#pragma once
#include "kernels/cuda/column_waiting.h"
#include "kernels/cuda/kept.h"

namespace ndfold::cuda {

/// Where rows of several axes lie stands in shared memory: digits of a place would take the registers of numbers.
struct Places {
  const Index* of;  ///< of all rows, in the input or in the output
  int slot, slots;
};

__device__ inline Places places_of_lane(const Arguments& step, const Index* of) {
  const int bits = made_anew(step.lane_bits);
  return {of, thread_of_block() >> bits, threads_of_block() >> bits};
}

/// A lane's first column of the rows of its slot, one after the other: a sum along one axis, else looked up.
template <bool kLooksUp, class T>
class RowsOfColumn {
 public:
  __device__ RowsOfColumn(T* first, Index stride, const Places& places)
      : at_(kLooksUp ? first : first + places.slot * stride),
        hop_(bytes_apart<T>(places.slots * stride)),
        place_(places.of + places.slot),
        slots_(places.slots) {}
  /// `here`: there is one more.
  __device__ T* next(bool here) {
    T* const now = at_;
    if constexpr (!kLooksUp) {
      at_ = moved(at_, hop_);
      return now;
    }
    const Index place = here ? *place_ : 0;
    place_ += slots_;
    return now + place;
  }

 private:
  T* at_;
  Index hop_;  ///< in bytes
  const Index* place_;
  int slots_;
};

/// Places in the input, and behind them those in the output.
__device__ inline void write_places(const Arguments& step, Index* places) {
  const auto block = cg::this_thread_block();
  for (int row = thread_of_block(); row < step.reduced; row += threads_of_block()) {
    const Offsets at = offsets(step, step.walk, row);
    places[row] = at.in;
    places[row + step.reduced] = at.out;
  }
  block.sync();
}

/// A lane's columns of the rows of its slot: kKept rows at most.
template <class Source, int kKept>
class ColumnsInRegisters {
  using A = typename Source::Value;
  using Element = typename Source::Element;
  using Loaded = typename Kept<Source, kKept>::Loaded;
  static constexpr int kSize = Source::kSize;

 public:
  /// Of `count` rows.
  __device__ ColumnsInRegisters(const Arguments& step, const Panel<kSize>& panel, int count)
      : step_(step), panel_(panel), count_(count) {}

  template <bool kLooksUp>
  __device__ void load(const Places& places, A scale) {
    Loaded packs[kKept];
    kept_.begin(packs, scale);
    RowsOfColumn<kLooksUp, const Element> rows(reinterpret_cast<const Element*>(step_.in) + panel_.in,
                                               step_.walk.near[0].in, places);
    if (panel_.is_whole(step_)) {
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        const Element* const at = rows.next(k < count_);
        if (k < count_) packs[k] = whole_pack(at);
      }
    } else {
      const Index apart = step_.lane_axis.in * panel_.pitch;
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        const Element* at = rows.next(k < count_);
        auto pack = std::bit_cast<PackOf<Source>>(packs[k]);
#pragma unroll
        for (int c = 0; c < kSize; ++c, at += apart)
          if (k < count_of(c)) pack.at[c] = *at;
        packs[k] = std::bit_cast<Loaded>(pack);
      }
    }
    kept_.keep(packs, count_, scale);
  }

  __device__ Kept<Source, kKept>& kept() { return kept_; }

  /// Writes maps[c](number) of each.
  template <bool kLooksUp, class Out, class Map>
  __device__ void store(const Places& places, const Map (&maps)[kSize]) const {
    RowsOfColumn<kLooksUp, Out> rows(reinterpret_cast<Out*>(step_.out) + panel_.out, step_.walk.near[0].out, places);
    if (panel_.is_whole(step_) && stores_packs<Source, Out>(step_, panel_)) {
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        Out* const at = rows.next(k < count_);
        Out mapped[kSize];
#pragma unroll
        for (int c = 0; c < kSize; ++c) mapped[c] = to_element<Out>(maps[c](kept_.number(k, c)));
        if (k < count_) store_whole(mapped, at);
      }
    } else {
      const Index apart = step_.lane_axis.out * panel_.pitch;
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        Out* at = rows.next(k < count_);
#pragma unroll
        for (int c = 0; c < kSize; ++c, at += apart)
          if (k < count_of(c)) store_element(*at, maps[c](kept_.number(k, c)));
      }
    }
  }

 private:
  __device__ static Loaded whole_pack(const Element* at) {
    return std::bit_cast<Loaded>(*reinterpret_cast<const PackOf<Source>*>(at));
  }

  // Rows of a column: none of one that is not there.
  __device__ int count_of(int column) const { return column >= panel_.low && column < panel_.high ? count_ : 0; }

  const Arguments& step_;
  const Panel<kSize>& panel_;
  int count_;
  Kept<Source, kKept> kept_;
};

/// Over all lanes of a block with the same columns. Maxima and sums have an area each, of a state for every lane.
template <class Source, class F>
__device__ void meet_in_half(int half, const F& fold, typename F::State (&numbers)[Source::kSize],
                             const ColumnLanes& lanes) {
#pragma unroll
  for (auto& number : numbers) number = combine_lanes(fold, number, lanes.across, kWarp);
  if (lanes.slots() > 1)
    combine_slots_directly<true>(fold, numbers, lanes,
                                 shared_memory() + half * threads_of_block() * static_cast<int>(sizeof(numbers)));
}

/// What registers keep, mapped where they keep it: meet(half, fold, numbers) over all lanes with the same columns, then
/// store(maps). Inlined, as are those that call it: what has an address is not in registers.
template <class Source, class Map, int kKept, class F, class Meet, class Store>
[[gnu::always_inline]] inline __device__ void map_kept(const Arguments& step, const F& fold, Kept<Source, kKept>& kept,
                                                       const Meet& meet, const Store& store) {
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  A maxima[kSize], sums[kSize];
  kept.maxima(maxima);
  meet(0, fold.pivot_fold(), maxima);
  kept.template sums_of_powers<std::is_same_v<Map, PowerMap<A>>>(maxima, sums);
  meet(1, folds::Sum<A>(), sums);
  Map maps[kSize];
#pragma unroll
  for (int c = 0; c < kSize; ++c) maps[c] = Map({maxima[c], sums[c]}, kept.scale(), static_cast<A>(step.alpha));
  store(maps);
}

template <class Source, class Out, class Map, int kKept, class F>
[[gnu::always_inline]] inline __device__ void map_in_registers(const Arguments& step, const F& fold,
                                                               const ColumnLanes& lanes, const Places& places,
                                                               ColumnsInRegisters<Source, kKept>& columns) {
  const auto meet = [&](int half, const auto& of, auto& numbers) { meet_in_half<Source>(half, of, numbers, lanes); };
  map_kept<Source, Map, kKept>(step, fold, columns.kept(), meet, [&](const auto& maps) {
    if (step.walk.rank > 1)
      columns.template store<true, Out>(places, maps);
    else
      columns.template store<false, Out>(places, maps);
  });
}

/// All tiles of a block whose lanes have kRows rows each, or one less.
template <int kRows, class Source, class Out, class F>
[[gnu::always_inline]] inline __device__ void map_tiles(const Arguments& step, const F& fold, const ColumnLanes& lanes,
                                                        const Places& places) {
  using A = typename Source::Value;
  const int last = static_cast<int>(step.reduced) - (step.rows_of_lane - 1) * places.slots;  // slots with a last row
  const int count = places.slot < places.slots ? step.rows_of_lane - (places.slot >= last) : 0;
  for (Index tile = blockIdx.y; tile < step.tiles; tile += gridDim.y) {
    const auto panel = panel_of<Source::kSize>(step, tile, lanes);
    ColumnsInRegisters<Source, kRows> columns(step, panel, count);
    const Places from = places_of_lane(step, places.of);
    if (tile == blockIdx.y) {
      if (has_few_blocks()) ask_for_rows<Source, kRows>(step, panel, {0, step.reduced, from.slot, from.slots});
      await_launch_before(panel.in, panel.out, count);
    }
    if (step.walk.rank > 1)
      columns.template load<true>(from, fold.scale);
    else
      columns.template load<false>(from, fold.scale);
    const Places to = places_of_lane(step, places.of + step.reduced);
    if (step.map == MapKind::softmax)
      map_in_registers<Source, Out, typename Kept<Source, kRows>::Powers>(step, fold, lanes, to, columns);
    else
      map_in_registers<Source, Out, LogSoftmaxMap<A>>(step, fold, lanes, to, columns);
  }
}

/// Calls map(std::integral_constant of the rows) for lanes of as many rows as there are at most: what is computed for
/// rows that are not there takes as long as for those that are.
template <int kRows, int kFewest, class Map>
[[gnu::always_inline]] inline __device__ void with_rows_of_lane(const Arguments& step, const Map& map) {
  constexpr int kFewer = kRows - (kRows > 8 ? 2 : 1);
  if constexpr (kFewer >= kFewest)
    if (step.rows_of_lane <= kFewer) return with_rows_of_lane<kFewer, kFewest>(step, map);
  map(std::integral_constant<int, kRows>());
}
template <int kRows>
inline constexpr int kFewestRowsOfLane = kRows > 4 ? kRows / 2 + 1 : 1;

/// Tuning::kUnroll rows a lane at most, of Source::kSize columns: neighbours where rows are whole aligned packs, else
/// as far apart as lanes lie side by side, so that each load has neighbours in the next lanes.
template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    columns_in_registers(const __grid_constant__ Arguments step) {
  using A = typename Source::Value;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const ColumnLanes lanes(step, !step.whole_runs);
  const int slots = lanes.rows(), slot = lanes.row();
  auto* const places =
      reinterpret_cast<Index*>(shared_memory() + 2 * threads_of_block() * static_cast<int>(sizeof(A[Source::kSize])));
  if (step.walk.rank > 1) write_places(step, places);
  constexpr int kRows = Tuning::kUnroll;
  with_rows_of_lane<kRows, kFewestRowsOfLane<kRows>>(step, [&](auto rows) {
    map_tiles<decltype(rows)::value, Source, typename Sink::Out>(step, fold, lanes, {places, slot, slots});
  });
}

}  // namespace ndfold::cuda
