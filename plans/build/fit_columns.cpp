#include "plans/build/fit_columns.h"

#include <ndfold/few_rows.h>
#include <ndfold/kept_columns.h>

#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/steps.h"
#include "plans/typing.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr int kPacksOfLane = 4;
constexpr Index kNarrowPanelBytes = 256;       // two lines of memory
constexpr Index kSmallPanelBytes = 64 * 1024;  // of all rows: narrower ones do not pay for their block
constexpr double kBusyThreads = 0.4;           // of all that a device has room for, at least, in small blocks
constexpr Index kRowsOfLane = 128;             // of a reduction: fewer cost less than the meeting that follows them
constexpr double kSmallBytes = 1024 * 1024;    // soon in a cache: narrow panels cost less than idle multiprocessors

// Lines of columns, loads of one of them, and threads that a device has room for.
Index lines_of(const Step& step) { return elements(step.kept) / step.kept.back().size; }
Index packs_of_row(const Step& step) {
  return ceil_divide(step.kept.back().size * element_bytes(step), step.kernel.tuning.vector_bytes);
}
Index room_of(const DeviceFacts& device) { return Index{device.multiprocessors} * device.threads_per_multiprocessor; }

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
  const Index lines = lines_of(step), packs = packs_of_row(step);
  return lines * packs * kFewLanes <= room_of(device) * rows && (packs >= device.lanes || lines == 1);
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

// Halves panels of a small problem, so that more multiprocessors have one, but leaves a warp of lanes whole batches of
// rows: argmax of [64,64] axis 0 takes 3.9 us by panels of 32 bytes, 2.9 of 64. Less than memory reads at a time only
// where two looks at many rows cost more: [1000,100] 5.6 us by 32 bytes and 4.8 by 16, [256,256] 3.1 and 3.2.
void narrow_panels(Step& step, const DeviceFacts& device) {
  Tuning& tuning = step.kernel.tuning;
  const Index batches = ceil_divide(elements(step.reduced), tuning.unroll);
  const Index lines = lines_of(step), most = device.multiprocessors;
  const bool tall = looks_twice(step.kernel.fold) && batches >= 2 * device.lanes;
  const Index narrowest = tall ? tuning.vector_bytes : kSectorBytes;
  while (tuning.panel_bytes > narrowest && lines * panels(step) < most &&
         tuning.panel_bytes / 2 / tuning.vector_bytes * batches >= device.lanes)
    tuning.panel_bytes /= 2;
  const Index threads = round_up(tuning.panel_bytes / tuning.vector_bytes * batches, device.lanes);
  step.launch.block = static_cast<int>(std::min<Index>(step.launch.block, threads));
}

// Threads of a block that folds such panels of a reduction: half as many while lanes would have few rows, for what
// meets in a block costs more than they do, and as long as enough threads are left to keep the device busy.
void fit_block(Step& step, const DeviceFacts& device) {
  if (!share_whole_packs(step, device)) return;
  const Index row = std::min(panel_elements(step), step.kept.back().size) * element_bytes(step);
  const Index across = ceil_power_of_two(ceil_divide(row, step.kernel.tuning.vector_bytes));
  const Index blocks = lines_of(step) * panels(step);
  const double enough = kBusyThreads * device.multiprocessors * device.threads_per_multiprocessor;
  const auto may_halve = [&] {
    const Index threads = step.launch.block / 2;
    return threads >= std::max<Index>(across, device.lanes) && static_cast<double>(blocks * threads) >= enough &&
           elements(step.reduced) * across < kRowsOfLane * step.launch.block;
  };
  while (may_halve()) step.launch.block /= 2;
}

// Of a reduction that looks twice, where lanes are many, each takes all rows of its columns, for then nobody meets:
// var bf16 of 100, 128 and 200 rows 53, 44 and 50 us by two to four lanes, 43, 37 and 40 by one, of 256 42 and 42.
void leave_lanes_alone(Step& step, const DeviceFacts& device) {
  constexpr Index kMostRows = 256, kWidest = 64;
  constexpr double kEnoughLanes = 0.15, kBusyLanes = 0.8, kNearlyAll = 0.95;
  if (!share_whole_packs(step, device) || !looks_twice(step.kernel.fold)) return;
  const Index packs = packs_of_row(step), lines = lines_of(step);
  const auto room = static_cast<double>(room_of(device));
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

// Notes how many lanes of a block share the few rows of a column; 1 where each takes all of them.
void note_sharers_of_few_rows(Step& step, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || !share_few_rows(step, device)) return;
  const Tuning& tuning = step.kernel.tuning;
  const Index across = ceil_power_of_two(ceil_divide(tuning.panel_bytes, tuning.vector_bytes));
  step.kernel.tuning.lanes_per_row = static_cast<int>(std::max<Index>(1, step.launch.block / across));
}

}  // namespace

bool is_small_and_wide(const Step& step, Index panel_bytes, Index all_panels, const DeviceFacts& device) {
  return step.bytes_read <= kSmallBytes && panel_bytes > kSectorBytes && all_panels < device.multiprocessors;
}

