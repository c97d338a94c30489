// Softmax with lanes along the innermost kept axis: tiles of columns whose powers wait near the core, or that are read
// twice where they are too long for that.
#pragma once
#include "kernels/cpu/softmax_again.h"
#include "kernels/cpu/softmax_slab.h"

namespace ndfold::simd {

/// Blocks: line-major, then panels.
template <class A>
void softmax_columns(const Arguments& step, Index first, Index last) {
  const bool softmax = step.sink == SinkKind::softmax;
  if (step.residency == Residency::scratch && elements(step.reduced) <= kSlabRows)
    return softmax ? softmax_in_slab<MapKind::softmax, A>(step, first, last)
                   : softmax_in_slab<MapKind::log_softmax, A>(step, first, last);
  softmax ? softmax_again<MapKind::softmax, A>(step, first, last)
          : softmax_again<MapKind::log_softmax, A>(step, first, last);
}

}  // namespace ndfold::simd
