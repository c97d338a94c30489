#include "plans/build/orientation.h"

namespace ndfold {
namespace {

// Shorter runs leave most lanes of a row idle; then lanes lie better along the outputs, even at a stride.
constexpr Index kShortestRun = 8;
constexpr Index kEnoughColumns = 16;

bool prefers_rows(const Problem& problem) {
  if (!problem.innermost_is_reduced()) return problem.axes.kept.empty();
  const Index run = problem.axes.reduced.back().size;
  return run >= kShortestRun || problem.axes.kept.empty() || problem.axes.kept.back().size < kEnoughColumns;
}

}  // namespace

Body preferred_body(const Problem& problem) { return prefers_rows(problem) ? Body::rows : Body::columns; }

Verdict rows_are_apt(const Problem& problem) {
  if (problem.folds_nothing() && problem.kind == RequestKind::reduce) return unwise("nothing is folded");
  if (!problem.innermost_is_reduced() && !problem.axes.kept.empty()) return unwise("the contiguous axis is kept");
  if (!prefers_rows(problem)) return unwise("rows are shorter than a step of lanes");
  return yes();
}

Verdict columns_are_apt(const Problem& problem) {
  if (problem.axes.kept.empty()) return no("no axis is kept");
  if (problem.folds_nothing() && problem.kind == RequestKind::reduce) return unwise("nothing is folded");
  if (prefers_rows(problem)) return unwise("the contiguous axis is reduced");
  return yes();
}

TuningQuestion question_of(std::string_view strategy, const Problem& problem) {
  return {.strategy = strategy,
          .element_bytes = static_cast<Index>(size_bytes(problem.input)),
          .reduced = problem.axes.reduced_elements(),
          .softmax = problem.kind == RequestKind::softmax};
}

}  // namespace ndfold
