#include "plans/build/steps.h"

#include <ndfold/travelling.h>

#include "plans/build/geometry.h"
#include "plans/typing.h"

#include <algorithm>

namespace ndfold {
namespace {

double bytes_of(DType type, double count) { return count * static_cast<double>(size_bytes(type)); }

double state_width(const Step& step) {
  return static_cast<double>(state_bytes(step.kernel.fold, step.kernel.accumulate));
}

}  // namespace

std::vector<Axis> dense_axes(const std::vector<Axis>& axes, Index unit) {
  std::vector<Axis> result = axes;
  for (std::size_t i = result.size(); i-- > 0;) {
    result[i].in = result[i].out = unit;
    unit *= result[i].size;
  }
  return result;
}

std::vector<Axis> joined(const std::vector<Axis>& axes, Joins where) {
  std::vector<Axis> result;
  for (const Axis& axis : axes) {
    const bool continues = !result.empty() && result.back().in == axis.size * axis.in &&
                           (where == Joins::in || result.back().out == axis.size * axis.out);
    if (continues)
      result.back() = {.size = result.back().size * axis.size, .in = axis.in, .out = axis.out};
    else
      result.push_back(axis);
  }
  return result;
}

Problem with_axes(const Problem& problem, std::vector<Axis> kept, std::vector<Axis> reduced) {
  Problem other = problem;
  other.outputs = elements(kept), other.inputs = elements(kept) * elements(reduced);
  other.axes.kept = std::move(kept), other.axes.reduced = std::move(reduced);
  other.as_given = {};
  return other;
}

Index panel_elements(const Step& step) {
  const Index bytes = step.kernel.tuning.panel_bytes;
  return std::max<Index>(1, bytes / static_cast<Index>(size_bytes(step.kernel.input)));
}

Index panels(const Step& step) {
  return step.kept.empty() ? 1 : ceil_divide(step.kept.back().size, panel_elements(step));
}

Index unit_of_parts(const Step& step, Index wanted) {
  constexpr Index kRunsOfPart = 4;
  if (step.kernel.body != Body::rows) return 1;
  const Index run = step.reduced.size() < 2 ? 1 : step.reduced.back().size;
  if (run > 1 && run * kRunsOfPart <= wanted) return run;
  return std::max<Index>(1, kMemoryLineBytes / static_cast<Index>(size_bytes(step.kernel.input)));
}

Index columns_of(const Step& step) {
  const bool columns = step.kernel.body == Body::columns && !step.kept.empty();
  return columns ? std::min(panel_elements(step), step.kept.back().size) : 1;
}

Checked exchange_bytes(const Step& step, Index tiles) {
  const Index groups = step.launch.grid[1];
  const Checked states = Checked(exchange_turns(tiles, groups)) * groups * step.parts * columns_of(step) *
                         state_bytes(step.kernel.fold, step.kernel.accumulate);
  const bool words = step.kernel.residency == Residency::ring;  // instead of them, or where buffers are misaligned, not
  const Index columns = travelling_columns(step);               // a whole panel's, however few there are
  const Checked all_words = Checked(words ? kTurnsOfWords * kWordBytes : 0) * groups * step.parts * columns;
  if (!states.fits() || !all_words.fits()) return states;
  return Checked(std::max(states.value(), all_words.value())) + exchange_counter_bytes(tiles, groups);
}

Step fold_step(const Problem& problem, Body body, const TuningRow& tuned) {
  Step step;
  step.kept = problem.axes.kept;
  step.reduced = problem.axes.reduced;
  const auto& lanes = body == Body::rows ? step.reduced : step.kept;
  step.kernel = {.body = body,
                 .fold = problem.fold,
                 .input = problem.input,
                 .accumulate = problem.accumulate,
                 .output = problem.output,
                 .source = !lanes.empty() && lanes.back().in == 1 ? SourceKind::dense : SourceKind::strided,
                 .sink = problem.sink,
                 .tuning = tuned.use};
  step.in_offset = problem.axes.in_offset;
  step.out_offset = problem.axes.out_offset;
  step.index_offset = problem.axes.index_offset;
  step.part = problem.axes.reduced_elements();
  step.repeat = problem.axes.repeat;
  step.count = problem.count;
  step.ddof = problem.ddof;
  step.scale = problem.scale;
  step.alpha = problem.alpha;
  step.in = kInput;
  step.out = kOutput;
  step.bytes_read = problem.bytes_in();
  step.bytes_written = problem.bytes_out();
  const Index outputs = elements(step.kept);
  const bool columns = body == Body::columns && !step.kept.empty();
  step.launch.grid = {1, columns ? outputs / step.kept.back().size * panels(step) : outputs, 1};
  step.launch.block = tuned.use.threads;
  return step;
}

void in_parts(Step& step, Index part) {
  step.part = part;
  step.parts = ceil_divide(elements(step.reduced), part);
  step.launch.grid[0] = step.parts;
}

void divide_into_parts(Step& step, Index part, Buffer out) {
  const Index outputs = elements(step.kept);
  in_parts(step, part);
  step.kernel.sink = SinkKind::store_state;
  step.kernel.residency = Residency::none;
  step.out = out;
  step.bytes_written = static_cast<double>(outputs) * static_cast<double>(step.parts) * state_width(step);
}

Checked states_bytes(const Step& step, Index parts) {
  return Checked(elements(step.kept)) * parts * state_bytes(step.kernel.fold, step.kernel.accumulate);
}

void leave_states(Step& step, Buffer out) {
  const auto dense = dense_axes(step.kept);
  for (std::size_t i = 0; i < dense.size(); ++i) step.kept[i].out = dense[i].out;
  step.kernel.sink = SinkKind::store_state;
  step.out = out;
  step.out_offset = 0;
  step.bytes_written = static_cast<double>(elements(step.kept)) * state_width(step);
}

Step merge_step(const Step& first, Buffer states, Index parts) {
  Step step = first;
  step.kernel.body = Body::rows;
  step.kernel.source = SourceKind::states;
  step.kernel.residency = Residency::none;
  step.outputs_side_by_side = false;
  step.kept = dense_axes(first.kept, first.outputs_side_by_side ? 1 : parts);
  for (std::size_t i = 0; i < step.kept.size(); ++i) step.kept[i].out = first.kept[i].out;
  step.reduced = {{.size = parts, .in = first.outputs_side_by_side ? elements(first.kept) : 1, .out = 0}};
  step.in_offset = 0;
  step.part = parts;
  step.parts = 1;
  step.in = states;
  step.launch.grid = {1, elements(step.kept), 1};
  step.bytes_read = static_cast<double>(elements(step.kept)) * static_cast<double>(parts) * state_width(first);
  return step;
}

void add_fold_in_steps(Schedule& schedule, WorkspaceLayout& workspace, const Step& last, Index limit) {
  Buffer slots[2];
  Step step = last;
  for (int turn = 0;; turn ^= 1) {
    const Index length = elements(step.reduced);
    const Index block = std::min(std::max<Index>(limit, 2), ceil_power_of_two(length));
    step.launch.block = static_cast<int>(block);
    const Index parts = ceil_divide(length, block);
    if (parts <= 1) break;
    if (slots[turn].place == Buffer::Place::none) slots[turn] = workspace.place(states_bytes(last, parts));
    divide_into_parts(step, block, slots[turn]);
    schedule.steps.push_back(step);
    step = merge_step(last, slots[turn], parts);
  }
  schedule.steps.push_back(std::move(step));
}

Step permute_step(DType type, std::vector<Axis> axes, Buffer in, Buffer out, const Tuning& use) {
  Step step;
  step.kernel.body = Body::permute;
  step.kernel.tuning = use;
  step.launch.block = use.threads;
  step.kernel.input = step.kernel.accumulate = step.kernel.output = type;
  const double moved = bytes_of(type, static_cast<double>(elements(axes)));
  step.kept = std::move(axes);
  step.count = 1;
  step.part = 1;
  step.in = in;
  step.out = out;
  step.bytes_read = step.bytes_written = moved;
  step.launch.grid = {1, elements(step.kept), 1};
  return step;
}

Step elementwise_step(MapKind map, const Step& rows, Buffer in, DType input, Buffer out, DType output, Buffer values) {
  Step step = rows;
  step.outputs_side_by_side = false;
  step.kernel.body = Body::elementwise;
  step.kernel.map = map;
  step.kernel.input = input;
  step.kernel.output = output;
  step.kernel.sink = SinkKind::store;
  step.in = in;
  step.out = out;
  step.values = values;
  step.part = elements(step.reduced);
  step.parts = 1;
  const double count = static_cast<double>(elements(step.kept)) * static_cast<double>(step.part);
  step.bytes_read = bytes_of(input, count);
  step.bytes_written = bytes_of(output, count);
  return step;
}

}  // namespace ndfold
