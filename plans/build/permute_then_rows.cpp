// permute_then_rows: bring every output's elements together first, then fold dense rows.
#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/literal.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

namespace ndfold {

// A CPU's lanes are few and its caches near: it reads any strides in place, and a copy of the input never pays.
Verdict can_permute_then_rows(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (elements(problem.as_given.kept) * elements(problem.as_given.reduced) != problem.inputs)
    return no("its axes are in no order that a caller gave");
  return device.kind == DeviceKind::cpu ? unwise("a CPU reads any strides in place") : yes();
}

Schedule build_permute_then_rows(const Problem& problem, const DeviceFacts& device) {
  Schedule schedule;
  WorkspaceLayout workspace;
  const Literal literal = literal_of(problem, device);
  const Buffer permuted = workspace.place(Checked(problem.inputs) * static_cast<Index>(size_bytes(problem.input)));
  schedule.steps.push_back(literal.gather(problem, permuted));

  const TuningRow& tuned = tuning_for(device, question_of("permute_then_rows", problem));
  Step rows = literal.rows(problem, tuned);
  rows.in = permuted;
  if (problem.kind == RequestKind::reduce) {
    for (std::size_t i = 0; i < rows.kept.size(); ++i) rows.kept[i].out = problem.as_given.kept[i].out;
    add_fold_in_steps(schedule, workspace, rows, multi_step_limit(problem, device));
  } else {
    rows.out = workspace.place(Checked(problem.outputs) * static_cast<Index>(size_bytes(problem.output)));
    settle(rows, tuned.residency, device);
    schedule.steps.push_back(rows);
    schedule.steps.push_back(literal.scatter(problem, rows.out));
  }
  workspace.finish(schedule);
  return schedule;
}

}  // namespace ndfold
