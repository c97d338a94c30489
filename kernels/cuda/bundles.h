// Body rows, short ones that lie one after the other in memory: a block brings a bundle of them into shared memory, as
// if it were one long row, while it folds the bundle before; a lane, or a few, fold a row from there.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/row_batch.h"
#include "kernels/cuda/sinks.h"

namespace ndfold::cuda {

/// Begins to copy elements to shared memory, as many bytes at a time as the source's alignment allows; those that no
/// copy takes whole are there when it returns.
template <class T>
__device__ void bring(const T* from, T* to, int count) {
  const int thread = thread_of_block(), threads = threads_of_block();
  const int bytes = count * static_cast<int>(sizeof(T));
  int done = 0;  // bytes
  const auto copy = [&]<class Piece>(Piece) {
    constexpr int kPiece = sizeof(Piece);
    done = bytes / kPiece * kPiece;
#pragma unroll 4
    for (int i = thread; i < done / kPiece; i += threads)
      copy_later(reinterpret_cast<Piece*>(to) + i, reinterpret_cast<const Piece*>(from) + i);
  };
  using Wide = Pack<std::uint32_t, 4>;
  if (is_aligned<Wide>(from))
    copy(Wide());
  else if (is_aligned<std::uint32_t>(from))
    copy(std::uint32_t());
  if (done < bytes)
    for (int i = done / static_cast<int>(sizeof(T)) + thread; i < count; i += threads) to[i] = from[i];
  end_copies();
}

/// From shared memory to where elements may begin anywhere.
template <class T>
__device__ void send(const T* from, T* to, int count) {
  using P = Pack<T, kVector<T>>;
  const int thread = thread_of_block(), threads = threads_of_block();
  int done = 0;
  if (is_aligned<P>(to)) {
    const int packs = count / kVector<T>;
    for (int i = thread; i < packs; i += threads) reinterpret_cast<P*>(to)[i] = reinterpret_cast<const P*>(from)[i];
    done = packs * kVector<T>;
  }
  for (int i = done + thread; i < count; i += threads) to[i] = from[i];
}

/// Which rows of a bundle a lane folds, and its place in them. A warp's rows lie `spacing` apart, so that its lanes
/// find them in different banks of shared memory: lanes · odd numbers, whatever the length of a row.
struct LanesOfBundle {
  int lanes, lane_bits, lane, row, rows_at_once;

  __device__ explicit LanesOfBundle(const Arguments& step) : lanes(step.lanes), lane_bits(step.lane_bits) {
    const int warp = thread_of_block() / kWarp, in_warp = lane_of_warp(), spacing = 1 << step.spacing_bits;
    lane = in_warp & (lanes - 1);
    row = (warp >> step.spacing_bits) * (kWarp >> lane_bits) * spacing + (in_warp >> lane_bits) * spacing +
          (warp & (spacing - 1));
    rows_at_once = threads_of_block() >> lane_bits;
  }
};

/// Rows of a bundle in packs of kSize elements, of which a lane takes every `lanes`-th.
template <class Source>
class RowsOfBundle {
 public:
  static constexpr int kSize = Source::kSize;
  using Element = typename Source::Element;
  using P = Pack<Element, kSize>;

  __device__ RowsOfBundle(const Arguments& step, const LanesOfBundle& lanes, Element* elements)
      : packs_(static_cast<int>(step.lane_axis.size) / kSize), lanes_(lanes), at_(reinterpret_cast<P*>(elements)) {}

  __device__ int packs() const { return packs_; }
  /// Packs of every lane, or 0 where lanes differ.
  __device__ int even_count() const {
    const int count = packs_ >> lanes_.lane_bits;
    return count << lanes_.lane_bits == packs_ ? count : 0;
  }
  /// The lane's first pack of a row.
  __device__ P* first(int row) const { return at_ + row * packs_ + lanes_.lane; }
  /// Packs of the lane from its n-th on.
  __device__ int left(int n) const { return ((packs_ - lanes_.lane + lanes_.lanes - 1) >> lanes_.lane_bits) - n; }

