// What crosses from the executor into a kernel: pointers and numbers, no library types, so that kernels compiled for
// different instruction sets share no inline code with anybody.
#pragma once
#include <ndfold/step.h>

#include <cstddef>

namespace ndfold::cpu {

struct AxisList {
  const Axis* axes = nullptr;
  int rank = 0;
};

struct Arguments;

/// Runs the blocks [first, last) of a step. Blocks are independent; their results do not depend on how they are
/// grouped.
using Run = void (*)(const Arguments&, Index first, Index last);

/// A step with its buffers. `in` and `out` already include the step's offsets.
struct Arguments {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  const std::byte* values = nullptr;
  AxisList kept, reduced;
  MapKind map = MapKind::none;
  DType input = DType::f32, output = DType::f32;
  SinkKind sink = SinkKind::store;
  Residency residency = Residency::none;
  Index part = 0, parts = 1;
  bool outputs_side_by_side = false;  ///< states of columns; else those of an output's parts are
  Index panel = 0;                    ///< elements of a columns block along the innermost kept axis; 0 for rows
  Index repeat = 1, count = 0, ddof = 0, index_offset = 0;
  double scale = 1, alpha = 1;
  bool past_caches = false;       ///< the step moves more than the caches hold: stores had better not go through them
  bool from_memory = false;       ///< it reads more than the caches hold
  Index waiting_bytes = 1 << 20;  ///< more powers than these had better be made twice than wait for their sum
  Run of_tiles = nullptr;         ///< what folds columns that a kernel brought together
};

/// After size-1 axes are gone every axis has at least two elements, and no tensor has 2^63: 62 axes are the most there
/// is.
inline constexpr int kMostAxes = 64;

/// Elements that a core converts or gathers at a time: 4 to 8 KiB, in L1 with room to spare.
inline constexpr Index kChunk = 1024;

/// Summation trees: leaves of at most kChunk elements of a row, or kLeafRows of a column, kLongLeafRows of which one
/// look is enough: where a leaf ends a machine reads nothing ahead (sums of [16384,1000] f32 axis 0 on a Zen 5: 42 GB/s
/// with leaves of 32 rows, 44 of 64); docs/numerics.md.
inline constexpr Index kLeafRows = 32, kLongLeafRows = 64;

}  // namespace ndfold::cpu

namespace ndfold::folds {}

/// The kernels' own namespace. Every instruction set's objects rename it, and folds with it (kernels/CMakeLists.txt).
namespace ndfold::simd {
using namespace cpu;
using namespace folds;
}  // namespace ndfold::simd
