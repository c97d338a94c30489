// Turns schedules into calls of kernels, and makes them. All that can be known before addresses is, when a plan is
// made: a call of [8,16] took a fifth of its time to find out anew.
#pragma once
#include <ndfold/status.h>
#include <ndfold/workers.h>

#include "kernels/cpu/catalog.h"
#include "plans/schedule.h"

#include <vector>

namespace ndfold::cpu {

/// A schedule's steps: kernels found, and bound to all but addresses.
struct Program {
  struct Call {
    Kernel kernel;
    Arguments bound;  ///< axes are the schedule's, which has to outlive the program
    Buffer in, out, values;
    Index in_bytes = 0, out_bytes = 0;  ///< from where a buffer begins to the step's first element
    double worth = 0;                   ///< tasks, if there were no end of threads
  };
  std::vector<Call> calls;
};

/// For the instruction set of this process.
Result<Program> prepare(const Schedule& schedule);

struct Pointers {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::byte* workspace = nullptr;  ///< schedule.workspace_bytes bytes
};

/// Allocates nothing. `workers` may be null: default_workers() then, started only when a step is large enough to share.
void run(const Program& program, const Pointers& pointers, Workers* workers);

}  // namespace ndfold::cpu
