// What kernels of a GPU reach of what its memory allows, by how a step's elements lie: shares of the device's plateau.
#pragma once
#include "plans/schedule.h"

namespace ndfold {

/// Whether a step is a softmax's fold and map in one; and whether it reads its elements once more for the map.
bool maps(const Step& step);
bool reads_twice(const Step& step);

/// Whether a step writes as many elements as it reads.
bool writes_elements(const Step& step);

/// Whether a permute's tiles turn: neighbours in the input are none in the output.
bool crosses(const Step& step);

/// Whether rows are longer than the rings that they travel through.
bool passes_the_rings(const Step& step);

/// Whether a block's ring has no room for what it takes of the next tile beside its part of one.
bool has_no_room_beside(const Step& step);

/// Of contiguous runs: reads and writes share the bus; the shorter of the two runs sets its pace.
double run_efficiency(const Step& step);

/// Of what a kernel does besides, where most of a sector is read for nothing.
double work_beside_short_runs(const Step& step);

/// Of blocks that share an output.
double sharing_efficiency(const Step& step);

/// Blocks of a launch that a multiprocessor holds at a time, and whether there is but one wave of them.
struct Residents {
  double of_multiprocessor = 1;
  bool are_all_at_once = false;
};

/// Of a kernel, of what its runs and its blocks allow.
double share_of_body(const Step& step, const Residents& blocks);

/// How much longer blocks wait for loads than sums of whole packs do.
double wait_for_loads(const Step& step);

}  // namespace ndfold
