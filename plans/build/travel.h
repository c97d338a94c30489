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

/// Takes few columns of rows that follow one another as one long row, if they are.
bool join_to_travel(Step& step);

/// Whether those are then sooner than panels, where these travel: not short columns of wide rows. By panels and so,
/// f32: [65536,8] 8.6 us and 8.7, [131072,8] 11.2 and 9.8; [131072,16] 13.0 and 12.7, [262144,16] 23 and 18.8;
/// [131072,32] 18 and 20, [262144,32] 38 and 32; [65536,17] 10.7 and 11.6, [131072,17] 16.8 and 13.6; [31775,33] 10.7
/// and 11.7, [63550,33] 16.1 and 14.9; [32263,65] 14.6 and 19.3, [64527,65] 29 and 24; [33026,127] 23 and 25.
bool are_better_joined(const Step& step);

/// Of a softmax in a grid, as `step` begins.
Journey journey_of(const Problem& problem, const Step& step, const DeviceFacts& device);

}  // namespace ndfold
