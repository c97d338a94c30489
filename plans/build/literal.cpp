#include "plans/build/literal.h"

#include <algorithm>

namespace ndfold {
namespace {

// On a CPU a block is a core's stint: long enough to hide its start.
constexpr Index kHostBlockElements = 4096;

std::vector<Axis> concatenated(std::vector<Axis> first, const std::vector<Axis>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

Literal literal_of(const Problem& problem, const DeviceFacts& device) {
  Literal literal;
  literal.moves = tuning_for(device, {.strategy = "copy"}).use;
  literal.length = elements(problem.as_given.reduced);
  literal.outputs = elements(problem.as_given.kept);
  literal.kept = dense_axes(problem.as_given.kept, literal.length);
  literal.reduced = dense_axes(problem.as_given.reduced);
  for (std::size_t i = 0; i < literal.kept.size(); ++i) literal.kept[i].in = problem.as_given.kept[i].in;
  for (std::size_t i = 0; i < literal.reduced.size(); ++i) literal.reduced[i].in = problem.as_given.reduced[i].in;
  return literal;
}

Step Literal::gather(const Problem& problem, Buffer permuted) const {
  return permute_step(problem.input, concatenated(kept, reduced), kInput, permuted, moves);
}

Step Literal::scatter(const Problem& problem, Buffer permuted) const {
  auto axes = concatenated(kept, reduced);
  const auto given = concatenated(problem.as_given.kept, problem.as_given.reduced);
  for (std::size_t i = 0; i < axes.size(); ++i)
    axes[i] = {.size = axes[i].size, .in = axes[i].out, .out = given[i].out};
  return permute_step(problem.output, std::move(axes), permuted, kOutput, moves);
}

Step Literal::rows(const Problem& problem, const TuningRow& tuned) const {
  Step step = fold_step(problem, Body::rows, tuned);
  step.in_offset = step.out_offset = step.index_offset = 0;
  step.kernel.source = SourceKind::dense;
  step.kept = dense_axes(problem.as_given.kept, length);
  step.reduced = {{.size = length, .in = 1, .out = 1}};
  step.repeat = 1;
  step.part = length;
  step.launch.grid = {1, outputs, 1};
  step.bytes_read = static_cast<double>(problem.inputs) * static_cast<double>(size_bytes(problem.input));
  return step;
}

Index multi_step_limit(const Problem& problem, const DeviceFacts& device) {
  const Index most = device.kind == DeviceKind::cpu ? kHostBlockElements : device.threads_per_block;
  return problem.block_limit > 0 ? std::min(problem.block_limit, most) : most;
}

}  // namespace ndfold
