// softmax_chain: permute → max → subtract → exp → sum → divide → permute back, every step a launch of its own.
// The teaching path, the fallback for everything, and the witness for the fused ones.
#include "plans/build/builders.h"
#include "plans/build/literal.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

struct Chain {
  Step rows;  // over the permuted buffer, in the accumulator's type
  Index limit = 0;
  Schedule schedule = {};
  WorkspaceLayout workspace = {};

  void add(MapKind map, Buffer in, DType input, Buffer out, DType output, Buffer values, double alpha = 1) {
    Step step = elementwise_step(map, rows, in, input, out, output, values);
    step.alpha = alpha;
    schedule.steps.push_back(step);
  }

  // One value a row, in the accumulator's type.
  Buffer fold(FoldKind kind, Buffer in, DType input) {
    Step step = rows;
    step.kernel.fold = kind;
    step.kernel.sink = SinkKind::store;
    step.kernel.input = input;
    step.kernel.output = step.kernel.accumulate;
    step.in = in;
    step.out = workspace.place(Checked(elements(rows.kept)) * static_cast<Index>(size_bytes(step.kernel.accumulate)));
    for (Axis& axis : step.kept) axis.out /= elements(rows.reduced);
    step.reduced.front().out = 0;
    step.bytes_written = static_cast<double>(elements(rows.kept)) * static_cast<double>(size_bytes(step.kernel.output));
    add_fold_in_steps(schedule, workspace, step, limit);
    return step.out;
  }
};

}  // namespace

Verdict can_softmax_chain(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (problem.kind != RequestKind::softmax) return no("this is not a softmax");
  return or_better_on_cpu("softmax_chain", problem, device);
}

Schedule build_softmax_chain(const Problem& problem, const DeviceFacts& device) {
  const Literal literal = literal_of(problem, device);
  Chain chain{.rows = literal.rows(problem, tuning_for(device, {.strategy = "softmax_chain"})),
              .limit = multi_step_limit(problem, device)};
  chain.rows.kernel.residency = Residency::none;
  chain.rows.scale = chain.rows.alpha = 1;
  const DType accumulate = problem.accumulate;
  const auto bytes = [&](DType type) { return Checked(problem.inputs) * static_cast<Index>(size_bytes(type)); };

  const DType widest = size_bytes(problem.output) > size_bytes(problem.input) ? problem.output : problem.input;
  // `elements` holds the input, later the output: what comes between is in the accumulator's type.
  const Buffer elements = chain.workspace.place(bytes(widest));
  const Buffer middle = chain.workspace.place(bytes(accumulate));
  chain.schedule.steps.push_back(literal.gather(problem, elements));
  Buffer source = elements;
  DType source_type = problem.input;
  if (problem.scale != 1) {
    chain.add(MapKind::scale, elements, problem.input, middle, accumulate, {}, problem.scale);
    source = middle;
    source_type = accumulate;
  }
  const Buffer maxima = chain.fold(FoldKind::max, source, source_type);
  chain.add(MapKind::subtract, source, source_type, middle, accumulate, maxima);
  const bool logarithm = problem.sink == SinkKind::log_softmax;
  const Buffer powers = logarithm ? chain.workspace.place(bytes(accumulate)) : middle;
  chain.add(MapKind::exponential, middle, accumulate, powers, accumulate, {});
  const Buffer sums = chain.fold(FoldKind::sum, powers, accumulate);
  chain.add(logarithm ? MapKind::subtract_log : MapKind::divide, middle, accumulate, elements, problem.output, sums,
            problem.alpha);
  chain.schedule.steps.push_back(literal.scatter(problem, elements));
  chain.workspace.finish(chain.schedule);
  return chain.schedule;
}

}  // namespace ndfold
