#include "plans/build/geometry.h"

#include <ndfold/kept_columns.h>

#include "plans/build/lines.h"
#include "plans/build/steps.h"
#include "plans/typing.h"

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
constexpr int kPacksOfLane = 4;
constexpr Index kLoadsOfMap = 4;                // of all loads in flight, by a lane one after the other
constexpr Index kShortestMaps = 4;              // lanes take a quarter of them, rather than that fewer than
constexpr Index kBlocksOfMap = 4;               // blocks of a multiprocessor are busy
constexpr Index kNarrowPanelBytes = 256;        // two lines of memory
constexpr Index kSmallPanelBytes = 64 * 1024;   // of all rows: narrower ones do not pay for their block
constexpr double kBusyThreads = 0.4;            // of all that a device has room for, at least, in small blocks
constexpr Index kRowsOfLane = 128;              // of a reduction: fewer cost less than the meeting that follows them
constexpr double kSmallBytes = 1024 * 1024;     // soon in a cache: narrow panels cost less than idle multiprocessors
constexpr Index kRegisterBytesOfControl = 128;  // of a thread: addresses, counters, states

Index element_bytes(const Step& step) { return static_cast<Index>(size_bytes(step.kernel.input)); }

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

// Whether a reduction's columns are 16-bit neighbours whose packs begin anywhere.
bool begin_anywhere(const Step& step) {
  const KernelKey& key = step.kernel;
  const FoldKind fold = key.fold == FoldKind::softmax ? FoldKind::logsumexp : key.fold;
  return key.body == Body::columns && !maps_elements(key.sink) && size_bytes(key.input) == 2 &&
         has_many_kernels(fold, key.input, key.accumulate) && has_uneven_rows(step) && step.kept.back().in == 1;
}

// Whether a lane may take all rows of its columns: of several axes blocks look up where rows lie, and share them.
bool are_few_rows(const Step& step) {
  return step.reduced.size() < 2 && elements(step.reduced) <= (begin_anywhere(step) ? kFewRowsAnywhere : kFewRows);
}

// Rows that a lane takes alone in any case. Few lanes take more of them one batch after another, and fewer
// multiprocessors have any; but what meets in a block costs more the larger it is. Of whole packs, us alone and shared:
// sum f32 of [12,16384] 2.6 and 2.2, argmax of [20,16384] 5.9 and 6.1, of 32 rows 7.1 and 5.2, var of them 4.7 and 4.9.
Index rows_alone(const Step& step) {
  constexpr Index kRows = 8, kRowsOfIndices = 24, kSmallState = 8;
  const KernelKey& key = step.kernel;
  if (has_uneven_rows(step) || step.kept.back().in != 1) return kRows;
  if (folds_an_index(key.fold)) return kRowsOfIndices;
  return state_bytes(key.fold, key.accumulate) <= kSmallState ? kRows : kFewRows;
}

// Whether lanes of a block share few rows all the same: where lanes that take all would be few. Sums f32 of
// [32,16384] 3.9 and 2.4 us, of 65 536 4.7 and 3.8, of 262 144 10.6 and 10.5; of [20,262144] 7.9 and 9.1. But not where
// a block has a narrow line: [512,12,64] over axis 1 2.7 and 4.7.
bool share_few_rows(const Step& step, const DeviceFacts& device) {
  constexpr Index kFewLanes = 256;  // of a device has one, times rows
  const Index rows = elements(step.reduced);
  if (step.kept.empty() || !are_few_rows(step) || rows <= rows_alone(step)) return false;
  const Index size = step.kept.back().size, lines = elements(step.kept) / size;
  const Index packs = ceil_divide(size * element_bytes(step), step.kernel.tuning.vector_bytes);
  const Index room = Index{device.multiprocessors} * device.threads_per_multiprocessor;
  return lines * packs * kFewLanes <= room * rows && (packs >= device.lanes || lines == 1);
}

// Whether a lane of a GPU takes all rows of its columns.
bool takes_all_rows(const Step& step, const DeviceFacts& device) {
  return are_few_rows(step) && !share_few_rows(step, device);
}

