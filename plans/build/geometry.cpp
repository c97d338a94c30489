#include "plans/build/geometry.h"

#include <ndfold/kept_columns.h>

#include "plans/build/steps.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace ndfold {
namespace {

constexpr Index kMostBlocksInX = std::numeric_limits<std::int32_t>::max();
constexpr Index kMostBlocksInY = 65535;

constexpr Index kReservedBytes = 1024;  // that the driver keeps of every block
constexpr Index kMostBlocksOfMultiprocessor = 32;
constexpr Index kVectorBytes = 16;
constexpr Index kLoadsOfMap = 4;                // of all loads in flight, by a lane one after the other
constexpr Index kShortestMaps = 4;              // lanes take a quarter of them, rather than that fewer than
constexpr Index kBlocksOfMap = 4;               // blocks of a multiprocessor are busy
constexpr Index kRegisterBytesOfControl = 128;  // of a thread: addresses, counters, states

// Threads that fold one row together.
Index sharers(const Step& step) {
  return step.kernel.scope == Scope::lanes ? step.kernel.tuning.lanes_per_row : step.launch.block;
}

Index data_register_bytes(const Step& step) {
  const Tuning& tuning = step.kernel.tuning;
  const Index loads = static_cast<Index>(tuning.vector_bytes) * tuning.unroll;
  if (step.kernel.residency != Residency::registers) return loads;
  const Index here = tile_bytes(step) - step.launch.shared_bytes;  // others go beyond registers
  const Index kept = ceil_divide(here, std::max<Index>(1, sharers(step)));
  if (step.kernel.body == Body::columns) return kept;  // of 16 bits elements stay: kernels/cuda/kept.h
  const bool stay = element_bytes(step) == 2 && tuning.unroll > kMostNumberedLoads;  // there, too
  return std::max(loads, kept) *
         (stay ? 1 : static_cast<Index>(size_bytes(step.kernel.accumulate)) / element_bytes(step));
}

bool is_line(const Step& step) {
  return step.kernel.body == Body::rows && step.reduced.size() == 1 && step.reduced.back().in == 1;
}

// Of a line without its ends, which have registers of their own.
Index packs_of_line(const Step& step) {
  return elements(step.reduced) * element_bytes(step) / step.kernel.tuning.vector_bytes;
}

// What blocks that share a line keep of it beside their registers, if their kernels do.
Index packs_beyond(const Step& step) {
  const Index lanes = step.launch.block * std::max<Index>(1, step.parts);
  const Index beyond = packs_of_line(step) - lanes * step.kernel.tuning.unroll;
  if (beyond <= 0) return 0;
  return beyond / lanes * step.launch.block + std::min<Index>(beyond % lanes, step.launch.block);
}

// Whether kernels keep more of a line than registers do.
bool keeps_beyond(const Step& step) {
  const KernelKey& kernel = step.kernel;
  return kernel.scope != Scope::lanes && kernel.tuning.unroll > kMostNumberedLoads && kernel.output == kernel.input &&
         step.reduced.back().out == 1;
}

bool fits_registers(const Step& step, const DeviceFacts& device) {
  if (step.kernel.body != Body::rows) return false;
  const Tuning& tuning = step.kernel.tuning;
  const Index room = sharers(step) * tuning.unroll;
  if (!is_line(step)) return tile_bytes(step) <= room * tuning.vector_bytes;
  const Index of_block = keeps_beyond(step) ? packs_of_block(tuning, device) : room;
  return packs_of_line(step) <= of_block * std::max<Index>(1, step.parts);
}

bool fits_output(const Step& step) {
  return step.kernel.body == Body::rows && step.kernel.sink == SinkKind::softmax &&
         step.kernel.output == step.kernel.accumulate && !step.reduced.empty() && step.reduced.back().out == 1;
}

// Bodies without a fold share out their elements. Lanes of a map take several loads behind one another, but where
// multiprocessors would be idle.
void spread_elements(Step& step, const DeviceFacts& device) {
  const Tuning& tuning = step.kernel.tuning;
  const Index loads = std::max<Index>(1, tuning.vector_bytes / element_bytes(step)) * tuning.unroll;
  const Index block = step.launch.block * loads;
  auto& grid = step.launch.grid;
  if (step.kernel.body == Body::permute) grid = {1, ceil_divide(elements(step.kept), block), 1};
  if (step.kernel.body == Body::elementwise) {
    const Index count = elements(step.kept) * elements(step.reduced);
    const Index fewest =
        std::min(ceil_divide(count * kShortestMaps, block), Index{device.multiprocessors} * kBlocksOfMap);
    grid = {std::max(ceil_divide(count, block * kLoadsOfMap), fewest), 1, 1};
  }
}

void fit(Step& step, const DeviceFacts& device) {
  Launch& launch = step.launch;
  launch.block = std::clamp(launch.block, 1, std::max(1, device.threads_per_block));
  spread_elements(step, device);
  launch.grid[0] = std::clamp<Index>(launch.grid[0], 1, kMostBlocksInX / launch.cluster * launch.cluster);
  launch.grid[1] = std::clamp<Index>(launch.grid[1], 1, kMostBlocksInY);
}

}  // namespace

bool can_wait(const Step& step, Residency wanted, const DeviceFacts& device) {
  switch (wanted) {
    case Residency::none: return false;
    case Residency::registers: return fits_registers(step, device);
    case Residency::shared:
    case Residency::cluster: return waiting_bytes(step) <= shared_bytes_for(1, device);
    case Residency::output: return fits_output(step);
    case Residency::scratch: return step.kernel.body == Body::columns;
    case Residency::ring: return false;  // travel.h says
  }
  return false;
}

