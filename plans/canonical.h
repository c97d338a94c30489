// The canonical layout: the one door through which shapes and strides enter the planner.
#pragma once
#include <ndfold/step.h>

#include <vector>

namespace ndfold {

/// An axis as the caller has it. `out` as in Axis.
struct RoleAxis {
  Axis axis;
  bool reduced = false;
};

/// How a reduced axis's `out` is to be read.
enum class ReducedOut : std::uint8_t {
  unused,        ///< a plain reduction
  index_weight,  ///< argmax, argmin: weight in the row-major index
  written,       ///< softmax: an output stride
};

/// Kept and reduced axes, each from far to near in the input (stride 0 first), neighbours joined, no axis of size 1.
struct Canonical {
  std::vector<Axis> kept, reduced;
  Index in_offset = 0;  ///< of the first element, after flips
  Index out_offset = 0;
  Index index_offset = 0;  ///< argmax, argmin: added to every index
  Index repeat = 1;        ///< each element stands for this many (stride-0 reduced axes of a plain reduction)
  friend bool operator==(const Canonical&, const Canonical&) = default;

  Index outputs() const;           ///< kept elements
  Index reduced_elements() const;  ///< elements folded into each, repeats not counted
};

/// Law (tests/plans/canonical_test.cpp): for every output offset the same input offsets are read, counted with repeats.
/// All sizes ≥ 1, and no sum of size × stride overflows: the caller has checked both.
Canonical canonicalize(std::vector<RoleAxis> axes, ReducedOut role);

/// The axes in the caller's order, without those of size 1: not sorted, flipped or joined. What the literal chain
/// follows.
Canonical literal(const std::vector<RoleAxis>& axes);

/// Product of the sizes.
Index elements(const std::vector<Axis>& axes);

}  // namespace ndfold
