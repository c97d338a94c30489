// A plan and a copy of its input, side by side on random data, ready to be timed.
#pragma once
#include "tools/timing.h"
#include "tools/work.h"

namespace ndfold::cli {

struct Race {
  std::vector<Timed> rows;  ///< they share the memory that they use; the last one is the copy
  std::string where;        ///< the CPU's threads, or the GPU's model
};

/// The copy has the same threads as the plan. `threads`: 0 is the process's default.
Result<Race> race_on_cpu(const Planned& planned, const ViewDesc& in, int threads);

/// Rows are recorded once and replayed (tools/gpu.h), with new memory each run until more went by than caches hold.
Result<Race> race_on_gpu(const Planned& planned, const ViewDesc& in, const DeviceFacts& gpu);

}  // namespace ndfold::cli
