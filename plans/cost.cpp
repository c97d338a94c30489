#include "plans/cost.h"

#include <ndfold/kept_columns.h>

#include "plans/build/keep_columns.h"
#include "plans/build/lines.h"
#include "plans/build/steps.h"
#include "plans/build/travel.h"
#include "plans/cost_tables.h"

#include <algorithm>
#include <cmath>

namespace ndfold {
namespace {

constexpr double kNanosecondsOfMicrosecond = 1e3;
constexpr double kAllAtOnce = 1e300;  // bytes: copies into shared memory wait for nothing

bool maps(const Step& step) {
  return step.kernel.sink == SinkKind::softmax || step.kernel.sink == SinkKind::log_softmax;
}

bool reads_twice(const Step& step) { return maps(step) && step.kernel.residency == Residency::none; }

double element_count(const Step& step) {
  return static_cast<double>(elements(step.kept)) * static_cast<double>(elements(step.reduced));
}

// What lies side by side where lanes walk, through as many axes as continue one another; `used`: the share of its bytes
// that are wanted where neighbours lie a few elements apart, in either direction.
struct Run {
  double bytes, used;
};

// `stride` picks in or out.
Run run_of(const Step& step, Index Axis::*stride, DType type) {
  const auto pitch = [&](const Axis& axis) { return axis.*stride < 0 ? -(axis.*stride) : axis.*stride; };
  const Index size = static_cast<Index>(size_bytes(type));
  Index nearest = kSectorBytes / size;
  for (const auto* group : {&step.reduced, &step.kept})
    for (const Axis& axis : *group)
      if (axis.size > 1 && pitch(axis) > 0) nearest = std::min(nearest, pitch(axis));
  Index run = nearest;
  const bool line =  // which a block takes alone
      step.kernel.body == Body::columns && step.kernel.scope != Scope::lanes && !step.kept.empty();
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto* group : {&step.reduced, &step.kept})
      for (const Axis& axis : *group)
        if (pitch(axis) == run && axis.size > 1 && !(line && group == &step.kept && &axis != &step.kept.back()))
          run *= axis.size, grew = true;
  }
  if (run == nearest) return {static_cast<double>(size), 1};  // nothing lies as near as that
  const Index panel = panel_elements(step) * nearest;
  if (line && step.kept.back().size * nearest > panel) run = std::min(run, panel);
  return {static_cast<double>(run * size), 1.0 / static_cast<double>(nearest)};
}

bool writes_elements(const Step& step) {
  return maps(step) || step.kernel.body == Body::permute || step.kernel.body == Body::elementwise;
}

// Whether a permute's tiles turn: neighbours in the input are none in the output.
bool crosses(const Step& step) { return !step.kept.empty() && step.kept.back().out != 1; }

// Whether a permute moves runs, which are neighbours on both sides.
bool moves_runs(const Step& step) {
  return step.kernel.body == Body::permute && step.kept.size() > 1 && step.kept.back().in == 1 && !crosses(step);
}

// Reads and writes share the bus; the shorter of the two runs sets its pace.
double run_efficiency(const Step& step) {
  if (step.kernel.source == SourceKind::states) return 1;
  if (moves_runs(step))
    return on_stairs(kCopyByRun,
                     static_cast<double>(step.kept.back().size * static_cast<Index>(size_bytes(step.kernel.input))));
  const Run in = run_of(step, &Axis::in, step.kernel.input);
  if (!writes_elements(step)) return on_stairs(kReadByRun, in.bytes) * in.used;
  const Run out = run_of(step, &Axis::out, step.kernel.output);
  return on_stairs(kCopyByRun, std::min(in.bytes, out.bytes)) * std::min(in.used, out.used);
}

double one_by_one(const Step& step) {
  if (travels_in_packs(step)) return 1;
  if (step.kernel.body == Body::columns) return has_uneven_rows(step) ? kElementsOfUnevenColumns : kElementsOfColumns;
  if (step.reduced.size() < 2) return kElementsOfRows;
  return kElementsOfRuns * (size_bytes(step.kernel.input) == 2 ? kHalfElementsOfRuns : 1);
}

bool passes_the_rings(const Step& step) { return step.kernel.residency == Residency::ring && share_again(step) > 0; }

double travelling_efficiency(const Step& step, double blocks) {
  if (passes_the_rings(step)) return one_by_one(step) * kPassingRows;
  const bool half = size_bytes(step.kernel.input) == 2;
  if (step.kernel.body == Body::columns)
    return (overlaps(step) ? 1 : one_by_one(step)) * on_stairs(kTravellingPanels, blocks) *
           (half ? on_stairs(kHalfTravellingPanels, blocks) : 1);
  const bool alone = 2 * tile_bytes(step) > step.launch.shared_bytes;
  return one_by_one(step) * on_stairs(kTravellingRows, blocks) * (half ? kHalfTravellingRows : 1) *
         (alone ? kTravellingAlone : 1);
}

