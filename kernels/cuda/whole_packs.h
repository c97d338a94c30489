// Which kernels take steps that need not look for the ends of what they fold.
#pragma once
#include "kernels/cuda/bind.h"

namespace ndfold::cuda {

/// A kernel of whole_lines.h or whole_runs.h, with room for what it keeps in shared memory, or none.
Kernel kernel_of_whole_packs(const Step& step, const Found& found, Bound& bound);

/// The kernel of cut_lines.h, wherever the first line begins, or none.
Kernel kernel_of_cut_lines(const Step& step, const Found& found, const Bound& bound);

/// The kernel of whole_lines.h for elements one by one, wherever they lie, or none.
Kernel kernel_of_elements(const Step& step, const Found& found, Bound& bound);

}  // namespace ndfold::cuda
