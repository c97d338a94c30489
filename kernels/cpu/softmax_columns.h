// Softmax with lanes along the innermost kept axis: tiles of columns whose powers wait near the core, or that are read
// twice where they are too long for that.
#pragma once
#include "kernels/cpu/runs_as_columns.h"
#include "kernels/cpu/softmax_again.h"
#include "kernels/cpu/softmax_few.h"
#include "kernels/cpu/softmax_slab.h"
#include "kernels/cpu/softmax_states.h"
#include "kernels/cpu/whole_rows.h"

namespace ndfold::simd {

/// A step with its reduced axes in another order: where columns lie side by side in the input and apart in the output,
/// rows had better lie side by side there.
class NearInOutput {
 public:
  explicit NearInOutput(const Arguments& given) : step_(given) {
    const Axis column = inner(given.kept);
    const int rank = given.reduced.rank;
    int near = rank - 1;
    if (column.in == 1 && !is_near(column))
      for (int i = 0; i < rank; ++i)
        if (is_near(given.reduced.axes[i])) near = i;
    if (near == rank - 1) return;
    std::copy(given.reduced.axes, given.reduced.axes + rank, axes_);
    std::rotate(axes_ + near, axes_ + near + 1, axes_ + rank);
    step_.reduced.axes = axes_;
  }
  NearInOutput(const NearInOutput&) = delete;
  NearInOutput& operator=(const NearInOutput&) = delete;

  const Arguments& step() const { return step_; }

 private:
  static bool is_near(const Axis& axis) { return axis.out == 1 || axis.out == -1; }

  Arguments step_;
  Axis axes_[kMostAxes];
};

/// Few columns whose rows follow one another.
template <class A>
bool joins_rows(const Arguments& step, const ColumnBlock& block) {
  return joined_in_tile<A>(step, block) > 1 && are_whole_rows<A>(step, block);
}

template <MapKind kMap, class A>
[[gnu::noinline]] void softmax_of_joined_rows(const Arguments& step, Index first, Index last) {
  for (Index index = first; index < last; ++index) {
    const ColumnBlock block(step, index);
    MaxAndSum<A> states[kTileColumns<A>];
    fold_joined_tile(step, block, joined_in_tile<A>(step, block), states);
    map_whole_rows<kMap, A>(step, block, [&](Index c) { return states[c]; });
  }
  finish_streams();
}

/// Short runs of outputs that lie side by side, in the output too: columns of a tile, which parts no run.
template <class A>
bool are_runs_as_tiles(const Arguments& step) {
  const Axis run = inner(step.reduced);
  const bool parts_none = run.size > 0 && kLanes<LanesOf<A>> % run.size == 0;
  return RunsAsColumns::suits(step, parts_none ? std::numeric_limits<Index>::max() : kTileColumns<A>) && run.out == 1 &&
         inner(step.kept).out == run.size;
}

/// `run` as in SlabSoftmax.
template <class A>
void softmax_of_tiles(const Arguments& step, Index run, Index first, Index last) {
  const bool softmax = step.sink == SinkKind::softmax;
  if (step.residency == Residency::scratch && elements(step.reduced) <= kSlabRows)
    return (softmax ? softmax_in_slab<MapKind::softmax, A>
                    : softmax_in_slab<MapKind::log_softmax, A>)(step, run, first, last, may_be_wide<A>(step, run));
  (softmax ? softmax_again<MapKind::softmax, A> : softmax_again<MapKind::log_softmax, A>)(step, run, first, last);
}

/// Blocks: line-major, then panels.
template <class A>
void softmax_columns(const Arguments& given, Index first, Index last) {
  if (softmax_few_rows<A>(given, first, last)) return;
  if (first < last && joins_rows<A>(given, ColumnBlock(given, first)))
    return given.sink == SinkKind::softmax ? softmax_of_joined_rows<MapKind::softmax, A>(given, first, last)
                                           : softmax_of_joined_rows<MapKind::log_softmax, A>(given, first, last);
  if (are_runs_as_tiles<A>(given)) {
    const RunsAsColumns runs(given, given.panel);
    return softmax_of_tiles<A>(runs.step(), inner(given.reduced).size, first, last);
  }
  const NearInOutput ordered(given);
  softmax_of_tiles<A>(ordered.step(), 1, first, last);
}

}  // namespace ndfold::simd