double sharing_efficiency(const Step& step) {
  if (!maps(step) || step.parts < 2 || reads_twice(step)) return 1;
  const double blocks = static_cast<double>(step.parts);
  const bool rows = step.kernel.body == Body::rows;
  if (step.kernel.residency == Residency::ring) return travelling_efficiency(step, blocks);
  if (rows && step.kernel.scope == Scope::grid && step.launch.grid[1] == 1 && elements(step.kept) > 1)
    return std::min(kWholeGridInTurns, on_stairs(kRowShareByGroup, blocks));
  if (step.kernel.scope != Scope::cluster)
    return rows ? on_stairs(kRowShareByGroup, blocks) : on_stairs(kColumnShareByGroup, blocks);
  if (!rows) return on_stairs(kColumnShareByCluster, blocks);
  if (step.kernel.residency == Residency::registers)
    return on_stairs(kLinesByCluster, blocks) * on_stairs(kLinesByClusterPart, static_cast<double>(tile_bytes(step)));
  const bool slow = blocks > 2 && size_bytes(step.kernel.input) == 2;
  return on_stairs(kRowShareByCluster, blocks) * (slow ? kHalfRowsInLargeClusters : 1) *
         on_stairs(kRowShareByClusterPart, static_cast<double>(tile_bytes(step)));
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
  const double asked = keeps ? kAllAtOnce : step.launch.block * load * tuning.unroll;
  const double tile = static_cast<double>(tile_bytes(step)) * static_cast<double>(tiles_of_block(step));
  const bool states = step.kernel.source == SourceKind::states;
  const bool folds = !states && (step.kernel.body == Body::rows || step.kernel.body == Body::columns);
  const double block = std::min(asked, folds ? tile : step.bytes_read / blocks);
  return {.resident = std::min(most, std::ceil(blocks / device.multiprocessors)),
          .bytes_in_flight = std::clamp(std::min(blocks, at_once) * block, 1.0, std::max(1.0, step.bytes_read)),
          .tail = waves <= 1 ? 1 : waves / (waves + kTailShare * (std::ceil(waves) - waves)),
          .busy = std::min(1.0, blocks / (kBusyShare * device.multiprocessors)),
          .at_once = waves <= 1};
}

// Of a permute whose runs are no whole packs, or begin anywhere in one.
double share_of_moved_runs(const Step& step) {
  const Index pack = pack_of(step.kernel.input);
  const auto is_cut = [&](const Axis& axis) { return axis.in % pack != 0 || axis.out % pack != 0; };
  const bool cut = step.kept.back().size % pack != 0 || std::any_of(step.kept.begin(), step.kept.end() - 1, is_cut);
  return !cut ? 1 : size_bytes(step.kernel.input) == 2 ? kHalfMovesOfCutRuns : kMovesOfCutRuns;
}

// Whether a reduction's rows are runs that begin and end anywhere in a pack.
bool has_cut_runs(const Step& step) {
  const Index pack = pack_of(step.kernel.input);
  const bool rows = !maps(step) && step.kernel.body == Body::rows && step.kernel.source == SourceKind::dense;
  if (!rows || step.reduced.size() < 2) return false;
  const auto is_cut = [&](const Axis& axis) { return axis.in % pack != 0; };
  return step.reduced.back().size % pack != 0 || std::any_of(step.reduced.begin(), step.reduced.end() - 1, is_cut) ||
         std::any_of(step.kept.begin(), step.kept.end(), is_cut);
}

double share_of_cut_runs(const Step& step) {
  if (!has_cut_runs(step)) return 1;
  const double run = static_cast<double>(step.reduced.back().size);
  return (looks_twice(step.kernel.fold) ? on_stairs(kCutRunsTwice, run) : on_stairs(kCutRuns, run)) *
         (size_bytes(step.kernel.input) == 2 ? kHalfCutRuns : 1);
}

double wait_for_cut_runs(const Step& step) {
  return !has_cut_runs(step) ? 1 : looks_twice(step.kernel.fold) ? kWaitForCutRunsTwice : kWaitForCutRuns;
}

// Of rows of several panels that are whole packs, but no whole sectors.
double share_of_sectors(const Step& step) {
  const bool cuts = !overlaps(step) && panels(step) > 1 && !has_uneven_rows(step) && !are_whole_sectors(step);
  return cuts ? on_stairs(kCutSectors, step.kernel.tuning.panel_bytes) : 1;
}

