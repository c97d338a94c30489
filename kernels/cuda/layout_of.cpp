// Which kernels may take a step: how its buffers lie, before one is chosen.
#include <ndfold/few_rows.h>
#include <ndfold/kept_columns.h>

#include "kernels/cuda/catalog.h"
#include "kernels/cuda/layouts.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace ndfold::cuda {
namespace {

// What few_rows.h does with speed; it takes the rest column by column.
bool has_few_rows(const Step& step) {
  const KernelKey& key = step.kernel;
  const bool is_usual = folds_an_index(key.fold)
                            ? key.output == DType::i64
                            : key.output == key.accumulate || key.output == DType::bf16 || key.output == DType::f16;
  return key.scope == Scope::block && key.sink == SinkKind::store && step.parts == 1 && step.repeat == 1 && is_usual &&
         product_of(step.reduced) <= kFewRows && key.tuning.lanes_per_row == 1;
}

// Whether a fold's rows begin elsewhere in a pack from one to the next.
bool has_uneven_rows(const Step& step, const AxisNumbers& lane, const std::vector<AxisNumbers>& walk, Index pack) {
  const KernelKey& key = step.kernel;
  const bool folds = key.sink == SinkKind::store || key.sink == SinkKind::store_state;
  return folds && key.scope != Scope::cluster && key.source == SourceKind::dense && lane.in == 1 && walk.size() == 1 &&
         walk.front().in % pack != 0;
}

Index threads_of(const Step& step) { return std::min(kFewThreads, whole_warps(step.launch.block)); }
Index planned_columns(const Step& step) {
  return step.kernel.tuning.panel_bytes / static_cast<Index>(size_bytes(step.kernel.input));
}

// What joined_rows.h folds: rows that follow one another, one panel of what a block's lanes have room for.
bool is_joined(const Step& step, const AxisNumbers& lane, const AxisNumbers& rows, Index pack) {
  return rows.in == lane.size && lane.size <= planned_columns(step) &&
         packs_together(lane.size, pack) <= threads_of(step);
}

// Panels that are a power of two of packs but for one, which shifts take; slots of rows that begin alike, and what lies
// a pack before and after any row but the first and the last is the tensor's.
bool is_shifted(const Step& step, const AxisNumbers& lane, const AxisNumbers& rows, Index pack) {
  const Index columns = planned_columns(step) + pack, lanes = columns / pack;
  return (rows.in == lane.size || std::abs(rows.in) >= pack) && columns % pack == 0 &&
         std::has_single_bit(static_cast<std::uint64_t>(lanes)) && threads_of(step) % (lanes * pack) == 0;
}

// Rows of a lane that keeps its part of a panel, as bind() lays it out for any alignment; 0 where it has no room.
int kept_rows(const Step& step) {
  const KernelKey& key = step.kernel;
  if (key.residency != Residency::registers || key.scope != Scope::block || step.parts != 1) return 0;
  if (keeps_tall_columns(step)) return 0;
  const KeptColumns kept = kept_columns(key.tuning, static_cast<Index>(size_bytes(key.input)));
  const Index threads = std::min(kept.threads, whole_warps(step.launch.block)), rows = product_of(step.reduced);
  const Index wanted = std::max<Index>(planned_columns(step) / kept.columns, 1);
  const Index lanes = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  return rows <= kMostKeptRows && rows <= threads / lanes * kept.rows ? kept.rows : 0;
}

}  // namespace

Layout layout_of(const Step& step) {
  const auto pack = std::max<Index>(1, Index{kVectorBytes} / static_cast<Index>(size_bytes(step.kernel.input)));
  const auto whole = [&](const std::vector<AxisNumbers>& axes) {
    return std::all_of(axes.begin(), axes.end(), [&](const AxisNumbers& axis) { return axis.in % pack == 0; });
  };
  if (step.kernel.body == Body::elementwise) {
    auto axes = elementwise_axes(step);
    return {.dense = take_last(axes).in == 1};
  }
  if (step.kernel.body == Body::rows) {
    auto walk = numbers_of(step.reduced);
    const AxisNumbers lane = take_last(walk);
    return {.dense = lane.in == 1 && lane.size % pack == 0 && whole(walk) && whole(numbers_of(step.kept)),
            .in_line = walk.empty()};
  }
  if (step.kernel.body == Body::columns) {
    auto tiles = numbers_of(step.kept);
    const auto walk = numbers_of(step.reduced);
    const AxisNumbers lane = take_last(tiles);
    const bool begins_elsewhere = has_uneven_rows(step, lane, walk, pack);
    const bool half = step.kernel.input == DType::f16 || step.kernel.input == DType::bf16;
    const bool few_rows =
        has_few_rows(step) && (!half || !begins_elsewhere || product_of(step.reduced) <= kFewRowsAnywhere);
    const bool uneven = !few_rows && begins_elsewhere;
    return {.dense = lane.in == 1 && whole(tiles) && whole(walk),
            .few_rows = few_rows,
            .shifted = uneven && is_shifted(step, lane, walk.front(), pack),
            .kept_rows = kept_rows(step),
            .joined = uneven && is_joined(step, lane, walk.front(), pack),
            .anywhere = half && lane.in == 1 && (walk.size() > 1 || product_of(step.reduced) <= kMostRowsAnywhere),
            .in_line = walk.size() < 2};
  }
  if (step.kernel.body != Body::permute) return {};
  const PermuteAxes axes = permute_axes(step);
  return {.dense = axes.lane.in == 1, .same_axis = axes.same_axis};
}

}  // namespace ndfold::cuda