// Whether lanes of a GPU's block share rows of columns, a pack each.
bool share_whole_packs(const Step& step, const DeviceFacts& device) {
  const bool dense = device.kind == DeviceKind::cuda && !step.kept.empty() && step.kernel.source == SourceKind::dense;
  return dense && !takes_all_rows(step, device) && (!has_uneven_rows(step) || loads_across(step));
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

Index packs_of_block(const Tuning& tuning, const DeviceFacts& device) {
  return Index{tuning.threads} * tuning.unroll + shared_bytes_for(2, device) / tuning.vector_bytes;
}

bool is_small_and_wide(const Step& step, Index panel_bytes, Index all_panels, const DeviceFacts& device) {
  return step.bytes_read <= kSmallBytes && panel_bytes > kSectorBytes && all_panels < device.multiprocessors;
}

Index floor_power_of_two(Index value) {
  return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(std::max<Index>(value, 1))));
}
Index ceil_power_of_two(Index value) {
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Index>(value, 1))));
}

bool has_uneven_rows(const Step& step) {
  const Index pack =
      std::max<Index>(1, step.kernel.tuning.vector_bytes / static_cast<Index>(size_bytes(step.kernel.input)));
  const auto is_uneven = [&](const Axis& axis) { return axis.in % pack != 0; };
  if (step.kernel.source != SourceKind::dense || step.kept.empty()) return false;
  return std::any_of(step.reduced.begin(), step.reduced.end(), is_uneven) ||
         std::any_of(step.kept.begin(), step.kept.end() - 1, is_uneven);
}

bool loads_across(const Step& step) {
  return begin_anywhere(step) && are_rows_anywhere(step.reduced, step.kept.back().size);
}

bool are_rows_anywhere(std::span<const Axis> reduced, Index columns) {
  if (reduced.size() != 1) return reduced.size() > 1;
  const Axis& rows = reduced.front();
  const bool joined = rows.in == columns && columns <= kMostJoinedColumns;
  return rows.size > kFewRowsAnywhere && rows.size <= kMostRowsAnywhere && !joined;
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

void fit_panels(Step& step, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || step.kept.empty()) return;
  Tuning& tuning = step.kernel.tuning;
  const Index size = step.kept.back().size, outer = elements(step.kept) / size;
  const Index resident = Index{device.multiprocessors} * (device.threads_per_multiprocessor / step.launch.block);
  Index together = 1;  // panels of a block
  if (!takes_all_rows(step, device)) {
    const auto rows_of_lane = [&] {
      return elements(step.reduced) * tuning.panel_bytes / tuning.vector_bytes / step.launch.block;
    };
    while (rows_of_lane() < kRowsOfLane && tuning.panel_bytes < step.launch.block * tuning.vector_bytes &&
           tuning.panel_bytes < size * element_bytes(step) && outer * panels(step) >= 3 * resident)
      tuning.panel_bytes *= 2;
    while (tuning.panel_bytes > kNarrowPanelBytes && outer * panels(step) < resident &&
           elements(step.reduced) * tuning.panel_bytes > kSmallPanelBytes)
      tuning.panel_bytes /= 2;
    while (is_small_and_wide(step, tuning.panel_bytes, outer * panels(step), device)) {
      tuning.panel_bytes /= 2;
      const Index across = tuning.panel_bytes / tuning.vector_bytes;
      const Index threads = round_up(across * ceil_divide(elements(step.reduced), tuning.unroll), device.lanes);
      step.launch.block = static_cast<int>(std::min<Index>(step.launch.block, threads));
    }
  } else {
    const bool fills_block = tuning.panel_bytes == step.launch.block * tuning.vector_bytes;
    if (fills_block && outer * panels(step) >= resident * kPacksOfLane) tuning.panel_bytes *= kPacksOfLane;
    const Index packs = ceil_divide(size * element_bytes(step), tuning.vector_bytes);
    together = std::max<Index>(1, step.launch.block / ceil_power_of_two(packs));
  }
  step.launch.grid[1] = ceil_divide(outer * panels(step), together);
}

