#include "plans/build/orientation.h"

#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/lines.h"

#include <algorithm>
#include <cstdlib>

namespace ndfold {
namespace {

// Shorter runs leave most lanes of a row idle; then lanes lie better along the outputs, even at a stride. Packs that
// cover runs (lines.h) have room for somewhat shorter ones: 5 f32 take 303 us by rows and 463 by columns, 3 take 275
// and 220; 7 bf16 297 and 427, 5 take 814 and 513.
constexpr Index kShortestRun = 8;
constexpr Index kShortestCutRun = 5, kShortestCutRunOfHalves = 7;
constexpr Index kEnoughColumns = 16;
// Two looks at such runs of 16 bits that are rows with gaps: var of 12, 18 and 20 bf16 102, 93 and 87 us by rows, 44,
// 56 and 60 by columns, logsumexp 86, 78 and 72, 48, 57 and 58, argmax 127, 116 and 105, 47, 59 and 60; of whole packs,
// 8, 16 and 24, var 37, 36 and 35 by rows. Of 26 var 82 and 91, argmax of 28 90 and 93.
constexpr Index kLongestGappedRun = 22;
// Reductions of f32 over several axes: with gaps [64,500,100,5] over 1 and 3 69 us by rows, 91 by columns, of 6 and 7
// 70 and 98, 79 and 109, [1000,4000,7] over 0 and 2 119 and 128.
constexpr Index kShortestRunOfSeveral = 5;

// A CPU's rows may be strided: where few columns lie side by side, reading the same lines once a column costs less than
// lanes without work (3 columns: 7 times less; at 8 columns it is even, docs/measurements/host-panels.md). Not where
// rows lie one behind the other: then lanes have several at a time.
constexpr Index kNarrow = 8;
constexpr Index kLongRun = 64;

bool joins_rows(const Problem& problem) {
  if (problem.axes.reduced.size() != 1) return false;
  const Axis column = problem.axes.kept.back(), row = problem.axes.reduced.back();
  if (column.in != 1 || row.in != column.size) return false;
  return problem.kind == RequestKind::reduce ||
         (column.out == 1 && row.out == column.size && problem.output == problem.input);
}

bool is_narrow(const Problem& problem, const DeviceFacts& device) {
  return device.kind == DeviceKind::cpu && problem.axes.kept.back().size < kNarrow && !problem.axes.reduced.empty() &&
         problem.axes.reduced.back().size >= kLongRun && !joins_rows(problem);
}

// A CPU's reductions of floating elements fold short runs of many outputs together: from two elements on that is
// quicker than lanes at a stride.
bool bundles_runs(const Problem& problem, const DeviceFacts& device) {
  const DType own = problem.input == DType::f64 ? DType::f64 : DType::f32;
  return device.kind == DeviceKind::cpu && problem.kind == RequestKind::reduce && is_floating(problem.input) &&
         problem.accumulate == own && problem.axes.reduced.back().in == 1;
}

// A CPU's softmax takes short rows side by side, as many as it has lanes, and its tiles of columns cross over to an
// output that lies the other way; its rows have to end as runs in the output (docs/measurements/host-panels.md).
constexpr Index kShortRow = 16;
constexpr Index kShortestDenseRun = 32;
constexpr Index kFewLanes = 4;  // still better than an element at a time

bool lies_across(const Problem& problem) {
  return problem.kind == RequestKind::softmax && problem.axes.reduced.back().out != 1 &&
         problem.axes.reduced.back().out != -1;
}

bool crosses(const Problem& problem, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cpu || problem.kind != RequestKind::softmax || problem.axes.reduced.empty())
    return false;
  const Index shortest = problem.axes.reduced.size() == 1 ? kShortRow + 1 : kShortestDenseRun;
  const Index columns = problem.axes.kept.back().size;
  return lies_across(problem) ? columns >= kFewLanes
                              : columns >= kEnoughColumns && problem.axes.reduced.back().size < shortest;
}

bool is_gapped_row_of_halves(const Problem& problem, const DeviceFacts& device) {
  const Index run = problem.axes.reduced.back().size;
  return device.kind == DeviceKind::cuda && problem.kind == RequestKind::reduce && size_bytes(problem.input) == 2 &&
         looks_twice(problem.fold) && problem.axes.reduced.size() == 1 && run <= kLongestGappedRun &&
         run % pack_of(problem.input) != 0 && problem.axes.kept.back().size >= kEnoughColumns;
}

// Whether all that an output is folded from lies closer together than one output's elements and the next one's, in runs
// too short for packs: softmaxes f32 of [70307,197,3], [20000,300,4] and [6000,1000,2] with gaps over axes 1 and 2 take
// 298, 118 and 107 us by rows, 387, 198 and 256 by columns, of [2,1025,15,100,7] over 2, 3 and 4 156 and 264; the first
// one's sum 255 and 411.
bool are_windows(const Problem& problem, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || size_bytes(problem.input) < 4 || problem.axes.reduced.size() < 2) return false;
  const bool along = problem.kind == RequestKind::reduce || problem.axes.reduced.back().out == 1;
  return along && lie_apart(problem.axes.kept, problem.axes.reduced);
}