 private:
  int packs_;
  const LanesOfBundle& lanes_;
  P* at_;
};

template <bool kAll, int kUnroll, class Source, class F>
__device__ void fold_batch_of_bundle(const F& fold, const typename RowsOfBundle<Source>::P* from, Index start,
                                     Index weight, int lanes, int count, Sequence<F, 1>& states) {
  PackBatch<Source, kUnroll> batch;
  batch.weight = weight;
  batch.pitch = lanes * Source::kSize * weight;
  batch.count = count;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    batch.packs[u] = {};
    if (kAll || u < count) batch.packs[u] = from[u * lanes];
    batch.starts[u] = (start + u * lanes * Source::kSize) * weight;
  }
  push_view<kAll, true>(fold, batch, weight > 0, states);
}

/// Not inlined: that keeps it out of the way of results that need no more than a store.
template <class F>
[[gnu::noinline]] __device__ void sink_output(const Arguments& step, const F& fold, typename F::State state,
                                              Index output) {
  sink_state(step, fold, state, offsets(step, step.tile, output).out, output);
}

/// Writes results of outputs that are some way apart, one after the other.
template <class F>
class ResultsOfLane {
 public:
  __device__ ResultsOfLane(const Arguments& step, Index first, int apart) : step_(step), output_(first), apart_(apart) {
    if constexpr (NumberFold<F>) {
      using Result = ResultOf<F>;
      is_plain_ =
          step.sink == SinkKind::store && step.repeat == 1 && step.tile.rank <= 1 && is_usual<Result>(step.output);
      is_own_ = is_own_type<Own<Result>>(step.output);
      const Index bytes = (is_own_ ? static_cast<Index>(sizeof(Result)) : 2) * step.tile.near[0].out;
      to_ = step.out + first * bytes;
      pitch_ = apart * bytes;
    }
  }

  /// Of the next output; `speaks`: whether this lane writes it.
  __device__ void write(const F& fold, const typename F::State& state, bool speaks) {
    if (is_plain_) {
      if constexpr (NumberFold<F>)
        if (speaks) store(result_of(step_, fold, state));
      to_ += pitch_;
    } else if (speaks) {
      sink_output(step_, fold, state, output_);
    }
    output_ += apart_;
  }

 private:
  template <class Result>
  __device__ void store(Result result) {
    if (is_own_) {
      *reinterpret_cast<Own<Result>*>(to_) = to_element<Own<Result>>(result);
    } else if constexpr (std::is_same_v<Result, float>) {
      if (step_.output == DType::bf16)
        *reinterpret_cast<BFloat16*>(to_) = to_element<BFloat16>(result);
      else
        *reinterpret_cast<Half*>(to_) = to_element<Half>(result);
    }
  }

  const Arguments& step_;
  Index output_;
  int apart_;
  bool is_plain_ = false, is_own_ = false;
  std::byte* to_ = nullptr;
  Index pitch_ = 0;
};

/// Calls visit() with the constant that is `count`, and says so, if that is from 1 to kMost: rows of a few packs have
/// loops of their own.
template <int kMost, class Visit>
__device__ bool visit_count(int count, const Visit& visit) {
  if constexpr (kMost > 0) {
    if (count == kMost) return visit(std::integral_constant<int, kMost>()), true;
    return visit_count<kMost - 1>(count, visit);
  } else {
    return false;
  }
}

/// Folds whose few elements cost little more than to load them.
template <class F>
concept CheapFold = !folds::PivotFold<F> && sizeof(typename F::State) <= 8;

/// Every lane has kCount packs of each of its rows.
template <int kCount, class Source, class F>
__device__ void reduce_even_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                                 const RowsOfBundle<Source>& bundle, int rows, ResultsOfLane<F>& results) {
  const auto* from = bundle.first(lanes.row);
  const int pitch = lanes.rows_at_once * bundle.packs();
  PackBatch<Source, kCount> batch;
  batch.weight = step.lane_axis.out;
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    batch.starts[u] = (lanes.lane + u * lanes.lanes) * Source::kSize * batch.weight;
    batch.packs[u] = {};
  }
  for (int row = lanes.row, base = 0; base < rows;
       base += lanes.rows_at_once, row += lanes.rows_at_once, from += pitch) {
    const bool live = row < rows;
#pragma unroll
    for (int u = 0; u < kCount; ++u)
      if (live) batch.packs[u] = from[u * lanes.lanes];
    const auto state = combine_lanes(fold, fold_plainly<true>(fold, batch), 1, lanes.lanes);
    results.write(fold, state, live && lanes.lane == 0);
  }
}

