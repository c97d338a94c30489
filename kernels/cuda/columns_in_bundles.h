// Body columns, short lines that lie one after the other in memory: a block brings bundles of them into shared memory
// (bundle_walk.h), where neighbours need not be loaded together. A lane, or a few of a warp, fold an output from there,
// whichever axes of a line are kept and reduced.
#pragma once
#include "kernels/cuda/bundle_folds.h"

namespace ndfold::cuda {

/// The first element of an output in a bundle of lines. Most lines have one kept axis: numbers of 32 bits will do.
__device__ inline int place_of_output(const Arguments& step, int output) {
  const AxisNumbers& near = step.tile.near[0];
  if (step.columns != near.size) return static_cast<int>(offsets(step, step.tile, output).in);
  const int columns = static_cast<int>(step.columns), line = static_cast<int>(narrow_quotient(output, step.by_panels));
  return line * (columns * static_cast<int>(step.reduced)) + (output - line * columns) * static_cast<int>(near.in);
}

/// Outputs of a bundle of lines as its rows: their elements lie along one axis.
template <class Source>
class ColumnsOfBundle : public PacksOfRow<Source> {
 public:
  using P = PackOf<Source>;
  static constexpr bool kIsDense = false;
  static_assert(Source::kSize == 1);

  __device__ ColumnsOfBundle(const Arguments& step, const LanesOfBundle& lanes, typename Source::Element* elements)
      : PacksOfRow<Source>(static_cast<int>(step.reduced), lanes),
        step_(step),
        apart_(lanes.lanes * static_cast<int>(step.lane_axis.in)),
        at_(reinterpret_cast<P*>(elements) + lanes.lane * static_cast<int>(step.lane_axis.in)) {}
  __device__ P* first(int row) const { return at_ + place_of_output(step_, row); }
  __device__ int apart() const { return apart_; }

 private:
  const Arguments& step_;
  int apart_;
  P* at_;
};

/// Where a lane's elements of an output lie, in elements from its first one: every `lanes`-th of one axis.
class AlongAxis {
 public:
  __device__ AlongAxis(const AxisNumbers& axis, const LanesOfBundle& lanes)
      : first_(lanes.lane * static_cast<int>(axis.in)), apart_(lanes.lanes * static_cast<int>(axis.in)) {}
  __device__ int at(int n) const { return first_ + n * apart_; }

 private:
  int first_, apart_;
};

/// The same along several axes: looked up in shared memory.
class InTable {
 public:
  __device__ InTable(const std::uint16_t* table, const LanesOfBundle& lanes)
      : table_(table + lanes.lane), lanes_(lanes.lanes) {}
  __device__ int at(int n) const { return table_[n * lanes_]; }

 private:
  const std::uint16_t* table_;
  int lanes_;
};

/// A lane's elements of an output, in batches that are loaded before the first is folded.
template <class Places, class Source>
class ColumnOfBundle : PacksOfRow<Source> {
  using Element = typename Source::Element;

 public:
  static constexpr int kUnroll = 8;
  using Batch = PackBatch<Source, kUnroll>;

  __device__ ColumnOfBundle(const Arguments& step, const LanesOfBundle& lanes, const Places& places)
      : PacksOfRow<Source>(static_cast<int>(step.reduced), lanes),
        places_(places),
        weight_(step.lane_axis.out),
        pitch_(lanes.lanes * weight_),
        start_(lanes.lane * weight_) {}

  /// Of a lane without an output nothing is loaded: others write there.
  __device__ void begin(Element* first, bool live) {
    first_ = first;
    of_all_ = live ? this->packs() >> this->lanes_.lane_bits : 0;
    mine_ = live ? this->left(0) : 0;
  }
  __device__ bool in_order() const { return weight_ > 0; }
  __device__ Element& element(int n) const { return first_[places_.at(n)]; }

  /// visit(kAll, n, batch) with all of them in turn. No lane waits for another.
  template <class Visit>
  __device__ void for_each_batch(const Visit& visit) const {
    Batch batch;
    int n = 0;
    for (; n + kUnroll <= of_all_; n += kUnroll) {
      load<true>(n, kUnroll, batch);
      visit(std::true_type(), n, batch);
    }
    if (n >= mine_) return;
    load<false>(n, mine_ - n, batch);
    visit(std::false_type(), n, batch);
  }

 private:
  // From the n-th on, `count` of them or all.
  template <bool kAll>
  __device__ void load(int n, int count, Batch& batch) const {
    batch.weight = weight_;
    batch.pitch = pitch_;
    batch.count = count;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      batch.packs[u] = {};
      if (kAll || u < count) batch.packs[u].at[0] = element(n + u);
      batch.starts[u] = start_ + (n + u) * pitch_;
    }
  }

  const Places& places_;
  Index weight_, pitch_, start_;
  int of_all_ = 0, mine_ = 0;  ///< elements of every lane, and of this one
  Element* first_ = nullptr;
};

/// What the lanes of a block have of a bundle: outputs are numbered through all of its lines.
template <class Places, class Source>
struct LinesOfBundle {
  using Element = typename Source::Element;
  const Arguments& step;
  const LanesOfBundle& lanes;
  const Places& places;
  Element* elements;
  int outputs;

