// columns_first: of runs that are no whole vectors, fold what lies between runs first, as columns as wide as all that
// follow one another; then the states along each run. Vectors take 7 × 7 images of 512 channels as 25 088 columns.
#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/orientation.h"
#include "plans/build/split.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kFewestColumns = 128;  // of 32 lanes with a vector each
// Of one state: merging them costs more than an element does. Of 1024 and 4096 rows sums reach 0.89 and 0.93 of a
// stream for 0.35 and 0.89 by rows_in_block, of 31 and 64 rows 0.21 and 0.37.
constexpr Index kFewestRows = 512;
constexpr Index kStatesOfWarp = 1024;  // more of one output are a block's
constexpr int kThreadsOfLanes = 256;

// Far to near, neighbours joined: states lie in the order of their numbers however axes are cut.
std::vector<Axis> joined(const std::vector<Axis>& axes) {
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    if (!result.empty() && result.back().in == axis.size * axis.in)
      result.back() = {.size = result.back().size * axis.size, .in = axis.in, .out = axis.out};
    else
      result.push_back(axis);
  }
  return result;
}

// The same problem with one output for each element of a run.
Problem along_runs(const Problem& problem) {
  Problem columns = problem;
  auto &kept = columns.axes.kept, &reduced = columns.axes.reduced;
  kept.push_back(reduced.back());
  kept = joined(kept);
  reduced.pop_back();
  return columns;
}

void share_by_warps(Step& merge, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || merge.part > kStatesOfWarp) return;
  merge.kernel.scope = Scope::lanes;
  merge.kernel.tuning.lanes_per_row = device.lanes;
  merge.launch.block = kThreadsOfLanes;
  merge.launch.grid = {1, ceil_divide(elements(merge.kept), kThreadsOfLanes / device.lanes), 1};
}

}  // namespace

Verdict can_columns_first(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (problem.kind != RequestKind::reduce) return no("a softmax would be read once more for its results");
  if (folds_an_index(problem.fold)) return no("an index is that of one column");
  if (problem.axes.reduced.size() < 2) return no("one axis is reduced: nothing lies between its runs");
  if (device.kind == DeviceKind::cpu) return unwise("a CPU takes runs of any length");
  if (problem.axes.reduced.back().in != 1) return unwise("runs are no neighbours");
  if (has_many_kernels(problem) && has_whole_runs(problem)) return unwise("runs are whole vectors");
  const Problem columns = along_runs(problem);
  if (columns.axes.reduced_elements() < kFewestRows) return unwise("too little lies between its runs");
  return columns.axes.kept.back().size < kFewestColumns ? unwise("too few columns lie side by side") : yes();
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
  const Step rows = fold_step(problem, Body::rows, tuning_for(device, question_of("columns_first", problem)));
  Step merge = merge_step(rows, states, parts * problem.axes.reduced.back().size);
  share_by_warps(merge, device);
  schedule.steps = {std::move(fold), std::move(merge)};
  workspace.finish(schedule);
  return schedule;
}

}  // namespace ndfold
