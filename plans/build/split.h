// How a fold is shared by blocks or cores: split, and columns_first.
#pragma once
#include <ndfold/device.h>

#include "plans/problem.h"
#include "plans/schedule.h"

#include <string_view>

namespace ndfold {

/// The whole fold, and how many of its reduced elements a part had better have.
Step fold_to_share(std::string_view strategy, const Problem&, Body, const DeviceFacts&);
Index part_to_share(const Problem&, const DeviceFacts&, const Step& whole);

/// A GPU's lanes of a warp, or a few, merge the states of an output, unless it has very many.
void merge_by_lanes(Step& merge, const DeviceFacts&);

}  // namespace ndfold
