// Lines of whole packs, which kernels take without looking for ends (kernels/cuda/whole_lines.h).
#pragma once
#include <ndfold/device.h>

#include "plans/problem.h"

namespace ndfold {

/// The folds that have kernels for many ways to lie in memory: kernels/cuda/catalog.cmake. Others have those that do
/// for all of them.
bool has_many_kernels(const Problem&);

/// Whether a GPU's outputs are folded from whole vectors of neighbours each, and a softmax writes them as such.
bool has_whole_lines(const Problem&, const DeviceFacts&);

/// The same, of lines that the registers of a warp hold.
bool suits_lines(const Problem&, const DeviceFacts&);

}  // namespace ndfold
