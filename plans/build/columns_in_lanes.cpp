// columns_in_lanes: lines have few columns and few rows, and there are many of them. Lanes of a warp fold a panel of a
// line; a block takes many panels side by side.
#include <ndfold/few_rows.h>

#include "plans/build/builders.h"
#include "plans/build/fit_columns.h"
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

// Elements of a line that is better off so than by blocks of 256 threads. Sums f32 of [N,65,3] axis 1 reach 0.03
// of a stream by blocks and 0.53 by lanes, of [N,64,48] 0.42 and 0.63, of [N,64,128] 0.82 and 0.69; variances of
// [N,64,128] 0.55 and 0.63. Uneven rows with gaps, and rows along several axes, a block takes one by one: of [N,64,257]
// 0.35 and 0.63. A softmax reads its elements twice: of [N,5,10] 0.32 and 0.48, of [N,5,20] 0.47 and 0.31; bf16 of
// [N,20,10] 0.12 and 0.24 (128 MiB on an H100, docs/measurements/gpu-history.md#columns-in-lanes).
constexpr Index kSumsOfLine = 4096, kLooksOfLine = 12288, kApart = 4;
// Of whole packs, for which blocks may be small: sums of [N,40,40] reach 0.59 and 0.77 of a stream by blocks (bf16 and
// f32), 0.24 and 0.42 by lanes; var of [N,64,96] 0.49 and 0.65 by blocks, 0.50 and 0.70 by lanes, of [N,64,128] 0.48
// and 0.73, 0.50 and 0.72 (an H200, docs/measurements/gpu-history.md#blocks-of-few-threads). Along several axes
// blocks look up where rows lie: logsumexp f32 of [75,6,96,6,128] over axes 1 and 3 45 us by blocks, 86 by lanes.
constexpr Index kWholeSumsOfLine = 1024, kWholeLooksOfLine = 10240, kWholeHalfLooksOfLine = 5120;
// Rows, where packs begin elsewhere from one to the next: a block takes eight or four of them side by side, and what
// meets is more than what is read. Sums of bf16 [N,49,2047] 0.33 of a stream by blocks and 0.49 by lanes, var 0.16 and
// 0.42, of f32 0.55 and 0.65, 0.35 and 0.65; of 128 rows 0.60 and 0.51, 0.34 and 0.46, 0.61 and 0.65, 0.47 and 0.71.
// In narrow lines, var of [N,300,513] 0.33 and 0.41, 0.46 and 0.64; of [N,300,2047] 0.51 and 0.41, 0.65 and 0.64.
constexpr Index kMostUnevenSums = 96, kMostUnevenLooks = 192, kMostNarrowLooks = 320, kNarrow = 1024;
constexpr Index kLanesForAColumn = 4;  // of those that a device has room for, at most
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

// Whether lanes of a block would load packs, wherever they begin.
bool has_whole_rows(const Problem& problem) {
  const std::span kept = problem.axes.kept;
  if (loads_across(problem)) return true;
  return step_over_packs(problem, problem.axes.reduced) && step_over_packs(problem, kept.first(kept.size() - 1));
}

// Rows that are no whole vectors, and that a block does not join.
bool are_taken_one_by_one(const Problem& problem) {
  const std::vector<Axis>& reduced = problem.axes.reduced;
  return !has_whole_rows(problem) && (reduced.size() > 1 || reduced.back().in != columns_of_line(problem));
}

Index longest_line(const Problem& problem) {
  const bool half = size_bytes(problem.input) == 2, looks = looks_twice(problem.fold);
  if (problem.kind == RequestKind::softmax) return half ? kHalfPowersOfLine : kPowersOfLine;
  if (problem.axes.kept.back().in == 1 && has_whole_rows(problem))
    return !looks || problem.axes.reduced.size() > 1 ? kWholeSumsOfLine
           : half                                    ? kWholeHalfLooksOfLine
                                                     : kWholeLooksOfLine;
  return (looks ? kLooksOfLine : kSumsOfLine) * (are_taken_one_by_one(problem) ? kApart : 1);
}

bool has_short_uneven_columns(const Problem& problem, const DeviceFacts& device) {
  const std::vector<Axis>&kept = problem.axes.kept, &reduced = problem.axes.reduced;
  if (problem.kind != RequestKind::reduce || !has_many_kernels(problem) || reduced.size() != 1) return false;
  const Index columns = kept.back().size, rows = reduced.back().size;
  const Index most = !looks_twice(problem.fold) ? kMostUnevenSums
                     : columns < kNarrow        ? kMostNarrowLooks
                                                : kMostUnevenLooks;
  return kept.back().in == 1 && !loads_across(problem) && columns > kMostJoinedColumns && rows <= most &&
         reduced.back().in % pack_of(problem.input) != 0 &&
         elements(kept) * kLanesForAColumn >= Index{device.multiprocessors} * device.threads_per_multiprocessor;
}

}  // namespace

bool suits_columns_in_lanes(const Problem& problem, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || problem.axes.kept.empty() || problem.axes.reduced.empty()) return false;
  const Index blocks = Index{device.multiprocessors} * (device.threads_per_multiprocessor / kThreadsOfBlock);
  if (has_few_rows(problem) || is_long_narrow_line(problem)) return false;
  if (has_short_uneven_columns(problem, device)) return true;
  return lines_of(problem) > blocks &&
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
