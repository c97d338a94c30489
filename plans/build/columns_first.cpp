// columns_first: of runs that are no whole vectors, fold what lies between runs first, as columns as wide as all that
// follow one another; then the states along each run. Vectors take 7 × 7 images of 512 channels as 25 088 columns. A
// softmax of short runs is read once more, as columns.
#include <ndfold/kept_columns.h>

#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/orientation.h"
#include "plans/build/split.h"
#include "plans/build/steps.h"

#include <algorithm>
#include <limits>

namespace ndfold {
namespace {

constexpr Index kFewestColumns = 128;  // of 32 lanes with a vector each
// Of runs that two lines of memory hold, for whoever folds those reads much that is others': sums of [A,K,r] over axes
// 0 and 2 reach 0.83 to 0.87 of a stream so, and by blocks 0.53 where runs have 16 bytes, 0.81 of 64, 0.84 of 256.
constexpr Index kShortRunBytes = 256, kFewestOfShort = 16;
constexpr Index kLongestRunBytes = 2048;  // of a softmax's that are no whole vectors
constexpr Index kFewestOfSoftmax = 4;     // which any other way reads in parts of sectors
// Of one state: merging them costs more than an element does. Of 1024 and 4096 rows sums reach 0.89 and 0.93 of a
// stream for 0.35 and 0.89 by rows_in_block, of 31 and 64 rows 0.21 and 0.37.
constexpr Index kFewestRows = 128, kFewestOfSoftmaxRows = 32;
// A CPU's: rows of a column that pay for its states, and of many columns; elements that pay for launches.
constexpr Index kFewestOfCpuRows = 32, kFewestOfPowers = 64, kRunsOfRows = 4;
constexpr Index kFewestOfParted = 2;  // columns: softmax f32 of [4,640,96,9,2] with gaps over all but 0 72 and 19 ms
constexpr Index kWorthStates = Index{1} << 13, kLineBytes = 64;
// States of an output that all its columns merge for themselves, rather than in one launch more: of 81 columns each,
// 8192 outputs of [128,8192,81] take 577 us (an H100). A CPU starts one at once: [65,5000,12] f32 5.6 ms, 1.9 so.
constexpr Index kWorthSpreading = 16;

bool is_softmax(const Problem& problem) { return problem.kind == RequestKind::softmax; }

// The kept axes and that of runs, far to near; where it is among them.
struct Columns {
  std::vector<Axis> axes;
  std::size_t run;

