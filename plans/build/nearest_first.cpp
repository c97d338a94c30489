// nearest_first: what is reduced along several axes is folded along the nearest of them first, as if the others were
// kept, in whatever way is best for that; then the states along the others are merged. Kernels that walk one axis alone
// ask less of each element than those that walk several.
#include "plans/build/builders.h"
#include "plans/build/orientation.h"
#include "plans/build/split.h"
#include "plans/build/steps.h"
#include "plans/choose.h"
#include "plans/typing.h"

#include <algorithm>
#include <limits>

namespace ndfold {
namespace {

// Bytes of elements for one of their state, which is written and read, and of an index.
constexpr Index kWorthStates = 16, kWorthIndices = 128;

std::vector<Axis> farther(const Problem& problem) {
  return {problem.axes.reduced.begin(), problem.axes.reduced.end() - 1};
}

Index distance(const Axis& axis) { return axis.in == 0 ? std::numeric_limits<Index>::max() : axis.in; }

// The kept axes and those that are merged, far to near.
std::vector<Axis> outer_axes(const Problem& problem) {
  std::vector<Axis> axes = farther(problem);
  axes.insert(axes.end(), problem.axes.kept.begin(), problem.axes.kept.end());
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return distance(a) > distance(b); });
  return axes;
}

Problem along_nearest(const Problem& problem) {
  return with_axes(problem, joined(outer_axes(problem), Joins::in), {problem.axes.reduced.back()});
}

// The same axes where a state stands for what was folded; `out` stays.
std::vector<Axis> among_states(const Problem& problem, std::vector<Axis> axes) {
  const std::vector<Axis> outer = outer_axes(problem), dense = dense_axes(outer);
  for (Axis& axis : axes) {
    const auto same = std::find_if(outer.begin(), outer.end(), [&](const Axis& other) { return other.in == axis.in; });
    axis.in = dense[static_cast<std::size_t>(same - outer.begin())].in;
  }
  return axes;
}

Step merge_of_others(const Problem& problem, const DeviceFacts& device, Buffer states) {
  Step merge = merge_step(fold_to_share("nearest_first", problem, Body::rows, device), states, 1);
  merge.kept = among_states(problem, problem.axes.kept);
  merge.reduced = among_states(problem, farther(problem));
  if (!folds_an_index(problem.fold))
    for (Axis& axis : merge.reduced) axis.out = 0;
  merge.part = elements(merge.reduced);
  merge.bytes_read *= static_cast<double>(merge.part);
  merge_by_lanes(merge, device);
  return merge;
}

}  // namespace

Verdict can_nearest_first(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (device.kind == DeviceKind::cpu) return no("a CPU has no need of it: it walks several axes as well as one");
  if (problem.kind != RequestKind::reduce) return no("a softmax maps what it folds");
  if (problem.axes.reduced.size() < 2) return no("one axis is reduced");
  const std::vector<Axis> outer = outer_axes(problem);
  const auto alike = [](const Axis& a, const Axis& b) { return a.in == b.in; };
  if (std::adjacent_find(outer.begin(), outer.end(), alike) != outer.end())
    return no("states of axes at the same distance would not lie apart");
  // argmax f32 and bf16 of [64,512,56,56] over all but axis 1 take 100 and 58 us, 106 and 67 so.
  if (folds_an_index(problem.fold) && problem.innermost_is_reduced())
    return unwise("an index is looked for in a row of several runs at once");
  const Index bytes = problem.axes.reduced.back().size * static_cast<Index>(size_bytes(problem.input));
  const Index least = folds_an_index(problem.fold) ? kWorthIndices : kWorthStates;
  return bytes >= least * state_bytes(problem.fold, problem.accumulate)
             ? yes()
             : unwise("its nearest axis is too short for a state of its own");
}

Schedule build_nearest_first(const Problem& problem, const DeviceFacts& device) {
  const Problem inner = along_nearest(problem);
  Schedule schedule = choose(inner, {.device = device}).value().schedule;
  WorkspaceLayout workspace(schedule);
  const Buffer states = workspace.place(Checked(inner.outputs) * state_bytes(problem.fold, problem.accumulate));
  leave_states(schedule.steps.back(), states);
  schedule.steps.push_back(merge_of_others(problem, device, states));
  workspace.finish(schedule);
  return schedule;
}

}  // namespace ndfold
