// Turns schedules into launches. All that takes time or memory happens when a plan is made; a run launches.
#pragma once
#include "lib/exec/cuda/devices.h"
#include "plans/schedule.h"

#include <vector>

namespace ndfold::cuda {

/// A schedule's launches on one GPU: kernels found, loaded, and bound to all but addresses.
struct Program {
  int ordinal = 0;
  std::vector<Bound> launches;
};

/// A program, or why there is none.
struct Prepared {
  Status status;
  Program program;
  bool too_many_blocks = false;  ///< that have to be resident at once: a plan without cooperative launches will do
  bool too_wide_clusters = false;
};

/// For a device that check_device() found, as it is: the facts of a plan may be other ones.
Prepared prepare(const Schedule& schedule, int ordinal);

/// Launches into `stream`, a cudaStream_t of the program's GPU. Allocates, waits for and sets nothing.
Status run(const Program& program, const Pointers& pointers, void* stream);

/// In the order of `stream`, on GPU `ordinal`.
Result<void*> allocate(std::size_t bytes, int ordinal, void* stream);
void free(void* memory, int ordinal, void* stream);

}  // namespace ndfold::cuda
