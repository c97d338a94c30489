// Short runs of few outputs that lie side by side, far from the next such outputs: their elements are columns, whose
// states meet run by run in the end.
#pragma once
#include "kernels/cpu/fold_columns.h"

namespace ndfold::simd {

/// The outputs of the innermost kept axis, a line of them, as columns: one for each element of their runs.
class RunsAsColumns {
  static constexpr Index kLongestRun = 32, kFewestColumns = 16, kFewestRows = 32;

 public:
  /// Whether outputs are folded so, of lines of at most `most` elements: where bundles would have one line each.
  static bool suits(const Arguments& step, Index most) {
    const AxisList runs = outer(step.reduced), lines = outer(step.kept);
    if (step.kept.rank == 0 || runs.rank == 0 || step.parts != 1) return false;
    const Axis output = inner(step.kept), run = inner(step.reduced);
    const Index columns = output.size * run.size, next_run = inner(runs).in;
    const bool dense = run.in == 1 && output.in == run.size && next_run >= columns;
    const bool apart = lines.rank == 0 || inner(lines).in > next_run;
    return dense && apart && run.size <= kLongestRun && columns >= kFewestColumns && columns <= most &&
           elements(runs) >= kFewestRows;
  }

  /// A block has `outputs` of a line, or what is left of it.
  RunsAsColumns(const Arguments& given, Index outputs) : run_(inner(given.reduced)), step_(given) {
    const Axis output = inner(given.kept);
    std::copy(given.kept.axes, given.kept.axes + given.kept.rank, kept_);
    kept_[given.kept.rank - 1] = {.size = output.size * run_.size, .in = 1, .out = 1};
    step_.kept.axes = kept_;
    step_.reduced = outer(given.reduced);
    step_.panel = outputs * run_.size;
    step_.part = elements(step_.reduced);
  }
  RunsAsColumns(const RunsAsColumns&) = delete;
  RunsAsColumns& operator=(const RunsAsColumns&) = delete;

  const Arguments& step() const { return step_; }

  /// Folds the states of each run, pairwise, to the first of as many as there are outputs.
  template <class Fold>
  void meet(const Fold& fold, typename Fold::State* states, Index outputs) const {
    for (Index i = 0; i < outputs; ++i) {
      auto* const run = states + i * run_.size;
      if constexpr (requires { run->index; })
        for (Index k = 0; k < run_.size; ++k) run[k].index += k * run_.out;
      for (Index left = run_.size; left > 1;) {
        const Index half = (left + 1) / 2;
        for (Index k = 0; k + half < left; ++k) run[k] = fold.combine(run[k], run[k + half]);
        left = half;
      }
      states[i] = run[0];
    }
  }

 private:
  Axis run_, kept_[kMostAxes];
  Arguments step_;
};

/// Blocks: outputs; states_of(step, block, all) are those of a line's columns. A line that blocks cut is folded whole.
template <template <class> class F, class A, Index kMost, class StatesOf>
void fold_lines_of_runs(const Arguments& step, Index first, Index last, const StatesOf& states_of) {
  const RunsAsColumns runs(step, inner(step.kept).size);
  const auto fold = make_fold<F<A>>({.scale = step.scale, .ddof = step.ddof});
  const Axis output = inner(step.kept);
  for (Index at = first; at < last;) {
    const Index line = at / output.size, begin = at % output.size;
    const Index outputs = std::min(output.size - begin, last - at);
    typename F<A>::State all[kMost];
    states_of(runs.step(), ColumnBlock(runs.step(), line), all);
    runs.meet(fold, all, output.size);
    const Index out = Odometer(outer(step.kept), line).out() + begin * output.out;
    sink_states(step, fold, all + begin, outputs,
                {.out = place_of(step, out), .out_stride = output.out, .block = at, .block_stride = 1});
    at += outputs;
  }
}

template <template <class> class F, class A, Loading kLoading, class T>
void fold_runs_as_columns(const Arguments& step, const FoldParameters& parameters, Index first, Index last) {
  using State = typename F<A>::State;
  const auto states_of = [&](const Arguments& columns, const ColumnBlock& block, State* all) {
    if (const Index together = rows_together<F, A, T>(columns, block); together > 1)
      return fold_joined_rows<F, A, kLoading, T>(columns, parameters, block, together, all);
    fold_block<F, A, kLoading, T>(columns, parameters, block, [&](Index to, Index count, const State* some) {
      std::copy(some, some + count, all + to);
    });
  };
  fold_lines_of_runs<F, A, kJoinedColumns<F, A, T>>(step, first, last, states_of);
}

}  // namespace ndfold::simd
