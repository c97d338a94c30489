// What becomes of the rows of a bundle in shared memory, of which a lane, or a few, fold one: results, or a softmax in
// their elements' places. `Bundle` says where the lane's packs of a row are: first(row), and apart() from each other.
#pragma once
#include "kernels/cuda/bundle_looks.h"
#include "kernels/cuda/bundle_walk.h"
#include "kernels/cuda/results.h"

namespace ndfold::cuda {

/// Packs of a row of which a lane has every `lanes`-th; who derives from it says where they are.
template <class Source_>
class PacksOfRow {
 public:
  using Source = Source_;
  static constexpr int kSize = Source::kSize;

  __device__ PacksOfRow(int packs, const LanesOfBundle& lanes) : packs_(packs), lanes_(lanes) {}
  __device__ int packs() const { return packs_; }
  /// Packs of every lane, or 0 where lanes differ.
  __device__ int even_count() const {
    const int count = packs_ >> lanes_.lane_bits;
    return count << lanes_.lane_bits == packs_ ? count : 0;
  }
  /// Packs of the lane from its n-th on.
  __device__ int left(int n) const { return ((packs_ - lanes_.lane + lanes_.lanes - 1) >> lanes_.lane_bits) - n; }

 protected:
  int packs_;
  const LanesOfBundle& lanes_;
};

/// Numbers of a row that a lane keeps, at most.
template <class A>
inline constexpr int kKeptOfBundle = kKeptBytesOfBundle / static_cast<int>(sizeof(A));

/// Every lane has kCount packs of each of its rows.
template <int kCount, class Bundle, class F>
__device__ void reduce_even_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes, const Bundle& bundle,
                                 int rows, ResultsOfLane<F>& results) {
  using Source = typename Bundle::Source;
  PackBatch<Source, kCount> batch;
  batch.weight = step.lane_axis.out;
  batch.pitch = lanes.lanes * Source::kSize * batch.weight;
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    batch.starts[u] = (lanes.lane + u * lanes.lanes) * Source::kSize * batch.weight;
    batch.packs[u] = {};
  }
  for (int row = lanes.row, base = 0; base < rows; base += lanes.rows_at_once, row += lanes.rows_at_once) {
    const bool live = row < rows;
    const auto* from = bundle.first(row);
#pragma unroll
    for (int u = 0; u < kCount; ++u)
      if (live) batch.packs[u] = from[u * bundle.apart()];
    const auto state = combine_lanes(fold, state_of<true, true>(fold, batch, batch.weight > 0), 1, lanes.lanes);
    results.write(fold, state, live && lanes.lane == 0);
  }
}

template <class Bundle, class F>
__device__ void reduce_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes, const Bundle& bundle,
                            int rows, ResultsOfLane<F>& results) {
  using Source = typename Bundle::Source;
  // Elements at a stride share banks of shared memory: var f32 of 80 a lane took 1.6 times as long with two looks at
  // all.
  constexpr int kManyApart = 64;
  const int common = bundle.packs() >> lanes.lane_bits;
  const bool looks_again = Bundle::kIsDense || common < kManyApart;
  for (int base = 0; base < rows; base += lanes.rows_at_once) {
    const int row = base + lanes.row;
    const bool live = row < rows;
    const PacksInShared<Source> packs{bundle.first(live ? row : 0), bundle.apart(), common, bundle.left(0) > common};
    const auto state = fold_in_shared(fold, packs, Index{bundle.packs()} * Source::kSize, step.lane_axis.out,
                                      lanes.lane, lanes.lanes, looks_again);
    results.write(fold, state, live && lanes.lane == 0);
  }
}

/// Results of the bundle's rows, which are those of the step from `first_row` on.
template <class Bundle, class F>
__device__ void reduce_bundle(const Arguments& step, const F& fold, const LanesOfBundle& lanes, const Bundle& bundle,
                              int rows, Index first_row) {
  ResultsOfLane<F> results(step, first_row + lanes.row, lanes.rows_at_once);
  const auto fold_rows = [&]<int kCount>(std::integral_constant<int, kCount>) {
    reduce_even_rows<kCount>(step, fold, lanes, bundle, rows, results);
  };
  bool even;
  if constexpr (Bundle::kSize == 1)
    even = visit_count<1, 2, 3, 4, 5, 6, 7, 8, 16>(bundle.even_count(), fold_rows);
  else
    even = visit_count<1, 2>(bundle.even_count(), fold_rows);
  if (!even) reduce_rows(step, fold, lanes, bundle, rows, results);
}

/// Where zeros are, for lanes without a row: a load that is no branch is sooner there.
template <class P>
__device__ P* nowhere() {
  return reinterpret_cast<P*>(shared_memory());
}
__device__ inline void clear_exchange_area() {
  using Unit = Pack<std::uint32_t, 4>;
  for (int i = thread_of_block(); i < kExchangeBytes / static_cast<int>(sizeof(Unit)); i += threads_of_block())
    reinterpret_cast<Unit*>(shared_memory())[i] = {};
}

/// Up to here there is a loop of its own for each number of packs that lanes have.
inline constexpr int kPacksOneByOne = 4;

/// Results take the places of their elements, which are as large. A lane keeps its part of a row as numbers, or as
/// powers once the maximum is known: kPacks packs, of which all lanes have the first kSure.
template <int kPacks, class Bundle, class F>
__device__ void map_rows(const Arguments& step, const F& fold, const LanesOfBundle& lanes, const Bundle& bundle,
                         int rows) {
  using Source = typename Bundle::Source;
  using A = typename Source::Value;
  using Out = typename Source::Element;
  constexpr int kSize = Source::kSize, kSure = kPacks > kPacksOneByOne ? kPacks - 2 : kPacks - 1;
  const int mine = bundle.left(0);
  const A alpha = static_cast<A>(step.alpha);
  for (int base = 0; base < rows; base += lanes.rows_at_once) {
    const int row = base + lanes.row;
    const bool live = row < rows;
    const bool mapped = live && mine > 0;
    auto* const first = mapped ? bundle.first(row) : nowhere<PackOf<Source>>();
    const int apart = mapped ? bundle.apart() : 0;
    PackOf<Source> packs[kPacks];
    auto* at = first;
#pragma unroll
    for (int p = 0; p < kPacks; ++p, at += apart) packs[p] = *(p < kSure || p < mine ? at : first);
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
      for (int p = 0; p < kPacks; ++p, to += apart) {
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
template <int kPacks, class Bundle, class F>
__device__ void map_rows_of(int most, const Arguments& step, const F& fold, const LanesOfBundle& lanes,
                            const Bundle& bundle, int rows) {
  constexpr int kFewer = kPacks > kPacksOneByOne ? kPacks - 2 : kPacks - 1;
  if constexpr (kFewer > 0)
    if (most <= kFewer) return map_rows_of<kFewer>(most, step, fold, lanes, bundle, rows);
  map_rows<kPacks>(step, fold, lanes, bundle, rows);
}

/// A softmax of the bundle's rows, of which no lane has more packs than it keeps.
template <class Bundle, class F>
__device__ void map_bundle(const Arguments& step, const F& fold, const LanesOfBundle& lanes, const Bundle& bundle,
                           int rows) {
  const int most = (bundle.packs() + lanes.lanes - 1) >> lanes.lane_bits;
  map_rows_of<kKeptOfBundle<typename Bundle::Source::Value> / Bundle::kSize>(most, step, fold, lanes, bundle, rows);
}

}  // namespace ndfold::cuda
