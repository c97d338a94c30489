// Body rows, short ones that lie one after the other in memory: a block brings bundles of them into shared memory, as
// if each were one long row, while it folds the bundle before; a lane, or a few, fold a row from there. A softmax also
// takes bundles of one long row, which all lanes of the block fold.
#pragma once
#include "kernels/cuda/results.h"
#include "kernels/cuda/ring.h"
#include "kernels/cuda/row_batch.h"

namespace ndfold::cuda {

/// Which rows of a bundle a lane folds, and its place in them. A warp's rows lie `spacing` apart, so that its lanes
/// find them in different banks of shared memory: lanes · odd numbers, whatever the length of a row.
struct LanesOfBundle {
  int lanes, lane_bits, lane, row, rows_at_once;

  __device__ explicit LanesOfBundle(const Arguments& step) : lanes(step.lanes), lane_bits(step.lane_bits) {
    rows_at_once = threads_of_block() >> lane_bits;
    if (lanes > kWarp) {
      lane = thread_of_block();
      row = 0;
      return;
    }
    const int warp = thread_of_block() / kWarp, in_warp = lane_of_warp(), spacing = 1 << step.spacing_bits;
    lane = in_warp & (lanes - 1);
    row = (warp >> step.spacing_bits) * (kWarp >> lane_bits) * spacing + (in_warp >> lane_bits) * spacing +
          (warp & (spacing - 1));
  }
};

/// Numbers of a row that a lane keeps, at most.
template <class A>
inline constexpr int kKeptOfBundle = kKeptBytesOfBundle / static_cast<int>(sizeof(A));

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
  /// Where as many packs as a lane keeps are zeros: a load that is no branch is sooner there. Rows of a warp or less.
  __device__ P* nowhere() const {
    static_assert(kKeptOfBundle<typename Source::Value> * sizeof(Element) * kWarp <= kExchangeBytes);
    return reinterpret_cast<P*>(shared_memory());
  }
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

/// Every lane has kCount packs of each of its rows.
template <int kCount, class Source, class F>
__device__ void reduce_even_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                                 const RowsOfBundle<Source>& bundle, int rows, ResultsOfLane<F>& results) {
  const auto* from = bundle.first(lanes.row);
  const int pitch = lanes.rows_at_once * bundle.packs();
  PackBatch<Source, kCount> batch;
  batch.weight = step.lane_axis.out;
  batch.pitch = lanes.lanes * Source::kSize * batch.weight;
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
    const auto state = combine_lanes(fold, state_of<true, true>(fold, batch, batch.weight > 0), 1, lanes.lanes);
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
  constexpr int kMost = Source::kSize == 1 ? 7 : 2;
  const bool even = visit_count<kMost>(bundle.even_count(), [&]<int kCount>(std::integral_constant<int, kCount>) {
    reduce_even_rows<kCount>(step, fold, lanes, bundle, rows, results);
  });
  if (!even) reduce_rows(step, fold, lanes, bundle, rows, results);
}

/// Up to here there is a loop of its own for each number of packs that lanes have.
inline constexpr int kPacksOneByOne = 4;

/// Results take the places of their elements, which are as large. A lane keeps its part of a row as numbers, or as
/// powers once the maximum is known: kPacks packs, of which all lanes have the first kSure.
template <int kPacks, class Source, class F>
__device__ void map_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                         const RowsOfBundle<Source>& bundle, int rows) {
  using A = typename Source::Value;
  using Out = typename Source::Element;
  constexpr int kSize = Source::kSize, kSure = kPacks > kPacksOneByOne ? kPacks - 2 : kPacks - 1;
  const int mine = bundle.left(0);
  const A alpha = static_cast<A>(step.alpha);
  for (int base = 0; base < rows; base += lanes.rows_at_once) {
    const int row = base + lanes.row;
    const bool live = row < rows;
    auto* const first = live && mine > 0 ? bundle.first(row) : bundle.nowhere();
    typename RowsOfBundle<Source>::P packs[kPacks];
    auto* at = first;
#pragma unroll
    for (int p = 0; p < kPacks; ++p, at += lanes.lanes) packs[p] = *(p < kSure || p < mine ? at : first);
    Pack<A, kSize> numbers[kPacks];
    A max = -folds::kInfinity<A>, sum = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p)
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const A number = number_of<Source>(packs[p], i) * fold.scale;
        numbers[p].at[i] = p < kSure || p < mine ? number : -folds::kInfinity<A>;
        max = folds::any_maximum(max, numbers[p].at[i]);
      }
    max = combine_lanes_of_row<0>(fold.pivot_fold(), max, lanes.lanes);
    const auto exponent = Exponent<A>::of(max, A(1));
    const auto add = [&](auto keeps) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        A of_pack = 0;
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          const A power = exponent.power(numbers[p].at[i]);
          of_pack = i == 0 ? power : of_pack + power;
          if constexpr (decltype(keeps)::value) numbers[p].at[i] = power;
        }
        sum += of_pack;
      }
      sum = combine_lanes_of_row<1>(folds::Sum<A>(), sum, lanes.lanes);
    };
    const auto write = [&](const auto& map) {
      auto* to = first;
#pragma unroll
      for (int p = 0; p < kPacks; ++p, to += lanes.lanes) {
        Pack<Out, kSize> results;
#pragma unroll
        for (int i = 0; i < kSize; ++i) results.at[i] = to_element<Out>(map(numbers[p].at[i]));
        if (live && (p < kSure || p < mine)) *to = results;
      }
    };
    if (step.map == MapKind::softmax) {
      add(std::true_type());
      write(PowerMap<A>({max, sum}, A(1), alpha));
    } else {
      add(std::false_type());
      write(LogSoftmaxMap<A>({max, sum}, A(1), alpha));
    }
  }
}

