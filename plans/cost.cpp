#include "plans/cost.h"

#include <ndfold/travelling.h>

#include "plans/build/fit_columns.h"
#include "plans/build/keep_columns.h"
#include "plans/build/lines.h"
#include "plans/build/steps.h"
#include "plans/build/travel.h"
#include "plans/cost_shares.h"
#include "plans/cost_tables.h"

#include <algorithm>
#include <cmath>

namespace ndfold {
namespace {

constexpr double kNanosecondsOfMicrosecond = 1e3;
constexpr double kAllAtOnce = 1e300;  // bytes: copies into shared memory wait for nothing

double element_count(const Step& step) {
  return static_cast<double>(elements(step.kept)) * static_cast<double>(elements(step.reduced));
}

struct Waves {
  double resident;         // blocks of a multiprocessor
  double bytes_in_flight;  // of all blocks together
  double tail;             // share of the time that a last, partial wave leaves in use
  double busy;             // share of the bus that so few multiprocessors can fill
  bool at_once;            // there is but one wave
};

Waves waves_of(const Step& step, const DeviceFacts& device) {
  const auto& grid = step.launch.grid;
  const double blocks = static_cast<double>(grid[0]) * static_cast<double>(grid[1]);
  const double most = static_cast<double>(resident_blocks(step, device));
  const double at_once = most * device.multiprocessors;
  const double waves = blocks / at_once;
  const Tuning& tuning = step.kernel.tuning;
  const bool dense = step.kernel.source != SourceKind::strided;
  const double load = dense ? tuning.vector_bytes : static_cast<double>(size_bytes(step.kernel.input));
  const bool keeps = step.kernel.residency == Residency::shared || step.kernel.residency == Residency::cluster ||
                     step.kernel.residency == Residency::ring ||
                     (step.kernel.residency == Residency::registers && step.kernel.body == Body::columns);
  const double asked =
      keeps ? kAllAtOnce : step.launch.block * load * tuning.unroll + static_cast<double>(step.launch.shared_bytes);
  const double tile = static_cast<double>(tile_bytes(step)) * static_cast<double>(tiles_of_block(step));
  const bool states = step.kernel.source == SourceKind::states;
  const bool folds = !states && (step.kernel.body == Body::rows || step.kernel.body == Body::columns);
  const bool long_lines = maps(step) && step.kernel.body == Body::rows && step.kernel.scope != Scope::lanes &&
                          step.kernel.residency == Residency::registers;
  const double tail = long_lines || keeps_tall_columns(step) ? kTailShareOfLines : kTailShare;
  const double block = std::min(asked, folds ? tile : step.bytes_read / blocks);
  return {.resident = std::min(most, std::ceil(blocks / device.multiprocessors)),
          .bytes_in_flight = std::clamp(std::min(blocks, at_once) * block, 1.0, std::max(1.0, step.bytes_read)),
          .tail = waves <= 1 ? 1 : waves / (waves + tail * (std::ceil(waves) - waves)),
          .busy = std::min(1.0, blocks / (kBusyShare * device.multiprocessors)),
          .at_once = waves <= 1};
}

// Tiles of rows, or of those that are joined.
double lines_of(const Step& step) {
  return static_cast<double>(elements(step.kept)) / (travels_joined(step) ? travelling_columns(step) : 1);
}

// Of rows that are joined: all blocks of a line read the words of all.
double words_microseconds(const Step& step) {
  if (!travels_joined(step)) return 0;
  return static_cast<double>(step.launch.grid[0] * step.launch.grid[0] * step.launch.grid[1]) *
         travelling_columns(step) * kWordBytes / kWordBytesOfMicrosecond;
}

// What a group needs for such lines beside their bytes.
double joined_turns_microseconds(const Step& step) {
  const double turns = std::ceil(lines_of(step) / static_cast<double>(step.launch.grid[1])) - 1;
  const bool half = size_bytes(step.kernel.input) == 2;
  const double busy = on_stairs(kJoinedTurnMicroseconds, step.launch.block) * (half ? kHalfJoinedTurn : 1);
  return (turns + 1) * words_microseconds(step) + turns * (has_no_room_beside(step) ? kJoinedAloneMicroseconds : busy) +
         (turns > 0 ? on_stairs(kRowsInTurnsMicroseconds, step.bytes_read) : 0);
}

double columns_in_grid_microseconds(const Step& step) {
  const Index tiles = elements(step.kept) / step.kept.back().size * panels(step);
  const double uneven = has_uneven_rows(step) ? on_stairs(kUnevenInGridMicroseconds, step.bytes_read) : 0;
  return uneven + (tiles > step.launch.grid[1] ? on_stairs(kColumnsInTurnsMicroseconds, step.bytes_read)
                                               : on_stairs(kColumnsInGridMicroseconds, step.bytes_read));
}

double gpu_barriers(const Step& step, const DeviceFacts& device) {
  const bool cluster = step.kernel.scope == Scope::cluster, grid = step.kernel.scope == Scope::grid;
  const bool columns = maps(step) && step.kernel.body == Body::columns;
  const double in_cluster = !maps(step) ? kReductionInClusterMicroseconds : columns ? kColumnsInClusterMicroseconds : 0;
  const double in_grid = !maps(step)            ? kReductionInGridMicroseconds
                         : travels_joined(step) ? on_stairs(kJoinedInGridMicroseconds, step.bytes_read)
                         : columns              ? columns_in_grid_microseconds(step)
                                                : on_stairs(kRowsInGridMicroseconds, step.bytes_read);
  const bool in_turns =
      step.kernel.residency == Residency::ring && step.kernel.body == Body::rows && step.reduced.size() < 2;
  const double passing = passes_the_rings(step) ? lines_of(step) * (kPassingMicroseconds + words_microseconds(step))
                         : travels_joined(step) ? joined_turns_microseconds(step)
                         : in_turns             ? on_stairs(kRowsInTurnsMicroseconds, step.bytes_read)
                                                : 0;
  return passing + step.launch.grid_barriers * device.grid_barrier_microseconds + (grid ? in_grid : 0) +
         (cluster ? in_cluster + 2 * device.cluster_barrier_microseconds : 0);
}

// A load's time, by how much of what fills the bus is on its way.
double latency_nanoseconds(const Step& step, double in_flight, const DeviceFacts& device) {
  const bool rows = step.kernel.body == Body::rows && !maps(step), columns = step.kernel.body == Body::columns;
  if (!rows && !columns) return kLatencyNanoseconds;
  const double full = device.read_gigabytes_per_second * kLatencyNanoseconds;
  return kIdleLatencyNanoseconds + (kLatencyNanoseconds - kIdleLatencyNanoseconds) * std::min(1.0, in_flight / full);
}

// A merge follows the fold that left its states.
double launch_microseconds(const Step& step, const DeviceFacts& device) {
  if (step.launch.cooperative) return device.cooperative_launch_microseconds;
  const bool merges = step.kernel.source == SourceKind::states;
  return device.launches_overlap && merges ? kMergeMicroseconds : device.launch_microseconds;
}

// Of what caches keep: there parts of a sector meet before they are written, too.
double cache_gain(const Step& step, double bytes, const DeviceFacts& device) {
  const bool in_parts = step.kernel.residency == Residency::ring && step.kernel.body == Body::columns &&
                        has_uneven_rows(step) && !overlaps(step);
  if (in_parts && bytes < static_cast<double>(device.cache_bytes)) return kCacheGainOfParts;
  return bytes < static_cast<double>(device.cache_bytes) * kCacheShare ? kCacheGain : 1;
}

double gpu_microseconds(const Step& step, const DeviceFacts& device) {
  const double cache = static_cast<double>(device.cache_bytes) * kCacheShare;
  const double twice = step.bytes_read * share_again(step);
  const double again = twice / (twice < cache ? kCacheGain : 1);
  const double bytes = step.bytes_read + step.bytes_written + again;
  const bool copies = writes_elements(step);
  const double bus = copies ? device.copy_gigabytes_per_second : device.read_gigabytes_per_second;
  const Waves waves = waves_of(step, device);
  const double runs = run_efficiency(step);
  const double work = sharing_efficiency(step) * share_of_body(step, {waves.resident, waves.at_once});
  const bool waits_for_runs = step.kernel.body == Body::columns && runs < kShortRunsAlone;
  const double share = kKernelShare * runs * (waits_for_runs ? std::max(work, work_beside_short_runs(step)) : work) *
                       waves.tail * waves.busy * cache_gain(step, bytes, device);
  const bool overlap = step.kernel.residency == Residency::ring && overlaps(step);
  const double pace = bus * share;  // of what caches keep more than the bus's
  const double moving =
      bytes / (overlap ? std::min(pace, on_stairs(kOverlapGigabytes, static_cast<double>(step.parts))) : pace);
  const double waiting = (step.bytes_read + again) / waves.bytes_in_flight *
                         latency_nanoseconds(step, waves.bytes_in_flight, device) * wait_for_loads(step);
  return launch_microseconds(step, device) + gpu_barriers(step, device) +
         std::max(moving, waiting) / kNanosecondsOfMicrosecond;
}

// Nanoseconds of one core's lanes for one element.
double lane_nanoseconds(const Step& step, const DeviceFacts& device) {
  const double lanes = device.lanes / kCoreLanes;
  const KernelKey& kernel = step.kernel;
  const bool exponential = kernel.fold == FoldKind::softmax || kernel.fold == FoldKind::logsumexp ||
                           kernel.map == MapKind::exponential || kernel.map == MapKind::softmax ||
                           kernel.map == MapKind::log_softmax;
  const double passes = maps(step) && kernel.residency == Residency::none ? 2 : 1;
  double time = 1 / (kCoreFolds * lanes);
  if (exponential && kernel.source != SourceKind::states) time += passes / (kCoreExponentials * lanes);
  if (kernel.source == SourceKind::strided) time += passes / kCoreStrided;
  if (kernel.source == SourceKind::states) time += 1 / kCoreStates;
  return time + (kernel.body == Body::permute && crosses(step) ? 1 / kCoreStrided : 0);
}

// A core's lanes wait for memory and memory for lanes: the two add up.
double cpu_microseconds(const Step& step, const DeviceFacts& device) {
  const double tasks = static_cast<double>(step.launch.grid[0]) * static_cast<double>(step.launch.grid[1]);
  const double cores = std::max(1.0, std::min<double>(device.multiprocessors, tasks));
  const bool cached = static_cast<double>(tile_bytes(step)) <= static_cast<double>(device.cache_bytes);
  const double again = reads_twice(step) && !cached ? step.bytes_read : 0;
  const double bytes = step.bytes_read + step.bytes_written + again;
  const double bus = writes_elements(step) ? std::min(device.copy_gigabytes_per_second, cores * kCoreCopyGigabytes)
                                           : std::min(device.read_gigabytes_per_second, cores * kCoreReadGigabytes);
  const bool by_rows = step.kernel.body == Body::rows || step.kernel.body == Body::elementwise;
  const double rows = by_rows ? static_cast<double>(elements(step.kept)) * kCoreRowNanoseconds : 0;
  const double work = (element_count(step) * lane_nanoseconds(step, device) + rows) / cores;
  return device.launch_microseconds + (bytes / bus + work) / kNanosecondsOfMicrosecond;
}

}  // namespace

double microseconds(const Step& step, const DeviceFacts& device) {
  return device.kind == DeviceKind::cpu ? cpu_microseconds(step, device) : gpu_microseconds(step, device);
}

namespace {

double between_launches_microseconds(const Step& before, const Step& step, const DeviceFacts& device) {
  const bool columns = step.kernel.body == Body::elementwise && before.kernel.body == Body::columns;
  if (!columns || !device.launches_overlap || before.kept.empty())
    return on_stairs(kBetweenLaunchesMicroseconds, before.bytes_read);
  const Index element = static_cast<Index>(size_bytes(before.kernel.input)), row = before.kept.back().size * element;
  const double begins = row > kFewUnevenBytes || !has_uneven_rows(before) ? 0
                        : element == 2                                    ? kHalfMapOfFewUnevenMicroseconds
                                                                          : kMapOfFewUnevenMicroseconds;
  return on_stairs(kBeforeMapOfColumnsMicroseconds, before.bytes_read) + begins;
}

}  // namespace

double microseconds(const Schedule& schedule, const DeviceFacts& device) {
  double total = 0;
  for (const Step& step : schedule.steps) total += microseconds(step, device);
  if (device.kind != DeviceKind::cuda) return total;
  for (std::size_t i = 1; i < schedule.steps.size(); ++i)  // states are few, and still in the cache
    if (schedule.steps[i].kernel.source != SourceKind::states)
      total += between_launches_microseconds(schedule.steps.front(), schedule.steps[i], device);
  return total;
}

const DeviceFacts& ranking_facts(const DeviceFacts& device) {
  static const DeviceFacts kUsualHost = {.name = "usual host",
                                         .kind = DeviceKind::cpu,
                                         .multiprocessors = 8,
                                         .lanes = 16,
                                         .cache_bytes = Index{1} << 20,
                                         .read_gigabytes_per_second = 136,
                                         .copy_gigabytes_per_second = 200,
                                         .launch_microseconds = 1};
  return device.kind == DeviceKind::cpu ? kUsualHost : device;
}

}  // namespace ndfold
