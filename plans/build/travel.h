// Rows and columns that travel: how groups of blocks share them, and what of a block's shared memory is a ring for
// their packs.
#pragma once
#include <ndfold/device.h>

#include "plans/problem.h"
#include "plans/schedule.h"

namespace ndfold {

struct Journey {
  int threads = 0;         ///< of a block; 0: tiles do not travel
  Index part = 1;          ///< reduced elements of a block
  Index parts = 1;         ///< blocks of a group
  Index groups = 1;        ///< each takes a tile at a time
  Index shared_bytes = 0;  ///< of the ring
};

/// Whether kernels take such a step in packs of 16 bytes; else elements one by one.
bool travels_in_packs(const Step& step);

/// Of a softmax in a grid, as `step` begins.
Journey journey_of(const Problem& problem, const Step& step, const DeviceFacts& device);

}  // namespace ndfold