/// As many packs as the lane with most of them has; an even number of them where there are many.
template <int kPacks, class Source, class F>
__device__ void map_rows_of(int most, const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                            const RowsOfBundle<Source>& bundle, int rows) {
  constexpr int kFewer = kPacks > kPacksOneByOne ? kPacks - 2 : kPacks - 1;
  if constexpr (kFewer > 0)
    if (most <= kFewer) return map_rows_of<kFewer>(most, step, fold, lanes, bundle, rows);
  map_rows<kPacks>(step, fold, lanes, bundle, rows);
}

template <class Source, class F>
__device__ void map_bundle(const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                           typename Source::Element* elements, int rows) {
  const RowsOfBundle<Source> bundle(step, lanes, elements);
  const int most = (bundle.packs() + lanes.lanes - 1) >> lanes.lane_bits;
  map_rows_of<kKeptOfBundle<typename Source::Value> / Source::kSize>(most, step, fold, lanes, bundle, rows);
}

/// For lanes without a row: RowsOfBundle::nowhere().
__device__ inline void clear_exchange_area() {
  using Unit = Pack<std::uint32_t, 4>;
  for (int i = thread_of_block(); i < kExchangeBytes / static_cast<int>(sizeof(Unit)); i += threads_of_block())
    reinterpret_cast<Unit*>(shared_memory())[i] = {};
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

/// Asks for elements that lie one after the other, once a line of the cache.
template <class T>
__device__ void ask_for_stretch(const T* from, int count) {
  constexpr int kLineBytes = 128, kOfLine = kLineBytes / static_cast<int>(sizeof(T));
  for (int i = thread_of_block() * kOfLine; i < count; i += threads_of_block() * kOfLine) ask_early(from + i);
}

/// Wide is Source with packs, for rows that are whole ones.
template <class Wide, class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks) bundles(const __grid_constant__ Arguments step) {
  using Element = typename Source::Element;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const LanesOfBundle lanes(step);
  const int length = static_cast<int>(step.lane_axis.size), most = step.rows_of_bundle;
  const Index hop = static_cast<Index>(gridDim.y) * most;
  const bool packed = step.whole_runs && is_aligned<Pack<Element, Wide::kSize>>(step.in);
  const auto rows_at = [&](Index row) {
    const Index left = step.tiles - row;
    return left >= most ? most : left > 0 ? static_cast<int>(left) : 0;
  };
  Ring<Element> ring(step, step.tiles * length);
  if constexpr (Sink::kMaps)
    if (lanes.lanes <= kWarp) clear_exchange_area();
  const auto block = cg::this_thread_block();
  const bool single = step.places == 1;
  const int ahead = single ? 1 : step.places - 1;
  Index row = static_cast<Index>(blockIdx.y) * most;
  if (has_few_blocks())
    ask_for_stretch(reinterpret_cast<const Element*>(step.in) + row * length, rows_at(row) * length);
  await_launch_before(hop, ahead);
  for (int place = 0; place < ahead; ++place, row += hop) ring.bring(place, row * length, rows_at(row) * length);
  row -= ahead * hop;
  for (int place = 0; row < step.tiles; row += hop, place = place + 1 < step.places ? place + 1 : 0) {
    const int rows = rows_at(row);
    Element* const elements = ring.await(place, row * length);
    const auto bring = [&] {
      const Index later = row + ahead * hop;
      ring.bring(place > 0 ? place - 1 : step.places - 1, later * length, rows_at(later) * length);
    };
    if (!Sink::kMaps && !single) bring();
    if (packed)
      take_bundle<Wide, F, Sink>(step, fold, lanes, elements, rows, row);
    else
      take_bundle<Source, F, Sink>(step, fold, lanes, elements, rows, row);
    if constexpr (Sink::kMaps) ring.send(elements, row * length, rows * length);
    if (single) block.sync();            // all are done with the only place
    if (Sink::kMaps || single) bring();  // where results of the bundle before have left by now
  }
  ring.await_sent();
}

}  // namespace ndfold::cuda
