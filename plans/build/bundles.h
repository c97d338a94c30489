// What bundles in shared memory take there, and how many blocks of a multiprocessor have room for theirs.
#pragma once
#include "plans/build/geometry.h"

#include <algorithm>

namespace ndfold {

inline constexpr Index kArrivalBytes = 64;  // kernels/cuda/arguments.h, as all of these
inline constexpr Index kMostPlaces = 4;     // that bundles travel through
inline constexpr Index kUnitBytes = 16;     // of bulk copies
inline constexpr Index kKeptBytes = 96;     // of numbers of a row that a lane of a softmax keeps
inline constexpr Index kOwnLoops = 7;       // loads of a lane, up to which each number has a loop: bundle_folds.h

inline Index place_bytes(Index bundle_bytes) { return round_up(bundle_bytes, kUnitBytes) + kUnitBytes; }

/// Places of a block, at most `most`, where as many blocks have `beside` bytes each besides.
inline Index places_of(Index blocks, Index bundle_bytes, Index most, const DeviceFacts& device, Index beside = 0) {
  const Index room = shared_bytes_for(blocks, device) - kArrivalBytes - beside;
  return std::min(most, std::max<Index>(0, room) / place_bytes(bundle_bytes));
}

}  // namespace ndfold