void fit_block(Step& step, const DeviceFacts& device) {
  if (!share_whole_packs(step, device)) return;
  const Index row = std::min(panel_elements(step), step.kept.back().size) * element_bytes(step);
  const Index across = ceil_power_of_two(ceil_divide(row, step.kernel.tuning.vector_bytes));
  const Index blocks = elements(step.kept) / step.kept.back().size * panels(step);
  const double enough = kBusyThreads * device.multiprocessors * device.threads_per_multiprocessor;
  const auto may_halve = [&] {
    const Index threads = step.launch.block / 2;
    return threads >= std::max<Index>(across, device.lanes) && static_cast<double>(blocks * threads) >= enough &&
           elements(step.reduced) * across < kRowsOfLane * step.launch.block;
  };
  while (may_halve()) step.launch.block /= 2;
}

void leave_lanes_alone(Step& step, const DeviceFacts& device) {
  constexpr Index kMostRows = 256, kWidest = 64;
  constexpr double kEnoughLanes = 0.15, kBusyLanes = 0.8, kNearlyAll = 0.95;
  if (!share_whole_packs(step, device) || !looks_twice(step.kernel.fold)) return;
  const Index packs = ceil_divide(step.kept.back().size * element_bytes(step), step.kernel.tuning.vector_bytes);
  const Index lines = elements(step.kept) / step.kept.back().size;
  const auto room = static_cast<double>(Index{device.multiprocessors} * device.threads_per_multiprocessor);
  const auto busy = [&](Index across) {
    return static_cast<double>(packs) / static_cast<double>(round_up(packs, across));
  };
  const Index across = busy(kWidest) >= std::min(busy(device.lanes), kNearlyAll) ? kWidest : Index{device.lanes};
  const bool enough = static_cast<double>(lines * packs) >= kEnoughLanes * room && busy(across) >= kBusyLanes;
  if (!enough || elements(step.reduced) > kMostRows) return;
  step.launch.block = static_cast<int>(across);
  step.kernel.tuning.panel_bytes = static_cast<int>(across * step.kernel.tuning.vector_bytes);
  step.launch.grid[1] = lines * panels(step);
}

void fit_uneven_rows(Step& step, const DeviceFacts& device) {
  constexpr Index kFewestLanes = 16, kMostLanes = 64;
  if (device.kind != DeviceKind::cuda || step.kernel.body != Body::columns || step.kept.empty()) return;
  const bool few = step.kernel.sink == SinkKind::store && elements(step.reduced) <= kFewRows;
  if (few && !share_few_rows(step, device)) return;
  const Axis columns = step.kept.back();
  const Index pack = std::max<Index>(1, kVectorBytes / element_bytes(step));
  const Index threads = std::min(step.launch.block, device.threads_per_block);
  const Index most = floor_power_of_two(std::min(kMostLanes, threads / pack));
  if (step.reduced.size() != 1 || columns.in != 1 || step.reduced.back().in % pack == 0 || most < 2) return;
  const Index pitch = step.reduced.back().in;
  const bool follows = pitch == columns.size;
  if (!follows && std::abs(pitch) < pack) return;  // packs around a row would reach beyond the first and the last
  int& panel_bytes = step.kernel.tuning.panel_bytes;
  Index panel = std::min(kMostJoinedColumns, threads);
  if (!follows || columns.size > panel) {
    const Index enough = ceil_power_of_two(ceil_divide(columns.size, pack) + 1);
    Index lanes = std::clamp<Index>(panel_bytes / kVectorBytes, std::min({kFewestLanes, most, enough}), most);
    const auto taken = [&](Index across) { return ceil_divide(columns.size, (across - 1) * pack) * across; };
    if (2 * lanes <= most && taken(2 * lanes) <= taken(lanes)) lanes *= 2;
    lanes = std::min(lanes, enough);
    panel = (lanes - 1) * pack;
    step.launch.block = static_cast<int>(threads / (lanes * pack) * (lanes * pack));  // slots that begin alike
  }
  panel_bytes = static_cast<int>(panel * element_bytes(step));
  step.launch.grid[1] = elements(step.kept) / columns.size * panels(step);
}

void note_sharers_of_few_rows(Step& step, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || !share_few_rows(step, device)) return;
  const Tuning& tuning = step.kernel.tuning;
  const Index across = ceil_power_of_two(ceil_divide(tuning.panel_bytes, tuning.vector_bytes));
  step.kernel.tuning.lanes_per_row = static_cast<int>(std::max<Index>(1, step.launch.block / across));
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
