// Panels of columns in registers that overlap (column_sectors.h): which steps take them, and on which buffers.
#pragma once
#include "kernels/cuda/bind.h"

namespace ndfold::cuda {

/// The kernel for rows that begin anywhere in a sector, or none; and how its panels lie.
StepKernel kernel_of_sectors(const Step& step, const Found& found, Bound& bound);

/// Whether buffers lie as those kernels need it: of panels that overlap a block reads columns that another one writes.
bool suits_sectors(const Bound& bound, const Arguments& to);

void take_sectors(const Bound& bound, Arguments& to);

}  // namespace ndfold::cuda
