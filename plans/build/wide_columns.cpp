// wide_columns: where few columns lie side by side, what lies beside them is folded as columns, too, be it a gap or
// columns whose results lie elsewhere: rows are one run of memory so. Then the columns that count are picked. Beyond
// the last element of a view with gaps nothing may be read: the last of its rows are folded as they are.
// A GPU's lanes lie beside each other's gaps; there results of columns beside each other are moved to where they
// belong.
#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/orientation.h"
#include "plans/build/split.h"
#include "plans/build/steps.h"
#include "plans/choose.h"
#include "plans/typing.h"

#include <algorithm>
#include <limits>

namespace ndfold {
namespace {

// Elements from one line of columns to the next.
Index pitch_of(const Problem& problem) {
  Index pitch = std::numeric_limits<Index>::max();
  for (std::size_t i = 0; i + 1 < problem.axes.kept.size(); ++i) pitch = std::min(pitch, problem.axes.kept[i].in);
  for (const Axis& axis : problem.axes.reduced) pitch = std::min(pitch, axis.in);
  return pitch;
}

bool has_gaps(const Problem& problem) { return pitch_of(problem) > problem.axes.kept.back().size; }

// Neighbours in the input alone.
bool has_others_beside(const Problem& problem) {
  return joined(problem.axes.kept, Joins::in).back().size > problem.axes.kept.back().size;
}

// Every other element is a line of one column.
Problem in_lines(const Problem& problem) {
  Problem lines = problem;
  if (!problem.axes.kept.empty() && problem.axes.kept.back().in == 2)
    lines.axes.kept.push_back({.size = 1, .in = 1, .out = 1});
  return lines;
}

std::vector<Axis> widened(const Problem& problem) {
  std::vector<Axis> axes = problem.axes.kept;
  if (has_gaps(problem)) axes.back().size = pitch_of(problem);
  return axes;
}

// The axis of which the last index is folded by itself: the longest.
std::size_t longest(const std::vector<Axis>& axes) {
  const auto shorter = [](const Axis& a, const Axis& b) { return a.size < b.size; };
  return static_cast<std::size_t>(std::max_element(axes.begin(), axes.end(), shorter) - axes.begin());
}

// Gaps included, but for the last rows.
Problem over_all_columns(const Problem& problem) {
  std::vector<Axis> reduced = problem.axes.reduced;
  const std::size_t axis = longest(reduced);
  if (--reduced[axis].size == 1) reduced.erase(reduced.begin() + static_cast<std::ptrdiff_t>(axis));
  return with_axes(problem, joined(widened(problem), Joins::in), std::move(reduced));
}

Problem of_last_rows(const Problem& problem) {
  std::vector<Axis> reduced = problem.axes.reduced;
  const std::size_t at = longest(reduced);
  const Axis axis = reduced[at];
  reduced.erase(reduced.begin() + static_cast<std::ptrdiff_t>(at));
  Problem last = with_axes(problem, problem.axes.kept, std::move(reduced));
  last.axes.in_offset += (axis.size - 1) * axis.in;
  return last;
}

// Those beside each other as one axis, and its results in that order.
Problem side_by_side(const Problem& problem) {
  return with_axes(problem, joined(problem.axes.kept, Joins::in), problem.axes.reduced);
}

Buffer behind(Buffer buffer, Index bytes) {
  buffer.offset_bytes += bytes;
  return buffer;
}

// Sums of bf16 [9,8,8192,6,22] transposed over axes 0 and 2 take 368 us as lines of six columns.
Verdict can_on_gpu(const Problem& problem) {
  constexpr Index kFewestRows = 4;  // fewer leave results that are no less than what is moved for them
  if (problem.axes.kept.empty() || problem.axes.kept.back().in != 1) return no("columns are no neighbours");
  if (!has_others_beside(problem)) return no("no others lie beside its columns");
  return problem.axes.reduced_elements() >= kFewestRows ? yes() : unwise("too few rows are folded");
}

Schedule build_on_gpu(const Problem& problem, const DeviceFacts& device) {
  Problem all = side_by_side(problem);
  const std::vector<Axis> dense = dense_axes(all.axes.kept);
  for (std::size_t i = 0; i < dense.size(); ++i) all.axes.kept[i].out = dense[i].out;
  all.axes.out_offset = 0;
  Schedule schedule = choose(all, {.device = device}).value().schedule;
  WorkspaceLayout workspace(schedule);
  const Buffer results = workspace.place(Checked(problem.outputs) * static_cast<Index>(size_bytes(problem.output)));
  schedule.steps.back().out = results;
  std::vector<Axis> places = dense_axes(problem.axes.kept);
  for (std::size_t i = 0; i < places.size(); ++i) places[i].out = problem.axes.kept[i].out;
  Step move = permute_step(problem.output, places, results, kOutput,
                           tuning_for(device, question_of("wide_columns", problem)).use);
  move.out_offset = problem.axes.out_offset;
  schedule.steps.push_back(std::move(move));
  workspace.finish(schedule);
  return schedule;
}

}  // namespace

// Columns of one array of lines pay up to four lines of memory, those of several up to two: sums f32 on a Zen 5 of 50
// of every 51, [300000,50] axis 0, 2.7 and 1.3 ms; [500,1000,20] axis 1 2.4 and 1.2, [2000,64,60] 1.0 and 1.3. Where
// others lie beside them, up to what a strip holds: [400,1000,20] transposed, axis 0, 0.7 and 0.5.
Verdict can_wide_columns(const Problem& given, const DeviceFacts& device) {
  constexpr Index kWidestBytes = 256, kWidestOfMany = 128, kWidestBeside = 4096;
  constexpr Index kFewestRows = 64, kWorthStates = Index{1} << 12;
  if (Verdict verdict = can_fold(given); !verdict.possible()) return verdict;
  if (given.kind != RequestKind::reduce) return no("a softmax has results for elements alone");
  if (device.kind != DeviceKind::cpu) return can_on_gpu(given);
  const Problem problem = in_lines(given);
  if (problem.axes.kept.empty() || problem.axes.reduced.empty()) return no("no lines of columns are folded");
  const Axis& column = problem.axes.kept.back();
  if (column.in != 1) return no("columns are no neighbours");
  const bool gaps = has_gaps(problem);
  if (gaps && folds_an_index(problem.fold)) return no("an index counts elements, not gaps");
  if (!gaps && !has_others_beside(problem)) return no("nothing lies beside its columns");
  const Index widest = !gaps ? kWidestBeside : problem.axes.kept.size() == 1 ? kWidestBytes : kWidestOfMany;
  const bool narrow = column.size * static_cast<Index>(size_bytes(problem.input)) <= widest;
  if (pitch_of(problem) > 2 * column.size || !narrow)
    return unwise("gaps are wider than columns, or columns wide enough");
  const bool many = problem.axes.reduced_elements() >= kFewestRows && problem.inputs >= kWorthStates;
  return many ? yes() : unwise("too few rows are folded");
}

Schedule build_wide_columns(const Problem& given, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cpu) return build_on_gpu(given, device);
  const Problem problem = in_lines(given);
  const bool gaps = has_gaps(problem);
  const Problem all = gaps ? over_all_columns(problem) : side_by_side(problem);
  Schedule schedule = choose(all, {.device = device}).value().schedule;
  const Index state = state_bytes(problem.fold, problem.accumulate), outputs = elements(problem.axes.kept);
  WorkspaceLayout workspace(schedule);
  const Buffer wide = workspace.place(Checked(elements(all.axes.kept)) * state);
  leave_states(schedule.steps.back(), wide);

  Step whole = fold_to_share("wide_columns", problem, Body::columns, device);
  Step pick = merge_step(whole, wide, 1);
  const std::vector<Axis> places = dense_axes(widened(problem));
  for (std::size_t i = 0; i < places.size(); ++i) pick.kept[i].in = places[i].in;
  pick.reduced = {};
  if (gaps) {
    const Buffer both = workspace.place(Checked(outputs) * 2 * state);
    const Problem last = of_last_rows(given);
    Step rest = fold_to_share("wide_columns", last, preferred_body(last, device), device);
    leave_states(rest, behind(both, outputs * state));
    leave_states(pick, both);
    whole.outputs_side_by_side = true;
    schedule.steps.insert(schedule.steps.end(), {std::move(rest), std::move(pick), merge_step(whole, both, 2)});
  } else {
    schedule.steps.push_back(std::move(pick));
  }
  workspace.finish(schedule);
  return schedule;
}

}  // namespace ndfold
