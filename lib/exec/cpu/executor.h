// Runs a schedule on the CPU: binds buffers, finds kernels, hands blocks to workers. Allocates nothing.
#pragma once
#include <ndfold/status.h>
#include <ndfold/workers.h>

#include "plans/schedule.h"

#include <cstddef>

namespace ndfold::cpu {

/// `workspace` has schedule.workspace_bytes bytes. `workers` may be null: default_workers() then, started only when a
/// step is large enough to share.
Status run(const Schedule& schedule, const std::byte* in, std::byte* out, std::byte* workspace, Workers* workers);

}  // namespace ndfold::cpu
