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

// More than four small blocks have room for on any multiprocessor.
constexpr Index kMuchBeyond = 48 * 1024;

// Columns of which registers keep a part. Where buffers do not suit, the usual kernel has room for all that a block
// has.
StepKernel tall_kernel(const Step& step, const Found& found, Bound& bound, Index width) {
  const Index element = bound.element_bytes;
  const Index lanes =
      bound.sectors.shifted ? width / kTallColumns : lanes_of_tall_sectors(width, step.kept.back().size, element);
  Index threads = step.launch.block;
  const auto beyond = [&] {
    const Index rows = step.part - threads / lanes * rows_of_tall_sectors(element);
    return std::max<Index>(0, rows) * lanes * kTallColumns * element;
  };
  if (beyond() > kMuchBeyond) threads = kTallThreads;
  if (lanes * kTallColumns > threads || threads / lanes % rows_of_sector(element) != 0) return {};
  bound.sectors.any_phase = true;
  bound.sectors.lanes = static_cast<int>(lanes);
  bound.sectors.lane_bits = std::countr_zero(static_cast<std::uint64_t>(lanes));
  const Index each = std::min<Index>(kWarp, threads / (lanes * kTallColumns));  // lanes that fold a column of all slots
  bound.sectors.group_bits = std::countr_zero(static_cast<std::uint64_t>(each));
  const Index shared = beyond() + tall_sectors_bytes(threads, lanes, bound.launch.cluster, element);
  Arguments& to = bound.arguments;
  to.tile_bytes = to.part * lanes * kTallColumns * element;
  bound.kernel(KernelOf::all).shared_bytes = kExchangeBytes + to.tile_bytes;
  return {found.tall_sectors, shared, static_cast<int>(threads)};
}

StepKernel travelling_kernel(const Step& step, const Found& found, Index pack) {
  if (found.travelling_sectors == nullptr || !rows_begin_alike(step, pack)) return {};
  const Index before = travelling_bytes_before(step, step.launch.block, static_cast<int>(pack));
  return {found.travelling_sectors, before + step.launch.shared_bytes, step.launch.block};
}

}  // namespace

StepKernel kernel_of_sectors(const Step& step, const Found& found, Bound& bound) {
  const bool in_line = step.reduced.size() == 1 && are_neighbours(step);
  if (step.kernel.body != Body::columns || !in_line) return {};
  const Index size = step.kept.back().size, width = step.kernel.tuning.panel_bytes / bound.element_bytes;
  const bool alone = keeps_tall_sectors(step) && width == size;
  const bool shifted = found.tall_sectors != nullptr && std::has_single_bit(static_cast<std::uint64_t>(width)) &&
                       are_whole_sectors(step);
  if (!alone && !shifted && !is_width_by_sectors(width, bound.element_bytes)) return {};
  const Reach out = reach_of(step, &Axis::out);
  const Index panels = ceil_divide(size, width);
  bound.sectors = {.width = static_cast<int>(width),
                   .panels = panels,
                   .tiles = product_of(step.kept) / size * panels,
                   .by_panels = divide_by(panels),
                   .out_from = out.low,
                   .out_to = out.high};
  bound.sectors.shifted = shifted;
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
  const bool alone = bound.sectors.panels == 1 || bound.sectors.shifted;  // what a block folds nobody else writes
  return (apart || alone) && (bound.sectors.any_phase || (in - out) % kVectorBytes == 0);
}

namespace {

void shift_panels(const Bound& bound, Arguments& to) {
  const auto begin = reinterpret_cast<std::uintptr_t>(to.out) % kSectorBytes;
  to.phase = static_cast<int>(begin) / static_cast<int>(bound.element_bytes);
  if (to.phase == 0) return;
  to.panels = ceil_divide(to.lane_axis.size + to.phase, to.widest_panel);
  to.by_panels = divide_by(to.panels);
  to.tiles = to.tiles / bound.sectors.panels * to.panels;
}

}  // namespace

void take_sectors(const Bound& bound, Arguments& to) {
  const SectorPanels& sectors = bound.sectors;
  to.kernel = KernelOf::sectors;
  to.widest_panel = sectors.width;
  to.lanes = sectors.lanes;
  to.lane_bits = sectors.lane_bits;
  to.rows_of_lane = sectors.rows_of_lane;
  to.group_bits = sectors.group_bits;
  to.phase = 0;
  to.panels = sectors.panels;
  to.by_panels = sectors.by_panels;
  to.tiles = sectors.tiles;
  if (sectors.shifted) shift_panels(bound, to);
}

}  // namespace ndfold::cuda
