// split: fold parts, exchange states, fold the states. Few outputs, much to fold; and a softmax of what the chip cannot
// keep, which is read once for the states and once more for the results.
// On a CPU that is one step after another; on a GPU whose blocks are all resident they leave states, meet, and fold
// them: one launch (docs/adr/0012-blocks-meet-at-the-grids-barrier.md). Where launches overlap and
// much is read, a second one folds states of rows sooner (docs/adr/0027-launches-overlap.md).
#include "plans/build/split.h"

#include "plans/build/builders.h"
#include "plans/build/fit_columns.h"
#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/long_lines.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"
#include "plans/typing.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kEnoughBlocks = 32;                   // above it, whole outputs keep the cores of any CPU we know busy
constexpr Index kWorthSharing = Index{1} << 18;       // elements
constexpr Index kWorthSharingAgain = Index{1} << 16;  // of a softmax that is read twice anyway
constexpr Index kEnoughThatWait = 8;  // blocks of a softmax read once: a split reads twice, two exponentials an element
constexpr Index kSmallestPart = Index{1} << 15;   // elements, for a core
constexpr Index kSmallestPartBytes = 512 * 1024;  // of elements that are only read: waking a thread takes as long
// Elements of a CPU's row, whose parts begin where lines of memory do: sums of 7.7 M i32 736 to 537 us.
constexpr Index kWholeLines = 64;
constexpr Index kReadOnceColumns = 256;             // rows of a softmax: fewer are no work for the blocks of a fold
constexpr Index kReadForState = 256;                // bytes of elements for each of a state: it is written and read
constexpr Index kSmallestGpuPartBytes = 16 * 1024;  // for a block
constexpr Index kBlocksOfMultiprocessor = 2;        // fences of many more blocks slow the memory down
constexpr Index kLittle = 10 * 1024;                // elements of a multiprocessor: one block, for fewer meet sooner
constexpr Index kStatesAtOnce = 128;                // of a column, that a warp merges (kernels/cuda/scopes.h)
constexpr Index kManyOutputs = 1024;                // whose states are too few for a block each
constexpr Index kStatesOfWarp = 1024;               // more of one output are a block's
constexpr int kThreadsOfLanes = 256;
// Outputs of a multiprocessor from which lanes have several states each: a warp that meets over 30 of [8194,6] columns
// takes 540 instructions (counted).
constexpr Index kOutputsOfLanes = 64, kStatesOfLane = 4;

bool is_cpu(const DeviceFacts& device) { return device.kind == DeviceKind::cpu; }

// States of columns lie side by side on a CPU: one run of memory from a block, and lanes merge them.
Step whole_step(const Problem& problem, const DeviceFacts& device) {
  Step step = fold_step(problem, preferred_body(problem, device), tuning_for(device, question_of("split", problem)));
  fit_columns_in_parts(step, device);
  step.outputs_side_by_side = is_cpu(device) && step.kernel.body == Body::columns;
  return step;
}

double reading_microseconds(const Step& fold, const DeviceFacts& device) {
  constexpr double kGigabyteMicrosecond = 1e3;  // bytes
  return fold.bytes_read / (device.read_gigabytes_per_second * kGigabyteMicrosecond);
}

// How long so many blocks take, of one that folds a whole tile: two blocks of a multiprocessor are as fast as one, more
// take turns, and all wait for the last.
double time_of_parts(Index tiles, Index parts, Index resident, const DeviceFacts& device) {
  const Index wave = resident * device.multiprocessors, rest = tiles * parts % wave;
  const auto taken = [](Index blocks) { return std::max(1.0, static_cast<double>(blocks) / kBlocksOfMultiprocessor); };
  const double waves = static_cast<double>(tiles * parts / wave) * taken(resident);
  return (waves + (rest > 0 ? taken(ceil_divide(rest, device.multiprocessors)) : 0)) / static_cast<double>(parts);
}

