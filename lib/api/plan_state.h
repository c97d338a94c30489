// What a ReducePlan shares between its copies.
#pragma once
#include <ndfold/plan.h>

#include "lib/exec/cpu/executor.h"
#include "lib/exec/cuda/executor.h"
#include "plans/choose.h"

namespace ndfold {

struct PlanState {
  Request request;
  Problem problem;
  Choice choice;
  Extent in_extent, out_extent;
  bool may_be_in_place = false;  ///< a softmax whose views are the same
  Status runnable;               ///< why the plan's device cannot run it here: plans may be made for any machine
  cpu::Program cpu_program;      ///< on a CPU
  cuda::Program program;         ///< on a GPU that can
};

Result<ReducePlan> make_plan(Request request);

/// Approximate bytes that a plan holds.
std::size_t footprint(const PlanState& state);

/// The one thing a workspace has to be besides large enough.
inline constexpr std::size_t kWorkspaceAlignment = WorkspaceLayout::kAlignment;

}  // namespace ndfold
