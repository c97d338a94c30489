// What a ReducePlan shares between its copies.
#pragma once
#include <ndfold/plan.h>

#include "plans/choose.h"

namespace ndfold {

struct PlanState {
  Request request;
  Problem problem;
  Choice choice;
  Extent in_extent, out_extent;
  bool may_be_in_place = false;  ///< a softmax whose views are the same
};

Result<ReducePlan> make_plan(Request request);

/// Approximate bytes that a plan holds.
std::size_t footprint(const PlanState& state);

/// The one thing a workspace has to be besides large enough.
inline constexpr std::size_t kWorkspaceAlignment = WorkspaceLayout::kAlignment;

}  // namespace ndfold
