// Lines of a reduction that lanes fold in batches: how many threads a block has for one, and how many loads at a time.
#pragma once
#include <ndfold/device.h>

#include "plans/problem.h"
#include "plans/schedule.h"

namespace ndfold {

/// Loads of a lane that the kernels of a fold's lines have (kernels/cuda/reduction_kernel.h), and threads of a
/// multiprocessor that they leave registers for.
struct LaneLoads {
  Index threads;
  int loads;
};

/// Those that long lines are folded with best.
LaneLoads loads_of_long_lines(const Problem&, const DeviceFacts&);

/// Threads of a block, whole warps, and loads of its lanes: as many as have all of a line on their way at once, or, of
/// a line that is longer, as many as take the least time.
void fit_line(Step&, const Problem&, const DeviceFacts&);

}  // namespace ndfold