double run_bytes(const Step& step) {
  return static_cast<double>(step.reduced.back().size) * static_cast<double>(size_bytes(step.kernel.input));
}

double share_of_short_runs(const Step& step) {
  const bool half = size_bytes(step.kernel.input) == 2;
  const Index pack = pack_of(step.kernel.input);
  const bool block = step.kernel.scope == Scope::block || step.kernel.scope == Scope::lanes;
  if (step.reduced.back().size % pack == 0)
    return block ? on_stairs(kWholeRunsOfBlock, run_bytes(step)) : on_stairs(kWholeRuns, run_bytes(step));
  const double again = !reads_twice(step) ? 1 : half ? kHalfCutRunsAgain : kCutRunsAgain;
  if (block)
    return again *
           (half ? on_stairs(kHalfShortRunsOfBlock, run_bytes(step)) : on_stairs(kShortRunsOfBlock, run_bytes(step)));
  return half ? on_stairs(kHalfShortRuns, run_bytes(step)) : on_stairs(kShortRuns, run_bytes(step));
}

// Whether what lies side by side is a run of each of many rows.
bool maps_runs(const Step& step) {
  return step.kernel.body == Body::elementwise && step.reduced.size() > 1 && step.reduced.back().in == 1;
}

// Whether rows of neighbouring columns lie along several axes, and begin elsewhere in a pack from one to the next. Not
// where so many follow one another that loads of f32 do as well as along one axis.
bool has_uneven_rows_of_runs(const Step& step) {
  if (step.reduced.size() < 2 || !has_uneven_rows(step)) return false;
  const Index columns = step.kept.back().size,
              follows = step.reduced.back().in == columns ? step.reduced.back().size : 1;
  return size_bytes(step.kernel.input) == 2 || follows * columns < kLongStretch;
}

bool maps_uneven_rows(const Step& step) {
  return step.kernel.body == Body::elementwise && !step.kept.empty() && step.kept.back().in == 1 &&
         has_uneven_rows_of_runs(step);
}

// Columns of a reduction.
double share_of_folded_columns(const Step& step, bool half) {
  const bool uneven = has_uneven_rows(step);
  if (has_uneven_rows_of_runs(step))
    return on_stairs(kUnevenRowsOfRuns, static_cast<double>(step.kept.back().size)) *
           (half ? kHalfUnevenRowsOfRuns : 1);
  if (!looks_twice(step.kernel.fold)) return 1;
  return (half ? kHalfLooksAtColumns : 1) * (uneven ? kLooksAtUnevenColumns : 1);
}

// Columns of a softmax that blocks do not keep in registers, by how their rows lie.
double share_of_columns(const Step& step, bool half) {
  const bool in_runs = half && step.reduced.size() > 1;
  if (half && step.kernel.source == SourceKind::strided) return kHalfStridedColumns;
  if (!has_uneven_rows(step)) return share_of_sectors(step);
  if (step.kernel.scope == Scope::grid) return kUnevenInGrid;
  if (step.kernel.scope == Scope::cluster) return in_runs ? kHalfUnevenRunsInCluster : kUnevenInCluster;
  return kUnevenColumns * (in_runs ? kHalfUnevenRunsInBlock : 1);
}

double share_of_bundles(const Step& step, bool half) {
  const bool twice = looks_twice(step.kernel.fold) || maps(step), table = step.reduced.size() > 1;
  return on_stairs(kLinesInBundles, static_cast<double>(elements(step.reduced))) * (half ? kHalfLinesInBundles : 1) *
         (twice ? kLooksInBundles : 1) * (table && maps(step) ? kLookedUp : 1);
}