  /// visit(column, whether the lane has an output) as often for every lane of the block.
  template <class Visit>
  __device__ void for_each_output(const Visit& visit) const {
    ColumnOfBundle<Places, Source> column(step, lanes, places);
    for (int base = 0; base < outputs; base += lanes.rows_at_once) {
      const int output = base + lanes.row;
      const bool live = output < outputs;
      column.begin(elements + place_of_output(step, live ? output : 0), live);
      visit(column, live);
    }
  }
};

template <class Places, class Source, class F>
__device__ void reduce_lines(const LinesOfBundle<Places, Source>& lines, const F& fold, Index first_output) {
  const LanesOfBundle& lanes = lines.lanes;
  ResultsOfLane<F> results(lines.step, first_output + lanes.row, lanes.rows_at_once);
  lines.for_each_output([&](const auto& column, bool live) {
    Sequence<F, 1> states;
    states.begin(fold);
    column.for_each_batch([&](auto all, int, const auto& batch) {
      push_view<decltype(all)::value, true>(fold, batch, column.in_order(), states);
    });
    const auto state = combine_lanes(fold, states.result()[0], 1, lanes.lanes);
    results.write(fold, state, live && lanes.lane == 0);
  });
}

/// Results take the places of their elements, which are looked at three times.
template <class Map, class Places, class Source, class F>
__device__ void map_lines(const LinesOfBundle<Places, Source>& lines, const F& fold) {
  using A = typename Source::Value;
  using Batch = typename ColumnOfBundle<Places, Source>::Batch;
  const int among = lines.lanes.lanes;
  const A alpha = static_cast<A>(lines.step.alpha);
  lines.for_each_output([&](const auto& column, bool) {
    A max = -folds::kInfinity<A>, sum = 0;
    column.for_each_batch([&](auto all, int, const Batch& batch) {
      max = folds::any_maximum(max, fold_plainly<decltype(all)::value>(fold.pivot_fold(), batch));
    });
    max = meet_lanes(max, 1, among, [](A a, A b) { return folds::any_maximum(a, b); });
    const auto around = fold.around(max, 0);
    column.for_each_batch(
        [&](auto all, int, const Batch& batch) { sum += fold_plainly<decltype(all)::value>(around, batch); });
    sum = meet_lanes(sum, 1, among, [](A a, A b) { return a + b; });
    const Map map({max, sum}, fold.scale, alpha);
    column.for_each_batch([&](auto, int n, const Batch& batch) {
#pragma unroll
      for (int u = 0; u < Batch::kCount; ++u)
        if (u < batch.count) store_element(column.element(n + u), map(batch.number(u)));
    });
  });
}

/// As the step says: in one place, for its text is long.
template <class Places, class Source, class F>
__device__ void map_lines(const LinesOfBundle<Places, Source>& lines, const F& fold) {
  if (lines.step.map == MapKind::softmax)
    map_lines<SoftmaxMap<typename Source::Value>>(lines, fold);
  else
    map_lines<LogSoftmaxMap<typename Source::Value>>(lines, fold);
}

/// What becomes of lines whose outputs have their elements along one axis, and along several.
template <class Source, class F, class Sink>
__device__ void take_columns(const LinesOfBundle<AlongAxis, Source>& lines, const F& fold, Index first_output) {
  const ColumnsOfBundle<Source> columns(lines.step, lines.lanes, lines.elements);
  if constexpr (!Sink::kMaps)
    reduce_bundle(lines.step, fold, lines.lanes, columns, lines.outputs, first_output);
  else if (lines.step.reduced <= Index{lines.lanes.lanes} * kKeptOfBundle<typename Source::Value>)
    map_bundle(lines.step, fold, lines.lanes, columns, lines.outputs);
  else
    map_lines(lines, fold);
}

template <class Source, class F, class Sink>
__device__ void take_columns(const LinesOfBundle<InTable, Source>& lines, const F& fold, Index first_output) {
  if constexpr (Sink::kMaps)
    map_lines(lines, fold);
  else
    reduce_lines(lines, fold, first_output);
}

template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    columns_in_bundles(const __grid_constant__ Arguments step) {
  using Element = typename Source::Element;
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  const LanesOfBundle lanes(step);
  const int columns = static_cast<int>(step.columns), length = columns * static_cast<int>(step.reduced);
  if constexpr (Sink::kMaps) clear_exchange_area();
  const auto walk = [&](const auto& places) {
    using Places = std::remove_cvref_t<decltype(places)>;
    walk_bundles<Sink, Element>(step, length, [&](Element* elements, int count, Index line) {
      const LinesOfBundle<Places, Source> lines{step, lanes, places, elements, count * columns};
      take_columns<Source, F, Sink>(lines, fold, line * columns);
    });
  };
  if (step.walk.rank < 2) return walk(AlongAxis(step.lane_axis, lanes));
  auto* const table = reinterpret_cast<std::uint16_t*>(shared_memory() + kExchangeBytes + kArrivalBytes +
                                                       step.places * static_cast<int>(step.tile_bytes));
  for (int row = thread_of_block(); row < step.reduced; row += threads_of_block())
    table[row] = static_cast<std::uint16_t>(offsets(step, step.walk, row).in);
  const auto block = cg::this_thread_block();
  block.sync();  // places are written before lanes look them up
  walk(InTable(table, lanes));
}

}  // namespace ndfold::cuda