template <class Source, class F>
__device__ void reduce_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                            const RowsOfBundle<Source>& bundle, int rows, ResultsOfLane<F>& results) {
  constexpr int kSize = Source::kSize, kUnroll = folds::PivotFold<F> && kSize == 1 ? 8 : kSize == 1 ? 4 : 2;
  const Index weight = step.lane_axis.out;
  for (int base = 0; base < rows; base += lanes.rows_at_once) {
    const int row = base + lanes.row;
    const bool live = row < rows;
    const auto* from = bundle.first(live ? row : 0);
    Sequence<F, 1> states;
    states.begin(fold);
    int n = 0;
    Index start = lanes.lane * kSize;
    for (; (n + kUnroll) * lanes.lanes <= bundle.packs();
         n += kUnroll, from += kUnroll * lanes.lanes, start += kUnroll * kSize * lanes.lanes)
      fold_batch_of_bundle<true, kUnroll, Source>(fold, from, start, weight, lanes.lanes, kUnroll, states);
    if (n * lanes.lanes < bundle.packs())
      fold_batch_of_bundle<false, kUnroll, Source>(fold, from, start, weight, lanes.lanes, bundle.left(n), states);
    const auto state = combine_lanes(fold, states.result()[0], 1, lanes.lanes);
    results.write(fold, state, live && lanes.lane == 0);
  }
}

template <class Source, class F>
__device__ void reduce_bundle(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                              typename Source::Element* elements, int rows, Index first_row) {
  const RowsOfBundle<Source> bundle(step, lanes, elements);
  ResultsOfLane<F> results(step, first_row + lanes.row, lanes.rows_at_once);
  constexpr int kMost = !CheapFold<F> ? 0 : Source::kSize == 1 ? 7 : 2;
  const bool even = visit_count<kMost>(bundle.even_count(), [&]<int kCount>(std::integral_constant<int, kCount>) {
    reduce_even_rows<kCount>(step, fold, lanes, bundle, rows, results);
  });
  if (!even) reduce_rows(step, fold, lanes, bundle, rows, results);
}

/// Calls visit(p) for packs 0 … count - 1, and perhaps for up to three more.
template <int kPacks, class Visit>
__device__ void visit_packs_of_lane(int count, const Visit& visit) {
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if ((p < 4 || p % 4 == 0) && p >= count) break;
    visit(p);
  }
}

