// map_across: of a softmax whose results lie across its elements, fold as a reduction would, then map tiles that turn.
// Neither side of a CPU's memory sees the other's strides: kernels/cpu/crossing_map.h.
#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"
#include "plans/choose.h"
#include "plans/typing.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kElementsOfTile = 8192;  // about: kernels/cpu/crossing_map.h

// What has to be folded before it is mapped: as a reduction.
Problem reduction_of(const Problem& problem) {
  Problem fold = problem;
  fold.kind = RequestKind::reduce;
  fold.sink = SinkKind::store;
  fold.axes.kept = joined(problem.axes.kept, Joins::in);
  fold.axes.reduced = joined(problem.axes.reduced, Joins::in);
  return fold;
}

// The axis that is near in the input and the one that is near in the output, where they are two of them.
struct Crossing {
  const Axis* along = nullptr;
  const Axis* across = nullptr;
  int kept = 0;

  explicit Crossing(const Problem& problem) {
    for (const auto* axes : {&problem.axes.kept, &problem.axes.reduced})
      for (const Axis& axis : *axes) {
        if (axis.in == 1) along = &axis;
        if (axis.out == 1) across = &axis;
        kept += axes == &problem.axes.kept && (axis.in == 1 || axis.out == 1);
      }
  }
  bool exists() const { return along != nullptr && across != nullptr && along != across; }
};

// Rows that turn in themselves: softmax f32 of [3000,64,64] transposed, axes 1 and 2, 72 ms by columns and 3.7 so,
// [60000,16,16] 26 and 5.8; but [100000,5,32] 12 and 24. Columns that could not wait for their sums next to the core
// are read twice anyway: [92231,129] axis 0 7.6 and 3.6, [4000,4096] 3.9 and 5.9. Where both are kept, lanes of neither
// side are the other's: [1000,128,128] axis 0 67 and 8.4, [16,1024,1024] 156 and 12, [8,2000,1000] 43 and 18.
bool pays(const Crossing& crossing, const Problem& problem) {
  constexpr Index kShortest = 4, kFewestOfTile = 256, kMostThatWait = 4096, kFewestOfKept = 64, kFewestOfReduced = 4;
  const Index tile = crossing.along->size * crossing.across->size;
  if (crossing.kept == 2) return tile >= kFewestOfKept && problem.axes.reduced_elements() >= kFewestOfReduced;
  if (std::min(crossing.along->size, crossing.across->size) < kShortest) return false;
  if (crossing.kept == 0) return tile >= kFewestOfTile;
  return problem.axes.reduced_elements() > kMostThatWait;
}

}  // namespace

Verdict can_map_across(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (problem.kind != RequestKind::softmax) return no("only a softmax is mapped");
  if (device.kind != DeviceKind::cpu) return no("a GPU has no need of it: its tiles turn while they wait");
  const Crossing crossing(problem);
  if (!crossing.exists() || problem.input != problem.output) return unwise("its results lie as its elements do");
  return pays(crossing, problem) ? yes() : unwise("a CPU's tiles of columns turn while they wait");
}

Schedule build_map_across(const Problem& problem, const DeviceFacts& device) {
  Schedule schedule = choose(reduction_of(problem), {.device = device}).value().schedule;
  Step whole = fold_step(problem, Body::columns, tuning_for(device, question_of("map_across", problem)));
  whole.kernel.source = SourceKind::dense;
  WorkspaceLayout workspace(schedule);
  const Buffer states = workspace.place(states_bytes(whole, 1));
  leave_states(schedule.steps.back(), states);
  const MapKind map = problem.sink == SinkKind::softmax ? MapKind::softmax : MapKind::log_softmax;
  Step turn = elementwise_step(map, whole, kInput, problem.input, kOutput, problem.output, states);
  turn.launch.grid = {1, ceil_divide(problem.inputs, kElementsOfTile), 1};
  schedule.steps.push_back(std::move(turn));
  workspace.finish(schedule);
  return schedule;
}

}  // namespace ndfold
