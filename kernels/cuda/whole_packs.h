// Which kernel takes a step whose packs are all whole, where the input begins with one.
#pragma once
#include "kernels/cuda/bind.h"

namespace ndfold::cuda {

/// A kernel of whole_lines.h or whole_runs.h, with room for what it keeps in shared memory, or none.
Kernel kernel_of_whole_packs(const Step& step, const Found& found, Bound& bound);

}  // namespace ndfold::cuda