  explicit Columns(const Problem& problem) : axes(problem.axes.kept) {
    const Axis axis = problem.axes.reduced.back();
    const auto nearer = std::find_if(axes.begin(), axes.end(), [&](const Axis& kept) { return kept.in < axis.in; });
    run = static_cast<std::size_t>(nearer - axes.begin());
    axes.insert(nearer, axis);
  }
};

// The same problem with one output for each element of a run.
Problem along_runs(const Problem& problem) {
  Problem columns = problem;
  columns.axes.kept = joined(Columns(problem).axes, is_softmax(problem) ? Joins::both : Joins::in);
  columns.axes.reduced.pop_back();
  return columns;
}

// What maps a softmax's elements sees columns, too: all columns of a run get what they are together. Of few states each
// column merges them for itself; of more they are merged once, and spread.
enum class For { outputs, columns };

// Merges the states of all columns of each output, `parts` to a column.
Step merge_of_runs(const Problem& problem, const DeviceFacts& device, Buffer states, Index parts, For whom) {
  Step rows = fold_step(problem, Body::rows, tuning_for(device, question_of("columns_first", problem)));
  const Columns columns(problem);
  rows.kept = columns.axes;
  Step merge = merge_step(rows, states, parts);
  const Axis run = merge.kept[columns.run];
  merge.part = parts * run.size;
  if (whom == For::columns) {
    merge.kept[columns.run].in = 0;
    merge.bytes_read *= static_cast<double>(run.size);
  } else {
    merge.kept.erase(merge.kept.begin() + static_cast<std::ptrdiff_t>(columns.run));
  }
  merge.launch.grid = {1, elements(merge.kept), 1};
  const Index weight = folds_an_index(problem.fold) ? problem.axes.reduced.back().out : 0;  // of a place in its run
  merge.reduced = {{.size = run.size, .in = run.in, .out = weight}};
  if (parts > 1) merge.reduced.push_back({.size = parts, .in = 1, .out = 0});
  if (run.in == parts && weight == 0) merge.reduced = {{.size = parts * run.size, .in = 1, .out = 0}};
  return merge;
}

// Copies the state of each output to all columns of its run.
Step spread_to_columns(const Problem& problem, const DeviceFacts& device, const Step& merge, Buffer states) {
  Step spread = merge;
  const Columns columns(problem);
  spread.kept = columns.axes;
  std::vector<Axis> outputs = columns.axes;
  outputs[columns.run].size = 1;
  const std::vector<Axis> dense = dense_axes(outputs);
  for (std::size_t i = 0; i < spread.kept.size(); ++i) spread.kept[i].in = i == columns.run ? 0 : dense[i].in;
  spread.reduced = {};
  spread.part = 1;
  spread.in = states;
  spread.bytes_read = merge.bytes_written;
  merge_by_lanes(spread, device);
  return spread;
}

// The longest runs that a CPU takes as columns, in bytes: those that are whole lines of memory, and others.
struct LongestRuns {
  Index whole, cut;
};

// By what a fold does with an element, and whether outputs are so few that rows had to be parted. Measured:
// docs/measurements/cpu-history.md#runs-that-are-columns.
LongestRuns longest_runs(const Problem& problem, bool parted) {
  constexpr Index kAny = std::numeric_limits<Index>::max();
  if (is_softmax(problem)) return parted ? LongestRuns{2048, 4096} : LongestRuns{192, 512};
  if (problem.fold == FoldKind::logsumexp) return parted ? LongestRuns{1024, 4096} : LongestRuns{384, 1200};
  return parted ? LongestRuns{kAny, kAny} : LongestRuns{0, 160};
}

// Whether kernels take runs as columns themselves: kernels/cpu/runs_as_columns.h. A softmax's wait for their sums next
// to the core while rows are few: [256,1000,8] f32 0.46 ms so and 0.84 columns first, [4096,1000,8] 13.6 and 12.6.
bool are_columns_to_kernels(const Problem& problem, Index columns, Index rows) {
  constexpr Index kLongest = 32, kFewest = 16, kMost = 512, kLongestOfSoftmax = 16, kMostRows = 1024;
  const Index run = problem.axes.reduced.back().size;
  if (columns < kFewest) return false;
  if (is_softmax(problem)) return run <= kLongestOfSoftmax && ceil_power_of_two(run) == run && rows <= kMostRows;
  return problem.fold != FoldKind::logsumexp && run <= kLongest && columns <= kMost;
}

// Whether powers of elements that lie side by side with others are columns enough: softmax f32 of [160,16,10,64] over
// axes 0 and 2 takes 0.33 ms so and 0.55 columns first, logsumexp of [40,16,40,64] 0.17 and 0.53, [640,16,4,64] 0.38
// and 0.25.
bool are_powers_of_columns(const Problem& problem, Index rows) {
  constexpr Index kFewestBeside = 16, kFewestBesideOfSum = 64, kRowsOfRun = 16;
  if (!raises_powers(problem) || problem.axes.reduced.back().in == 1 || problem.axes.kept.back().in != 1) return false;
  const Index beside = problem.axes.kept.back().size, run = problem.axes.reduced.back().size;
  return is_softmax(problem) ? beside >= kFewestBeside : beside >= kFewestBesideOfSum && run * kRowsOfRun >= rows;
}

bool pays_on_cpu(const Problem& problem, const DeviceFacts& device) {
  if (problem.inputs < kWorthStates) return false;
  const Problem columns = along_runs(problem);
  const Axis& line = columns.axes.kept.back();
  const bool parted = wants_split(problem, device);
  if (line.in != 1 || line.size < (parted && raises_powers(problem) ? kFewestOfParted : kFewestOfSoftmax)) return false;
  const Index rows = columns.axes.reduced_elements(), run = problem.axes.reduced.back().size;
  if (rows < (raises_powers(problem) && !parted ? kFewestOfPowers : kFewestOfCpuRows)) return false;
  if (parted ? run > kRunsOfRows * rows : are_columns_to_kernels(problem, line.size, rows)) return false;
  if (are_powers_of_columns(problem, rows)) return false;
  const Index bytes = run * static_cast<Index>(size_bytes(problem.input));
  const LongestRuns longest = longest_runs(problem, parted);
  return bytes <= (bytes % kLineBytes == 0 ? longest.whole : longest.cut);
}

// Lanes along runs of a vector or two meet more often than they look: logsumexp f16 of [36450,127,16] over axes 0 and 2
// takes 92 us in parts, 52 by columns.
bool looks_at_few(const Problem& problem, Index run_bytes) {
  return problem.fold == FoldKind::logsumexp && size_bytes(problem.input) == 2 && run_bytes <= kSectorBytes;
}

}  // namespace

Verdict can_columns_first(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (problem.axes.reduced.size() < 2) return no("one axis is reduced: nothing lies between its runs");
  if (problem.axes.kept.empty()) return no("no axis is kept");
  if (device.kind == DeviceKind::cpu) {
    if (folds_an_index(problem.fold)) return no("a CPU merges no indices");
    const Verdict verdict = or_better_on_cpu("columns_first", problem, device);
    if (verdict.kind != Verdict::Kind::yes) return verdict;
    return pays_on_cpu(problem, device) ? yes() : unwise("a CPU takes such runs as they are");
  }
  const Index run = problem.axes.reduced.back().size * static_cast<Index>(size_bytes(problem.input));
  if (!is_softmax(problem) && has_many_kernels(problem) && has_whole_runs(problem) && !looks_at_few(problem, run))
    return unwise("runs are whole vectors");
  if (is_softmax(problem) && (run > kLongestRunBytes || (run > kShortRunBytes && has_whole_runs(problem))))
    return unwise("runs are long enough for lanes");
  const Problem columns = along_runs(problem);
  if (columns.axes.kept.back().in != 1) return unwise("columns are no neighbours");
  if (columns.axes.reduced_elements() < (is_softmax(problem) ? kFewestOfSoftmaxRows : kFewestRows))
    return unwise("too little lies between its runs");
  const Index fewest = is_softmax(problem) ? kFewestOfSoftmax : run <= kShortRunBytes ? kFewestOfShort : kFewestColumns;
  return columns.axes.kept.back().size < fewest ? unwise("too few columns lie side by side") : yes();
}

Schedule build_columns_first(const Problem& problem, const DeviceFacts& device) {
  WorkspaceLayout workspace;
  Schedule schedule;
  const Problem columns = along_runs(problem);
  const Step whole = fold_to_share("columns_first", columns, Body::columns, device);
  const Index part = part_to_share(columns, device, whole), parts = ceil_divide(elements(whole.reduced), part);
  const Buffer states = workspace.place(states_bytes(whole, parts));
  Step fold = whole;
  divide_into_parts(fold, part, states);
  const bool maps = is_softmax(problem), many = parts * problem.axes.reduced.back().size >= kWorthSpreading;
  const bool spreads = maps && (many || device.kind == DeviceKind::cpu);
  Step merge = merge_of_runs(problem, device, states, parts, maps && !spreads ? For::columns : For::outputs);
  merge_by_lanes(merge, device);
  schedule.steps = {std::move(fold)};
  if (!maps) {
    schedule.steps.push_back(std::move(merge));
  } else {
    Buffer merged = workspace.place(states_bytes(merge, 1));
    leave_states(merge, merged);
    schedule.steps.push_back(merge);
    if (spreads) {
      Step spread = spread_to_columns(problem, device, merge, merged);
      merged = workspace.place(states_bytes(spread, 1));
      leave_states(spread, merged);
      schedule.steps.push_back(std::move(spread));
    }
    const MapKind map = problem.sink == SinkKind::softmax ? MapKind::softmax : MapKind::log_softmax;
    Step normalize = elementwise_step(map, whole, kInput, problem.input, kOutput, problem.output, merged);
    if (device.kind == DeviceKind::cpu) in_parts(normalize, part);
    schedule.steps.push_back(std::move(normalize));
  }
  workspace.finish(schedule);
  return schedule;
}

}  // namespace ndfold