Index element_bytes(const Step& step) { return static_cast<Index>(size_bytes(step.kernel.input)); }

Index packs_of_block(const Tuning& tuning, const DeviceFacts& device) {
  return Index{tuning.threads} * tuning.unroll + shared_bytes_for(2, device) / tuning.vector_bytes;
}

Index floor_power_of_two(Index value) {
  return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(std::max<Index>(value, 1))));
}
Index ceil_power_of_two(Index value) {
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Index>(value, 1))));
}

Index tile_bytes(const Step& step) {
  if (are_columns_in_bundles(step)) return step.reduced.front().in * step.reduced.front().size * element_bytes(step);
  const bool columns = step.kernel.body == Body::columns && !step.kept.empty();
  const Index width = columns ? std::min(panel_elements(step), step.kept.back().size) : 1;
  const Checked bytes = Checked(step.part) * width * element_bytes(step);
  return bytes.fits() ? bytes.value() : std::numeric_limits<Index>::max();
}

Index waiting_bytes(const Step& step) {
  if (step.kernel.body != Body::columns || step.kept.empty()) {
    const Index tile = std::min(tile_bytes(step), std::numeric_limits<Index>::max() / 2);  // no more than that anyhow
    return round_up(tile, kVectorBytes) + kRowEndsBytes;
  }
  const Index row = std::min(panel_elements(step), step.kept.back().size) * element_bytes(step);
  const Checked bytes = Checked(step.part) * round_up(row, kVectorBytes);
  return bytes.fits() ? bytes.value() : std::numeric_limits<Index>::max();
}

Index shared_bytes_for(Index blocks, const DeviceFacts& device) {
  const Index share = device.shared_bytes_per_multiprocessor / blocks - kReservedBytes;
  return std::max<Index>(0, std::min(share, device.shared_bytes_per_block) - kExchangeBytes);
}

bool are_columns_in_lanes(const Step& step) {
  return step.kernel.body == Body::columns && step.kernel.scope == Scope::lanes &&
         step.kernel.residency != Residency::shared;
}

bool are_columns_in_bundles(const Step& step) {
  return step.kernel.body == Body::columns && step.kernel.scope == Scope::lanes &&
         step.kernel.residency == Residency::shared;
}

Index tiles_of_block(const Step& step) {
  if (are_columns_in_lanes(step)) return step.launch.block / step.kernel.tuning.lanes_per_row;
  if (step.kernel.body == Body::columns && step.kernel.scope == Scope::block && !step.kept.empty())
    return ceil_divide(elements(step.kept) / step.kept.back().size * panels(step), step.launch.grid[1]);
  if (step.kernel.scope != Scope::lanes) return 1;
  if (step.kernel.residency == Residency::shared)  // bundles
    return step.kernel.tuning.panel_bytes / std::max<Index>(1, tile_bytes(step));
  const Tuning& tuning = step.kernel.tuning;
  const Index loads = static_cast<Index>(tuning.lanes_per_row) * tuning.vector_bytes * tuning.unroll;
  return step.launch.block / tuning.lanes_per_row * std::max<Index>(1, loads / std::max<Index>(1, tile_bytes(step)));
}

Index resident_blocks(const Step& step, const DeviceFacts& device) {
  const Index threads = std::max(1, step.launch.block);
  const Index shared = step.launch.shared_bytes + kExchangeBytes + kReservedBytes;
  const Index registers = threads * (kRegisterBytesOfControl + data_register_bytes(step));
  const Index most = std::min({kMostBlocksOfMultiprocessor, device.threads_per_multiprocessor / threads,
                               device.shared_bytes_per_multiprocessor / shared,
                               device.register_bytes_per_multiprocessor / std::max<Index>(1, registers)});
  return std::max<Index>(1, most);
}

void settle(Step& step, Residency wanted, const DeviceFacts& device) {
  const bool maps = maps_elements(step.kernel.sink);
  step.kernel.residency = maps && can_wait(step, wanted, device) ? wanted : Residency::none;
  const bool shares = step.kernel.residency == Residency::shared || step.kernel.residency == Residency::cluster;
  const bool goes_beyond = step.kernel.residency == Residency::registers && is_line(step);
  step.launch.shared_bytes = shares        ? waiting_bytes(step)
                             : goes_beyond ? packs_beyond(step) * step.kernel.tuning.vector_bytes
                                           : 0;
}

void settle_partly(Step& step, Index room) {
  step.kernel.residency = Residency::shared;
  step.launch.shared_bytes = room / kVectorBytes * kVectorBytes;
}

double share_again(const Step& step) {
  const KernelKey& kernel = step.kernel;
  if (!maps_elements(kernel.sink)) return 0;
  if (kernel.residency == Residency::none) return are_columns_in_lanes(step) ? 0 : 1;
  if (kernel.scope != Scope::grid) return 0;
  if (kernel.residency == Residency::ring)
    return std::max(0.0, 1 - static_cast<double>(step.launch.shared_bytes) / static_cast<double>(tile_bytes(step)));
  if (kernel.residency != Residency::shared) return 0;
  return std::max(0.0, 1 - static_cast<double>(step.launch.shared_bytes) / static_cast<double>(waiting_bytes(step)));
}

void fit_to_device(Schedule& schedule, const DeviceFacts& device) {
  if (device.kind == DeviceKind::cpu) return;
  for (Step& step : schedule.steps) fit(step, device);
}

}  // namespace ndfold