bool has_uneven_rows(const Step& step) {
  const Index pack = std::max<Index>(1, step.kernel.tuning.vector_bytes / element_bytes(step));
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

namespace {

void widen_ragged_panels(Step& step) {
  constexpr Index kWideBytes = 512, kFewestElementBytes = 4;
  constexpr double kMostMoreLanes = 1.3, kFewestBytes = 20e6;  // read: else panels that are more blocks meet sooner
  if (step.kernel.source != SourceKind::dense || step.kept.empty() || step.reduced.size() != 1) return;
  const bool works_much = step.kernel.fold == FoldKind::softmax || looks_twice(step.kernel.fold);
  if (element_bytes(step) < kFewestElementBytes || works_much || step.bytes_read < kFewestBytes) return;
  Tuning& tuning = step.kernel.tuning;
  const auto lanes = [&](Index bytes) {
    const Index across = bytes / tuning.vector_bytes;
    return static_cast<double>(ceil_divide(packs_of_row(step), across) * across);
  };
  const bool ragged = step.kept.back().in == 1 && step.reduced.back().in * element_bytes(step) % kMemoryLineBytes != 0;
  if (!ragged || has_uneven_rows(step) || lanes(kWideBytes) > kMostMoreLanes * lanes(tuning.panel_bytes)) return;
  tuning.panel_bytes = std::max(tuning.panel_bytes, static_cast<int>(kWideBytes));
  step.launch.grid[1] = lines_of(step) * panels(step);
}

// Lanes side by side, a power of two: as many as leave few of them idle, and more where that leaves not many more idle
// and blocks enough, or blocks that share few panels in parts. But argmax f32 of [131072,513] axis 0 takes 79 us by 32
// lanes and 88 by 64, logsumexp bf16 of [271303,513] 88 by 16 and 94 by 32.
Index lanes_of_uneven_rows(const Step& step, Index most, bool in_parts, const DeviceFacts& device) {
  constexpr Index kFewestLanes = 16, kBusyBlocks = 4, kFewPanels = 12;
  constexpr double kMostMoreLanes = 1.2, kLittleBytes = 6e6;
  const Index columns = step.kept.back().size, pack = pack_of(step.kernel.input);
  const Index enough = ceil_power_of_two(ceil_divide(columns, pack) + 1);
  const Index planned = step.kernel.tuning.panel_bytes / step.kernel.tuning.vector_bytes;
  Index lanes = std::clamp<Index>(planned, std::min({kFewestLanes, most, enough}), most);
  const auto taken = [&](Index across) { return ceil_divide(columns, (across - 1) * pack) * across; };
  if (2 * lanes <= most && taken(2 * lanes) <= taken(lanes)) lanes *= 2;
  const bool meets_slowly =
      folds_an_index(step.kernel.fold) || (looks_twice(step.kernel.fold) && element_bytes(step) == 2);
  const auto may_double = [&] {
    const Index wide = 2 * lanes, blocks = lines_of(step) * taken(wide) / wide;
    const bool busy = in_parts ? blocks <= kFewPanels && step.bytes_read > kLittleBytes
                               : blocks >= kBusyBlocks * device.multiprocessors;
    const auto idle = static_cast<double>(taken(wide)) / static_cast<double>(taken(lanes));
    return wide <= most && idle <= kMostMoreLanes && busy && !meets_slowly;
  };
  while (may_double()) lanes *= 2;
  return std::min(lanes, enough);
}

void lay_out_uneven_rows(Step& step, const DeviceFacts& device, bool in_parts) {
  constexpr Index kMostLanes = 64;
  if (device.kind != DeviceKind::cuda || step.kernel.body != Body::columns || step.kept.empty()) return;
  const bool few = step.kernel.sink == SinkKind::store && elements(step.reduced) <= kFewRows;
  if (few && !share_few_rows(step, device)) return;
  const Axis columns = step.kept.back();
  const Index pack = pack_of(step.kernel.input);
  const Index threads = std::min(step.launch.block, device.threads_per_block);
  const Index most = floor_power_of_two(std::min(kMostLanes, threads / pack));
  if (step.reduced.size() != 1 || columns.in != 1 || step.reduced.back().in % pack == 0 || most < 2) return;
  const Index pitch = step.reduced.back().in;
  const bool follows = pitch == columns.size;
  if (!follows && std::abs(pitch) < pack) return;  // packs around a row would reach beyond the first and the last
  Index panel = std::min(kMostJoinedColumns, threads);
  if (!follows || columns.size > panel) {
    const Index lanes = lanes_of_uneven_rows(step, most, in_parts, device);
    panel = (lanes - 1) * pack;
    step.launch.block = static_cast<int>(threads / (lanes * pack) * (lanes * pack));  // slots that begin alike
  }
  step.kernel.tuning.panel_bytes = static_cast<int>(panel * element_bytes(step));
  step.launch.grid[1] = lines_of(step) * panels(step);
}

}  // namespace

void fit_panels(Step& step, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || step.kept.empty()) return;
  Tuning& tuning = step.kernel.tuning;
  const Index size = step.kept.back().size, outer = lines_of(step);
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
    if (is_small_and_wide(step, tuning.panel_bytes, outer * panels(step), device)) narrow_panels(step, device);
  } else {
    const bool fills_block = tuning.panel_bytes == step.launch.block * tuning.vector_bytes;
    if (fills_block && outer * panels(step) >= resident * kPacksOfLane) tuning.panel_bytes *= kPacksOfLane;
    together = std::max<Index>(1, step.launch.block / ceil_power_of_two(packs_of_row(step)));
  }
  step.launch.grid[1] = ceil_divide(outer * panels(step), together);
}

void fit_uneven_rows(Step& step, const DeviceFacts& device) { lay_out_uneven_rows(step, device, false); }

void fit_columns_in_parts(Step& step, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || step.kernel.body != Body::columns) return;
  widen_ragged_panels(step);
  lay_out_uneven_rows(step, device, true);
}

void fit_columns(Step& step, const DeviceFacts& device) {
  fit_panels(step, device);
  fit_block(step, device);
  leave_lanes_alone(step, device);
  if (!loads_across(step)) fit_uneven_rows(step, device);
  note_sharers_of_few_rows(step, device);
}

}  // namespace ndfold
