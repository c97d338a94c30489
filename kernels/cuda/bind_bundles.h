// What kernels of bundles read: how many stretches make one, and the places that they travel through.
#pragma once
#include "kernels/cuda/bind.h"

namespace ndfold::cuda {

/// Of rows, once bound as such (bundles.h).
void bind_bundles(const Step& step, Bound& bound);

/// Of lines of columns (columns_in_bundles.h).
void bind_lines_in_bundles(const Step& step, Bound& bound);

}  // namespace ndfold::cuda
