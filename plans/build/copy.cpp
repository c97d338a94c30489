// nothing: no element is read. copy: no two elements meet.
#include "plans/build/builders.h"
#include "plans/build/fit_columns.h"
#include "plans/build/steps.h"

namespace ndfold {

Verdict can_fold(const Problem& problem) {
  if (problem.kind == RequestKind::permute) return no("a permute folds nothing");
  if (problem.reads_nothing()) return no("the input has no elements");
  return yes();
}

Verdict can_do_nothing(const Problem& problem, const DeviceFacts&) {
  return problem.reads_nothing() ? yes() : no("there are elements to read");
}

// Outputs of an empty reduction are folds of no elements: identities, finalized.
Schedule build_nothing(const Problem& problem, const DeviceFacts& device) {
  if (problem.outputs == 0) return {};
  Step step = fold_step(problem, Body::rows, tuning_for(device, {.strategy = "rows_in_block"}));
  step.reduced = {{.size = 0, .in = 1, .out = 0}};
  step.part = 0;
  return {.steps = {step}};
}

Verdict can_copy(const Problem& problem, const DeviceFacts&) {
  if (problem.reads_nothing()) return no("the input has no elements");
  if (problem.kind == RequestKind::softmax) return no("a softmax is not a copy");
  return problem.folds_nothing() ? yes() : no("elements are folded");
}

Schedule build_copy(const Problem& problem, const DeviceFacts& device) {
  const TuningRow& tuned = tuning_for(device, {.strategy = "copy"});
  if (problem.kind != RequestKind::permute) {
    Step step = fold_step(problem, Body::columns, tuned);
    fit_panels(step, device);
    return {.steps = {step}};
  }
  Step step = permute_step(problem.input, problem.axes.kept, kInput, kOutput, tuned.use);
  step.in_offset = problem.axes.in_offset;
  step.out_offset = problem.axes.out_offset;
  return {.steps = {step}};
}

}  // namespace ndfold