// How much longer lanes take for their rows of a part, because states of columns meet after them.
double time_with_meeting(const Step& whole, Index parts) {
  constexpr double kMeeting = 8, kMeetingOfTwoLooks = 24;  // rows of a lane
  const Index across = whole.kernel.tuning.panel_bytes / whole.kernel.tuning.vector_bytes;
  if (whole.kernel.body != Body::columns || across == 0) return 1;
  const double rows = static_cast<double>(ceil_divide(elements(whole.reduced), parts) * across) / whole.launch.block;
  return 1 + (looks_twice(whole.kernel.fold) ? kMeetingOfTwoLooks : kMeeting) / std::max(1.0, rows);
}

// A second launch takes 0.4 to 3 us less than blocks that wait for each other: sums of 2^18 to 2^24 elements 3.1 to 25
// us for 3.5 to 28 (graph nodes, an H100), of columns and of an argmax as much longer, and the host always twice as
// long: so only where reading takes longer than two launches. Rows of runs have kernels for blocks that do not wait
// alone.
bool merges_sooner(const Problem& problem, const Step& fold, const DeviceFacts& device) {
  return device.launches_overlap && problem.kind == RequestKind::reduce && fold.kernel.body == Body::rows &&
         (!folds_an_index(problem.fold) || problem.axes.reduced.size() > 1) &&
         reading_microseconds(fold, device) > 2 * device.launch_microseconds;
}

// Whether so little is read that blocks wait longer for each other than for memory. Sums f32 of 4 MiB by one block of a
// multiprocessor instead of two: [8192,128] axis 0 5.8 to 4.8 us, [2048,511] 7.4 to 6.1, everything 4.6 to 4.3; of 16
// MiB 7.6 to 8.7.
bool is_little(const Step& whole, const DeviceFacts& device) {
  return elements(whole.kept) * elements(whole.reduced) < kLittle * device.multiprocessors;
}

// Blocks of a multiprocessor that do not wait for each other may be as many as registers have room for.
Index blocks_of_multiprocessor(const Problem& problem, const Step& whole, const DeviceFacts& device) {
  if (!merges_sooner(problem, whole, device) || whole.reduced.size() > 1) return kBlocksOfMultiprocessor;
  return std::max<Index>(kBlocksOfMultiprocessor, loads_of_long_lines(problem, device).threads / whole.launch.block);
}

Step with_loads_of_lines(Step step, const Problem& problem, const DeviceFacts& device) {
  if (problem.kind == RequestKind::reduce && device.kind == DeviceKind::cuda && step.kernel.body == Body::rows)
    step.kernel.tuning.unroll = std::min(step.kernel.tuning.unroll, loads_of_long_lines(problem, device).loads);
  return step;
}

// As many as keep all multiprocessors busy; where much is read, as few more as leave none of them waiting for long.
// Softmaxes of [16384,16383] and [4096,50257] axis 0 have 133 and 406 tiles, whose folds by a block each took 490 and
// 365 us; 256 tiles of as many bytes as the former take 260.
Index parts_of_tile(const Step& whole, Index tiles, Index blocks, const DeviceFacts& device) {
  constexpr Index kMore = 16, kMany = 64;
  constexpr double kWorthMore = 1.15, kNearTheBest = 1.05, kLaunches = 4;
  if (is_little(whole, device)) {
    const Index one_each = std::max<Index>(1, device.multiprocessors / tiles);
    return whole.kernel.body == Body::columns ? std::min(one_each, kStatesAtOnce) : one_each;
  }
  const Index fewest = std::max<Index>(1, device.multiprocessors * blocks / tiles);
  const bool many = tiles / device.multiprocessors >= kMany;  // the last of so many waves is no matter
  const Index resident = resident_blocks(whole, device);
  // The last of rows that take turns have the bus for themselves: 535 of 50 257 f32 take 29 (sum) to 36 us (argmax), in
  // parts 31 to 50.
  const bool turns = whole.kernel.body == Body::rows && tiles > resident * device.multiprocessors;
  if (many || turns || reading_microseconds(whole, device) < kLaunches * device.launch_microseconds) return fewest;
  const auto time = [&](Index parts) {
    return time_of_parts(tiles, parts, resident, device) * time_with_meeting(whole, parts);
  };
  double least = time(fewest);
  for (Index parts = fewest + 1; parts <= fewest + kMore; ++parts) least = std::min(least, time(parts));
  if (time(fewest) <= kWorthMore * least) return fewest;
  Index parts = fewest + 1;
  while (time(parts) > kNearTheBest * least) ++parts;
  return parts;
}

