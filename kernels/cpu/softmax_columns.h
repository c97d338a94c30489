// Softmax with lanes along the innermost kept axis: tiles of columns whose powers wait near the core, or that are read
// twice where they are too long for that.
#pragma once
#include "kernels/cpu/softmax_again.h"
#include "kernels/cpu/softmax_few.h"
#include "kernels/cpu/softmax_slab.h"

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

/// Blocks: line-major, then panels.
template <class A>
void softmax_columns(const Arguments& given, Index first, Index last) {
  if (FewRows<A>::can(given)) return softmax_few_rows<A>(given, first, last);
  const NearInOutput ordered(given);
  const Arguments& step = ordered.step();
  const bool softmax = step.sink == SinkKind::softmax;
  if (step.residency == Residency::scratch && elements(step.reduced) <= kSlabRows)
    return softmax ? softmax_in_slab<MapKind::softmax, A>(step, first, last)
                   : softmax_in_slab<MapKind::log_softmax, A>(step, first, last);
  softmax ? softmax_again<MapKind::softmax, A>(step, first, last)
          : softmax_again<MapKind::log_softmax, A>(step, first, last);
}

}  // namespace ndfold::simd