// What a kernel reaches of what its runs and its blocks allow.
double share_of_body(const Step& step, const Waves& waves) {
  if (maps_runs(step)) return on_stairs(kMapOfRuns, run_bytes(step));
  if (maps_uneven_rows(step))
    return on_stairs(kMapOfUnevenRows, static_cast<double>(step.kept.back().size)) *
           (size_bytes(step.kernel.input) == 2 ? kHalfMapOfUnevenRows : 1);
  if (step.kernel.body == Body::permute && crosses(step)) return kPermuteShare;
  if (moves_runs(step)) return share_of_moved_runs(step);
  const bool half = size_bytes(step.kernel.input) == 2;
  if (step.kernel.fold == FoldKind::softmax && step.kernel.sink == SinkKind::store_state) {
    const bool in_runs = step.reduced.size() > 1;
    const double uneven = step.kernel.body != Body::columns || !has_uneven_rows(step) ? 1
                          : has_uneven_rows_of_runs(step) ? share_of_folded_columns(step, half)
                                                          : kUnevenInTwo;
    const double few =
        step.kernel.body == Body::columns ? on_stairs(kStatesOfFewRows, static_cast<double>(step.part)) : 1;
    return few * uneven * (!in_runs ? kFoldOfPowers : half ? kHalfFoldInRuns : kFoldInRuns);
  }
  if (are_columns_in_bundles(step)) return share_of_bundles(step, half);
  if (are_columns_in_lanes(step)) return half ? kHalfColumnsInLanes : kColumnsInLanes;
  if (!maps(step) && step.kernel.body == Body::columns) return share_of_folded_columns(step, half);
  if (!maps(step)) return share_of_cut_runs(step);
  if (step.kernel.residency == Residency::ring) return step.kernel.body == Body::columns ? share_of_sectors(step) : 1;
  if (step.kernel.body != Body::columns) {
    const double runs =
        step.reduced.size() < 2 ? 1 : share_of_short_runs(step) * (half ? kHalfRowsInRuns : kRowsInRuns);
    return runs * (reads_twice(step) ? kRowsAgain : on_stairs(kRowOverlap, waves.resident));
  }
  if (overlaps(step)) return on_stairs(kOverlappingPanels, step.kernel.tuning.panel_bytes);
  if (step.kernel.residency == Residency::registers)
    return has_uneven_rows(step) ? on_stairs(kUnevenInRegisters, step.kernel.tuning.panel_bytes)
                                 : share_of_sectors(step);
  const double uneven = share_of_columns(step, half);
  if (reads_twice(step))
    return uneven * on_stairs(kColumnsAgain, waves.resident) * (half ? kHalfColumnsAgain : 1) *
           (step.kernel.scope == Scope::grid ? kColumnsAgainInGrid : 1);
  const double together = step.kernel.scope == Scope::cluster && waves.at_once ? kClustersAtOnce : 1;
  return uneven * together * on_stairs(kColumnOverlap, waves.resident) * (half ? kHalfColumns : 1);
}

double gpu_barriers(const Step& step, const DeviceFacts& device) {
  const bool cluster = step.kernel.scope == Scope::cluster, grid = step.kernel.scope == Scope::grid;
  const bool columns = maps(step) && step.kernel.body == Body::columns;
  const double in_cluster = !maps(step) ? kReductionInClusterMicroseconds : columns ? kColumnsInClusterMicroseconds : 0;
  const double in_grid = !maps(step) ? kReductionInGridMicroseconds
                         : columns   ? on_stairs(kColumnsInGridMicroseconds, step.bytes_read)
                                     : on_stairs(kRowsInGridMicroseconds, step.bytes_read);
  const double passing = passes_the_rings(step) ? static_cast<double>(elements(step.kept)) * kPassingMicroseconds : 0;
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

double gpu_microseconds(const Step& step, const DeviceFacts& device) {
  const double cache = static_cast<double>(device.cache_bytes) * kCacheShare;
  const double twice = step.bytes_read * share_again(step);
  const double again = twice / (twice < cache ? kCacheGain : 1);
  const double bytes = step.bytes_read + step.bytes_written + again;
  const bool copies = writes_elements(step);
  const double bus = copies ? device.copy_gigabytes_per_second : device.read_gigabytes_per_second;
  const Waves waves = waves_of(step, device);
  const double share = kKernelShare * run_efficiency(step) * sharing_efficiency(step) * share_of_body(step, waves) *
                       waves.tail * waves.busy * (bytes < cache ? kCacheGain : 1);
  const bool overlap = step.kernel.residency == Residency::ring && overlaps(step);
  const double pace = bus * share;  // of what caches keep more than the bus's
  const double moving =
      bytes / (overlap ? std::min(pace, on_stairs(kOverlapGigabytes, static_cast<double>(step.parts))) : pace);
  const double waiting = (step.bytes_read + again) / waves.bytes_in_flight *
                         latency_nanoseconds(step, waves.bytes_in_flight, device) * wait_for_cut_runs(step);
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

double microseconds(const Schedule& schedule, const DeviceFacts& device) {
  double total = 0;
  for (const Step& step : schedule.steps) total += microseconds(step, device);
  if (device.kind != DeviceKind::cuda) return total;
  for (std::size_t i = 1; i < schedule.steps.size(); ++i)  // states are few, and still in the cache
    if (schedule.steps[i].kernel.source != SourceKind::states)
      total += on_stairs(kBetweenLaunchesMicroseconds, schedule.steps.front().bytes_read);
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