// Elements of a part, so that a CPU's parts do not depend on how many cores it has.
Index wanted_part(const Problem& problem, const DeviceFacts& device, const Step& whole) {
  const Index reduced = problem.axes.reduced_elements();
  const Index tiles = std::max<Index>(1, whole.launch.grid[1]);
  const Index columns = columns_of(whole), element = static_cast<Index>(size_bytes(problem.input));
  if (is_cpu(device)) {
    const Index shared_out = tiles >= kEnoughBlocks ? reduced : ceil_divide(reduced, kEnoughBlocks) * tiles;
    const Index states = state_bytes(whole.kernel.fold, whole.kernel.accumulate) * kReadForState;
    const Index smallest =
        raises_powers(problem) ? kSmallestPart : std::max(kSmallestPart, kSmallestPartBytes / element);
    const Index part = std::max({shared_out, ceil_divide(smallest, columns), states / element});
    return columns == 1 ? ceil_divide(part, kWholeLines) * kWholeLines : part;
  }
  const Index blocks = parts_of_tile(whole, tiles, blocks_of_multiprocessor(problem, whole, device), device);
  const Index line = columns == 1 ? kMemoryLineBytes / element : 1;  // where parts of a row end
  const Index smallest = kSmallestGpuPartBytes / (columns * element);
  return ceil_divide(std::max({ceil_divide(reduced, blocks), smallest, Index{1}}), line) * line;
}

// Parts end where an inner run ends: kernels for whole runs take no other.
Index to_end_of_run(const Problem& problem, Index part) {
  const Index run = problem.axes.reduced.empty() ? 1 : problem.axes.reduced.back().size;
  return run <= part ? ceil_divide(part, run) * run : part;
}

void add_two_launches(Schedule& schedule, WorkspaceLayout& workspace, const Step& whole, Index part, Buffer merged,
                      const DeviceFacts& device) {
  const Buffer states = workspace.place(states_bytes(whole, ceil_divide(elements(whole.reduced), part)));
  Step fold = whole;
  divide_into_parts(fold, part, states);
  Step merge = merge_step(whole, states, fold.parts);
  if (elements(merge.kept) >= kManyOutputs) merge_by_lanes(merge, device);
  schedule.steps.push_back(std::move(fold));
  if (merged.place == Buffer::Place::workspace) leave_states(merge, merged);
  schedule.steps.push_back(std::move(merge));
}

void add_whole(Schedule& schedule, Step fold, Buffer merged) {
  leave_states(fold, merged);
  schedule.steps.push_back(std::move(fold));
}

Step one_launch(const Step& whole, Index part) {
  Step fold = whole;
  in_parts(fold, part);
  fold.kernel.scope = Scope::grid;
  fold.launch.cooperative = true;
  fold.launch.grid_barriers = 1;
  return fold;
}

bool can_meet(const Step& fold, const DeviceFacts& device) {
  const Index resident = resident_blocks(fold, device) * device.multiprocessors;
  return device.cooperative && fold.parts <= resident && fold.launch.grid[1] <= resident / fold.parts;
}

void add_one_launch(Schedule& schedule, WorkspaceLayout& workspace, Step fold, Buffer merged) {
  fold.exchange = workspace.place(exchange_bytes(fold, fold.launch.grid[1]));
  if (merged.place == Buffer::Place::workspace) leave_states(fold, merged);
  schedule.steps.push_back(std::move(fold));
}

// Whether rows are folded while results of the row before are made (kernels/cpu/long_softmax.h): as good as read once.
bool are_folded_beside_results(const Problem& problem, Body body) {
  constexpr Index kMostBytes = Index{8} << 20;
  return problem.kind == RequestKind::softmax && body == Body::rows && problem.axes.reduced.size() == 1 &&
         problem.axes.reduced_elements() * static_cast<Index>(size_bytes(problem.input)) <= kMostBytes;
}

}  // namespace

Step fold_to_share(std::string_view strategy, const Problem& problem, Body body, const DeviceFacts& device) {
  Step step = fold_step(problem, body, tuning_for(device, question_of(strategy, problem)));
  fit_uneven_rows(step, device);
  return step;
}

