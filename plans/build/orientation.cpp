#include "plans/build/orientation.h"

namespace ndfold {
namespace {

// Shorter runs leave most lanes of a row idle; then lanes lie better along the outputs, even at a stride.
constexpr Index kShortestRun = 8;
constexpr Index kEnoughColumns = 16;

// A CPU's rows may be strided: where few columns lie side by side, reading the same lines once a column costs less than
// lanes without work (3 columns: 7 times less; at 8 columns it is even, docs/measurements/host-panels.md).
constexpr Index kNarrow = 8;
constexpr Index kLongRun = 64;

bool is_narrow(const Problem& problem, const DeviceFacts& device) {
  return device.kind == DeviceKind::cpu && problem.axes.kept.back().size < kNarrow && !problem.axes.reduced.empty() &&
         problem.axes.reduced.back().size >= kLongRun;
}

// A CPU's reductions of floating elements fold short runs of many outputs together: from two elements on that is
// quicker than lanes at a stride.
bool bundles_runs(const Problem& problem, const DeviceFacts& device) {
  const DType own = problem.input == DType::f64 ? DType::f64 : DType::f32;
  return device.kind == DeviceKind::cpu && problem.kind == RequestKind::reduce && is_floating(problem.input) &&
         problem.accumulate == own && problem.axes.reduced.back().in == 1;
}

bool prefers_rows(const Problem& problem, const DeviceFacts& device) {
  if (problem.axes.kept.empty()) return true;
  if (!problem.innermost_is_reduced()) return is_narrow(problem, device);
  const Index run = problem.axes.reduced.back().size;
  return run >= kShortestRun || bundles_runs(problem, device) || problem.axes.kept.back().size < kEnoughColumns;
}

}  // namespace

Body preferred_body(const Problem& problem, const DeviceFacts& device) {
  return prefers_rows(problem, device) ? Body::rows : Body::columns;
}

Verdict rows_are_apt(const Problem& problem, const DeviceFacts& device) {
  if (problem.folds_nothing() && problem.kind == RequestKind::reduce) return unwise("nothing is folded");
  if (prefers_rows(problem, device)) return yes();
  return unwise(problem.innermost_is_reduced() ? "rows are shorter than a step of lanes"
                                               : "the contiguous axis is kept");
}

Verdict columns_are_apt(const Problem& problem, const DeviceFacts& device) {
  if (problem.axes.kept.empty()) return no("no axis is kept");
  if (problem.folds_nothing() && problem.kind == RequestKind::reduce) return unwise("nothing is folded");
  if (prefers_rows(problem, device))
    return unwise(problem.innermost_is_reduced() ? "the contiguous axis is reduced"
                                                 : "too few columns lie side by side");
  return yes();
}

TuningQuestion question_of(std::string_view strategy, const Problem& problem) {
  return {.strategy = strategy,
          .element_bytes = static_cast<Index>(size_bytes(problem.input)),
          .reduced = problem.axes.reduced_elements(),
          .softmax = problem.kind == RequestKind::softmax};
}

}  // namespace ndfold