/// Results take the places of their elements, which are as large. A lane keeps its part of a row as numbers. kCount:
/// packs of every lane, or 0 where lanes differ or have many.
template <int kCount, class Source, class F>
__device__ void map_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                         const RowsOfBundle<Source>& bundle, int rows) {
  using A = typename Source::Value;
  using Out = typename Source::Element;
  constexpr int kSize = Source::kSize, kPacks = kCount > 0 ? kCount : kKeptOfBundle / kSize;
  const int count = kCount > 0 ? kCount : (bundle.packs() + lanes.lanes - 1) >> lanes.lane_bits;
  const A alpha = static_cast<A>(step.alpha);
  for (int base = 0; base < rows; base += lanes.rows_at_once) {
    const int row = base + lanes.row;
    const bool live = row < rows;
    const int mine = !live ? 0 : kCount > 0 ? kCount : bundle.left(0);
    auto* const at = bundle.first(live ? row : 0);
    const auto is_mine = [&](int p) { return kCount > 0 ? live : p < mine; };
    Pack<A, kSize> numbers[kPacks];
    A max = -folds::kInfinity<A>, sum = 0;
    visit_packs_of_lane<kPacks>(count, [&](int p) {
      typename RowsOfBundle<Source>::P pack = {};
      if (is_mine(p)) pack = at[p * lanes.lanes];
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        numbers[p].at[i] = kCount > 0 || p < mine ? Source::value(pack.at[i]) * fold.scale : -folds::kInfinity<A>;
        max = folds::any_maximum(max, numbers[p].at[i]);
      }
    });
    max = combine_lanes(fold.pivot_fold(), max, 1, lanes.lanes);
    const auto exponent = Exponent<A>::of(max, A(1));
    visit_packs_of_lane<kPacks>(count, [&](int p) {
      A of_pack = exponent.power(numbers[p].at[0]);
#pragma unroll
      for (int i = 1; i < kSize; ++i) of_pack += exponent.power(numbers[p].at[i]);
      sum += of_pack;
    });
    sum = combine_lanes(folds::Sum<A>(), sum, 1, lanes.lanes);
    if (!live) continue;
    const auto write = [&](const auto& map) {
      visit_packs_of_lane<kPacks>(count, [&](int p) {
        Pack<Out, kSize> results;
#pragma unroll
        for (int i = 0; i < kSize; ++i) results.at[i] = to_element<Out>(map(numbers[p].at[i]));
        if (is_mine(p)) at[p * lanes.lanes] = results;
      });
    };
    if (step.map == MapKind::softmax)
      write(SoftmaxMap<A>({max, sum}, A(1), alpha));
    else
      write(LogSoftmaxMap<A>({max, sum}, A(1), alpha));
  }
}

template <class Source, class F>
__device__ void map_bundle(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                           typename Source::Element* elements, int rows) {
  const RowsOfBundle<Source> bundle(step, lanes, elements);
  constexpr int kMost = Source::kSize == 1 ? 7 : 2;
  const bool even = visit_count<kMost>(bundle.even_count(), [&]<int kCount>(std::integral_constant<int, kCount>) {
    map_rows<kCount>(step, fold, lanes, bundle, rows);
  });
  if (!even) map_rows<0>(step, fold, lanes, bundle, rows);
}

/// What becomes of a bundle that is in shared memory.
template <class Source, class F, class Sink>
__device__ void take_bundle(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                            typename Source::Element* elements, int rows, Index first_row) {
  if constexpr (Sink::kMaps)
    map_bundle<Source>(step, fold, lanes, elements, rows);
  else
    reduce_bundle<Source>(step, fold, lanes, elements, rows, first_row);
}

/// Wide is Source with packs, for rows that are whole ones.
template <class Wide, class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) bundles(const __grid_constant__ Arguments step) {
  using Element = typename Source::Element;
  const auto block = cg::this_thread_block();
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const LanesOfBundle lanes(step);
  const int length = static_cast<int>(step.lane_axis.size), most = step.rows_of_bundle, room = most * length;
  const Index hop = static_cast<Index>(gridDim.y) * most;
  Index row = static_cast<Index>(blockIdx.y) * most, beyond = step.tiles - row;  // rows from there to the end
  Element* place = reinterpret_cast<Element*>(shared_memory() + kExchangeBytes);
  Element* other = place + room;
  const Element* from = reinterpret_cast<const Element*>(step.in) + row * length;
  const auto rows_before = [&](Index end) { return end < most ? static_cast<int>(end) : most; };
  if (beyond > 0) bring(from, place, rows_before(beyond) * length);
  for (; beyond > 0; row += hop, beyond -= hop) {
    from += hop * length;
    bring(from, other, beyond > hop ? rows_before(beyond - hop) * length : 0);
    await_copies<1>();
    block.sync();  // the bundle is there
    const int rows = rows_before(beyond);
    if (step.whole_runs)
      take_bundle<Wide, F, Sink>(step, fold, lanes, place, rows, row);
    else
      take_bundle<Source, F, Sink>(step, fold, lanes, place, rows, row);
    if constexpr (Sink::kMaps) {
      block.sync();  // its results are there
      send(place, reinterpret_cast<Element*>(step.out) + row * length, rows * length);
    }
    block.sync();  // its place is used again
    Element* const next = other;
    other = place;
    place = next;
  }
}

}  // namespace ndfold::cuda