Index part_to_share(const Problem& problem, const DeviceFacts& device, const Step& whole) {
  return std::min(problem.axes.reduced_elements(), to_end_of_run(problem, wanted_part(problem, device, whole)));
}

bool wants_split(const Problem& problem, const DeviceFacts& device) {
  if (!is_cpu(device) || problem.folds_nothing()) return false;
  const Body body = preferred_body(problem, device);
  const std::string_view alone =
      body == Body::rows ? "rows_in_block" : "columns_in_block";  // whose panels may be narrow
  const TuningRow& tuned = tuning_for(device, question_of(alone, problem));
  const bool waits = tuned.residency != Residency::none || are_folded_beside_results(problem, body);
  const bool again = problem.kind == RequestKind::softmax && !waits;
  if (problem.inputs < (again ? kWorthSharingAgain : kWorthSharing)) return false;
  if (fold_step(problem, body, tuned).launch.grid[1] >= (waits ? kEnoughThatWait : kEnoughBlocks)) return false;
  return part_to_share(problem, device, whole_step(problem, device)) < problem.axes.reduced_elements();
}

void merge_by_lanes(Step& merge, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || merge.part > kStatesOfWarp) return;
  const bool many = elements(merge.kept) >= kOutputsOfLanes * Index{device.multiprocessors};
  const Index lanes = ceil_power_of_two(many ? ceil_divide(merge.part, kStatesOfLane) : merge.part);
  merge.kernel.scope = Scope::lanes;
  merge.kernel.tuning.lanes_per_row = static_cast<int>(std::min<Index>(device.lanes, lanes));
  merge.launch.block = kThreadsOfLanes;
  const Index rows_of_block = kThreadsOfLanes / merge.kernel.tuning.lanes_per_row;
  merge.launch.grid = {1, ceil_divide(elements(merge.kept), rows_of_block), 1};
}

Verdict can_split(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (problem.axes.reduced_elements() < 2) return no("nothing is folded");
  if (is_cpu(device))
    return wants_split(problem, device) ? or_better_on_cpu("split", problem, device)
                                        : unwise("whole outputs keep every core busy");
  if (problem.kind == RequestKind::softmax) {
    const bool columns = preferred_body(problem, device) == Body::columns;
    return columns && problem.axes.reduced_elements() < kReadOnceColumns ? unwise("a block keeps so few rows") : yes();
  }
  const bool shares = part_to_share(problem, device, whole_step(problem, device)) < problem.axes.reduced_elements();
  return shares ? yes() : unwise("whole outputs keep every multiprocessor busy");
}

Schedule build_split(const Problem& problem, const DeviceFacts& device) {
  WorkspaceLayout workspace;
  Schedule schedule;
  const Step whole = whole_step(problem, device);
  const bool softmax = problem.kind == RequestKind::softmax;
  // Forced onto something small, it still splits in two; a softmax on a GPU may leave whole states at once.
  const Index reduced = problem.axes.reduced_elements(), wanted = part_to_share(problem, device, whole);
  const bool is_whole = softmax && !is_cpu(device) && wanted >= reduced;
  const Index part = is_whole ? reduced : std::min(wanted, to_end_of_run(problem, ceil_divide(reduced, 2)));
  const Buffer merged = softmax ? workspace.place(states_bytes(whole, 1)) : kOutput;
  Step shared = one_launch(whole, part);
  if (is_whole)
    add_whole(schedule, whole, merged);
  else if (!is_cpu(device) && can_meet(shared, device) && !merges_sooner(problem, shared, device))
    add_one_launch(schedule, workspace, std::move(shared), merged);
  else
    add_two_launches(schedule, workspace, with_loads_of_lines(whole, problem, device), part, merged, device);
  if (softmax) {
    const MapKind map = problem.sink == SinkKind::softmax ? MapKind::softmax : MapKind::log_softmax;
    Step normalize = elementwise_step(map, whole, kInput, problem.input, kOutput, problem.output, merged);
    if (is_cpu(device)) in_parts(normalize, part);
    schedule.steps.push_back(std::move(normalize));
  }
  workspace.finish(schedule);
  return schedule;
}

}  // namespace ndfold