bool prefers_rows(const Problem& problem, const DeviceFacts& device) {
  if (problem.axes.kept.empty()) return true;
  if (suits_bundles(problem, device) || suits_lines(problem, device)) return true;
  if (!problem.innermost_is_reduced()) return is_narrow(problem, device);
  if (crosses(problem, device)) return false;
  if (is_gapped_row_of_halves(problem, device)) return false;
  const Index run = problem.axes.reduced.back().size;
  const Index shortest = size_bytes(problem.input) == 2 ? kShortestCutRunOfHalves : kShortestCutRun;
  if (run >= shortest && packs_of_cut_runs(problem, device) > 0) return true;
  const bool of_several = device.kind == DeviceKind::cuda && problem.kind == RequestKind::reduce &&
                          size_bytes(problem.input) >= 4 && problem.axes.reduced.size() > 1;
  if (of_several && run >= kShortestRunOfSeveral) return true;
  return run >= kShortestRun || are_windows(problem, device) || bundles_runs(problem, device) ||
         problem.axes.kept.back().size < kEnoughColumns;
}

}  // namespace

Body preferred_body(const Problem& problem, const DeviceFacts& device) {
  return prefers_rows(problem, device) ? Body::rows : Body::columns;
}

Verdict rows_are_apt(const Problem& problem, const DeviceFacts& device) {
  if (problem.folds_nothing() && problem.kind == RequestKind::reduce) return unwise("nothing is folded");
  if (prefers_rows(problem, device)) return yes();
  if (!problem.innermost_is_reduced()) return unwise("the contiguous axis is kept");
  const bool across = crosses(problem, device) && lies_across(problem);
  return unwise(across ? "the output lies across its input" : "rows are shorter than a step of lanes");
}

Verdict columns_are_apt(const Problem& problem, const DeviceFacts& device) {
  if (problem.axes.kept.empty()) return no("no axis is kept");
  if (problem.folds_nothing() && problem.kind == RequestKind::reduce) return unwise("nothing is folded");
  if (suits_bundles(problem, device)) return unwise("short rows come in bundles");
  if (prefers_rows(problem, device))
    return unwise(problem.innermost_is_reduced() ? "the contiguous axis is reduced"
                                                 : "too few columns lie side by side");
  return yes();
}

TuningQuestion question_of(std::string_view strategy, const Problem& problem, bool without_ends) {
  const Index reduced = problem.axes.reduced_elements();
  return {.strategy = strategy,
          .element_bytes = static_cast<Index>(size_bytes(problem.input)),
          .reduced = without_ends ? reduced - reduced % pack_of(problem.input) : reduced,
          .softmax = problem.kind == RequestKind::softmax};
}

}  // namespace ndfold
