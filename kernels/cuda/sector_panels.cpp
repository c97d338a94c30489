#include "kernels/cuda/sector_panels.h"

#include <ndfold/travelling.h>

#include "kernels/cuda/layouts.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ndfold::cuda {
namespace {

// How lanes lie side by side, of columns that registers keep.
struct Lanes {
  Index across = 1, slots = 1;
};
Lanes lanes_of(const Step& step, Index width, const KeptColumns& kept) {
  const Index across = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(width))) / kept.columns;
  return {across, step.launch.block / std::max<Index>(1, across)};
}

bool fits(const Step& step, const Lanes& lanes, const KeptColumns& kept) {
  return step.launch.block <= kept.threads && lanes.across >= kWarp &&
         lanes.across * lanes.slots == step.launch.block && step.part <= lanes.slots * kept.rows &&
         lanes.slots * step.reduced.back().in % kept.columns == 0 && rows_begin_alike(step, kept.columns);
}

StepKernel kept_kernel(const Step& step, const Found& found, Bound& bound, Index width) {
  const KeptColumns kept = kept_columns(step.kernel.tuning, bound.element_bytes);
  const Lanes lanes = lanes_of(step, width, kept);
  if (found.sectors == nullptr || !fits(step, lanes, kept)) return {};
  bound.sectors.lanes = static_cast<int>(lanes.across);
  bound.sectors.lane_bits = std::countr_zero(static_cast<std::uint64_t>(lanes.across));
  bound.sectors.rows_of_lane = static_cast<int>(ceil_divide(step.part, lanes.slots));
  const Index bytes = 2 * lanes.slots * (lanes.across + 1) * kept.columns * static_cast<Index>(sizeof(float));
  return {found.sectors, std::max<Index>(kExchangeBytes, bytes), step.launch.block};
}

// Columns of which registers keep a part. Where buffers do not suit, the usual kernel has room for all that a block
// has.
StepKernel tall_kernel(const Step& step, const Found& found, Bound& bound, Index width) {
  const Index threads = step.launch.block;
  const Index lanes = lanes_of_tall_sectors(width, step.kept.back().size, bound.element_bytes);
  const bool fits = lanes * kTallColumns <= threads && threads / lanes % rows_of_sector(bound.element_bytes) == 0 &&
                    rows_begin_alike(step, kTallColumns);
  if (!fits) return {};
  bound.sectors.any_phase = true;
  bound.sectors.lanes = static_cast<int>(lanes);
  bound.sectors.lane_bits = std::countr_zero(static_cast<std::uint64_t>(lanes));
  const Index each = std::min<Index>(kWarp, threads / (lanes * kTallColumns));  // lanes that fold a column of all slots
  bound.sectors.group_bits = std::countr_zero(static_cast<std::uint64_t>(each));
  const Index shared =
      step.launch.shared_bytes + tall_sectors_bytes(threads, lanes, bound.launch.cluster, bound.element_bytes);
  Arguments& to = bound.arguments;
  to.tile_bytes = to.part * lanes * kTallColumns * bound.element_bytes;
  bound.kernel(KernelOf::all).shared_bytes = kExchangeBytes + to.tile_bytes;
  return {found.tall_sectors, shared, step.launch.block};
}

StepKernel travelling_kernel(const Step& step, const Found& found, Index pack) {
  if (found.travelling_sectors == nullptr || !rows_begin_alike(step, pack)) return {};
  const Index before = travelling_states_bytes(step.launch.block, travelling_columns(step));
  return {found.travelling_sectors, before + step.launch.shared_bytes, step.launch.block};
}

}  // namespace

StepKernel kernel_of_sectors(const Step& step, const Found& found, Bound& bound) {
  if (step.kernel.body != Body::columns || step.kept.empty() || step.reduced.size() != 1) return {};
  const Index size = step.kept.back().size, width = step.kernel.tuning.panel_bytes / bound.element_bytes;
  const bool alone = keeps_tall_sectors(step) && width == size;
  if (!alone && !is_width_by_sectors(width, bound.element_bytes)) return {};
  const Reach in_kept = reach_of(step.kept), in_reduced = reach_of(step.reduced),
              out_kept = reach_of(step.kept, &Axis::out), out_reduced = reach_of(step.reduced, &Axis::out);
  Arguments& to = bound.arguments;
  to.reach_from = in_kept.low + in_reduced.low;
  to.reach_to = in_kept.high + in_reduced.high;
  const Index panels = ceil_divide(size, width);
  bound.sectors = {.width = static_cast<int>(width),
                   .panels = panels,
                   .tiles = product_of(step.kept) / size * panels,
                   .by_panels = divide_by(panels),
                   .out_from = out_kept.low + out_reduced.low,
                   .out_to = out_kept.high + out_reduced.high};
  if (found.tall_sectors != nullptr) return tall_kernel(step, found, bound, width);
  const Index pack = Index{kVectorBytes} / bound.element_bytes;
  return travels_by_sectors(step) && step.kernel.residency == Residency::ring ? travelling_kernel(step, found, pack)
                                                                              : kept_kernel(step, found, bound, width);
}

bool suits_sectors(const Bound& bound, const Arguments& to) {
  const Index element = bound.element_bytes;
  const auto in = reinterpret_cast<std::intptr_t>(to.in), out = reinterpret_cast<std::intptr_t>(to.out);
  const bool apart = in + (to.reach_to + 1) * element <= out + bound.sectors.out_from * element ||
                     out + (bound.sectors.out_to + 1) * element <= in + to.reach_from * element;
  const bool alone = bound.sectors.panels == 1;  // what a block reads nobody else writes
  return (apart || alone) && (bound.sectors.any_phase || (in - out) % kVectorBytes == 0);
}

void take_sectors(const Bound& bound, Arguments& to) {
  const SectorPanels& sectors = bound.sectors;
  to.kernel = KernelOf::sectors;
  to.widest_panel = sectors.width;
  to.lanes = sectors.lanes;
  to.lane_bits = sectors.lane_bits;
  to.rows_of_lane = sectors.rows_of_lane;
  to.group_bits = sectors.group_bits;
  to.panels = sectors.panels;
  to.by_panels = sectors.by_panels;
  to.tiles = sectors.tiles;
}

}  // namespace ndfold::cuda
