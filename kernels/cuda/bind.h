// From a step to a launch: numbers that the kernels read, and the shape of the grid. Plain host code, no CUDA.
#pragma once
#include "kernels/cuda/arguments.h"

namespace ndfold::cuda {

/// A kernel, or none, and the most threads that its blocks may have.
struct Found {
  Kernel kernel = nullptr;
  int threads = 0;
};

struct Pointers {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::byte* workspace = nullptr;
};

struct LaunchShape {
  Index grid_x = 1, grid_y = 1;
  int threads = kWarp;  ///< whole warps
  int cluster = 1;      ///< blocks along x
  Index shared_bytes = 0;
  bool cooperative = false;
};

/// What a kernel's choice depends on besides its key.
struct Layout {
  bool dense = false;      ///< elementwise, permute: packs are neighbours in the input
  bool same_axis = false;  ///< permute: one axis is nearest on both sides
};

struct Bound {
  Arguments arguments;
  LaunchShape launch;
  Layout layout;
};

/// `most_threads`: of a block of the kernel. Nothing but speed depends on how many threads a block has.
Bound bind(const Step& step, const Pointers& pointers, int most_threads);

/// How the step's buffers lie, before a kernel is chosen.
Layout layout_of(const Step& step);

Divider divide_by(Index divisor);

}  // namespace ndfold::cuda
