// columns_in_lanes: lines have few columns and few rows, and there are many of them. Lanes of a warp fold a panel of a
// line; a block takes many panels side by side.
#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kRowsOfLane = 8;     // loads on their way at a time: more lanes would only meet
constexpr double kIdleShare = 1.15;  // of lanes, rather than fewer side by side
constexpr int kThreadsOfBlock = 256;

// Elements of a line that is better off so; columns_in_block is from there on. Sums f32 of [N,65,3] axis 1 reach 0.03
// of a stream by blocks and 0.53 by lanes, of [N,64,48] 0.42 and 0.63, of [N,64,128] 0.82 and 0.69; variances of
// [N,64,128] 0.55 and 0.63. Uneven rows with gaps, and rows along several axes, a block takes one by one: of [N,64,257]
// 0.35 and 0.63. A softmax reads its elements twice: of [N,5,10] 0.32 and 0.48, of [N,5,20] 0.47 and 0.31; bf16 of
// [N,20,10] 0.12 and 0.24 (128 MiB on an H100, docs/measurements/gpu-history.md#columns-in-lanes).
constexpr Index kSumsOfLine = 4096, kLooksOfLine = 12288, kApart = 4;
constexpr Index kPowersOfLine = 64, kHalfPowersOfLine = 192;

Index columns_of_line(const Problem& problem) { return problem.axes.kept.back().size; }

Index lines_of(const Problem& problem) { return elements(problem.axes.kept) / columns_of_line(problem); }

// Lanes side by side: the most of those that leave few idle.
Index lanes_across(Index columns, Index most) {
  const auto taken = [&](Index lanes) { return static_cast<double>(round_up(columns, lanes)); };
  Index best = most;
  for (Index lanes = most; lanes > 1; lanes /= 2) {
    if (taken(best) <= kIdleShare * static_cast<double>(columns)) break;
    if (taken(lanes / 2) < taken(best)) best = lanes / 2;
  }
  return best;
}

// Whether a block would have loops for a lane that takes all rows of its columns (kernels/cuda/few_rows.h).
bool has_few_rows(const Problem& problem) {
  return problem.kind == RequestKind::reduce && has_many_kernels(problem) && problem.axes.reduced.size() == 1 &&
         problem.axes.reduced_elements() <= kFewRows && problem.axes.repeat == 1;
}

// Rows that are no whole vectors, and that a block does not join.
bool are_taken_one_by_one(const Problem& problem) {
  const std::vector<Axis>&kept = problem.axes.kept, &reduced = problem.axes.reduced;
  const Index pack = pack_of(problem.input);
  const auto is_whole = [&](const Axis& axis) { return axis.in % pack == 0; };
  const bool whole =
      std::all_of(reduced.begin(), reduced.end(), is_whole) && std::all_of(kept.begin(), kept.end() - 1, is_whole);
  return !whole && (reduced.size() > 1 || reduced.back().in != kept.back().size);
}

Index longest_line(const Problem& problem) {
  if (problem.kind == RequestKind::softmax) return size_bytes(problem.input) == 2 ? kHalfPowersOfLine : kPowersOfLine;
  return (looks_twice(problem.fold) ? kLooksOfLine : kSumsOfLine) * (are_taken_one_by_one(problem) ? kApart : 1);
}

}  // namespace

bool suits_columns_in_lanes(const Problem& problem, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || problem.axes.kept.empty() || problem.axes.reduced.empty()) return false;
  const Index blocks = Index{device.multiprocessors} * (device.threads_per_multiprocessor / kThreadsOfBlock);
  return !has_few_rows(problem) && lines_of(problem) > blocks &&
         problem.axes.reduced_elements() * columns_of_line(problem) <= longest_line(problem);
}

Verdict can_columns_in_lanes(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (device.kind == DeviceKind::cpu) return no("a CPU's lanes share a line in columns_in_block");
  if (Verdict verdict = columns_are_apt(problem, device); verdict.kind != Verdict::Kind::yes) return verdict;
  if (suits_columns_in_bundles(problem, device)) return unwise("such lines come in bundles");
  return suits_columns_in_lanes(problem, device) ? yes() : unwise("a block has work enough");
}

Schedule build_columns_in_lanes(const Problem& problem, const DeviceFacts& device) {
  Step step = fold_step(problem, Body::columns, tuning_for(device, question_of("columns_in_lanes", problem)));
  settle(step, Residency::none, device);
  Tuning& tuning = step.kernel.tuning;
  const Index element = static_cast<Index>(size_bytes(problem.input)), rows = problem.axes.reduced_elements();
  const Index across = lanes_across(columns_of_line(problem), device.lanes);
  tuning.panel_bytes = static_cast<int>(across * element);
  const Index lanes = Index{device.multiprocessors} * device.threads_per_multiprocessor;
  const Index tiles = lines_of(problem) * panels(step), wanted = ceil_divide(lanes, tiles * across);
  Index slots = std::min(floor_power_of_two(std::max<Index>(1, rows / kRowsOfLane)), device.lanes / across);
  while (slots < std::min(wanted, device.lanes / across) && 2 * slots <= rows) slots *= 2;
  step.kernel.scope = Scope::lanes;
  tuning.lanes_per_row = static_cast<int>(across * slots);
  step.launch.grid[1] = ceil_divide(tiles, step.launch.block / tuning.lanes_per_row);
  return {.steps = {step}};
}

}  // namespace ndfold
