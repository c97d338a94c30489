// The CPU's kernels, by the key that a step names them with: one catalog for each instruction set they are built for.
#pragma once
#include <ndfold/step.h>

#include "kernels/cpu/arguments.h"

#include <string_view>

namespace ndfold::cpu {

struct Kernel {
  Run run = nullptr;   ///< nothing when the catalog has no such kernel
  Index blocks = 0;    ///< independent blocks of this step
  Index together = 1;  ///< so many of them share lanes: apart, most lanes would idle
  Index stretch = 1;   ///< so many of them read memory in one stretch after the other: who takes fewer, shorter ones
  Run of_tiles = nullptr;  ///< what `run` calls for what it brought together: Arguments::of_tiles
};

struct Catalog {
  /// The kernel for `key` over `step`, and how many blocks it has.
  Kernel (*find_kernel)(const KernelKey& key, const Arguments& step);
  /// sizeof a state, as a workspace holds it; 0 when the catalog has no such fold.
  Index (*state_size)(FoldKind fold, DType accumulate);
};

}  // namespace ndfold::cpu
