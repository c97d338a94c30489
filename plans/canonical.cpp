#include "plans/canonical.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace ndfold {
namespace {

void drop_size_one(std::vector<RoleAxis>& axes) {
  std::erase_if(axes, [](const RoleAxis& a) { return a.axis.size == 1; });
}

// Reading an axis backwards from its other end visits the same pairs of input and output offsets.
void flip_negative(std::vector<RoleAxis>& axes, ReducedOut role, Canonical& result) {
  for (auto& [axis, reduced] : axes) {
    if (axis.in >= 0) continue;
    result.in_offset += (axis.size - 1) * axis.in;
    (reduced && role == ReducedOut::index_weight ? result.index_offset : result.out_offset) +=
        (axis.size - 1) * axis.out;
    axis.in = -axis.in;
    axis.out = -axis.out;
  }
}

// A stride-0 axis repeats its elements: a plain fold multiplies, argmax keeps the first, a softmax still has to write.
void resolve_repeats(std::vector<RoleAxis>& axes, ReducedOut role, Canonical& result) {
  if (role == ReducedOut::written) return;
  for (const auto& [axis, reduced] : axes)
    if (reduced && axis.in == 0) result.repeat *= axis.size;
  std::erase_if(axes, [](const RoleAxis& a) { return a.reduced && a.axis.in == 0; });
}

bool joins(const Axis& outer, const Axis& inner) {
  return outer.in == inner.size * inner.in && outer.out == inner.size * inner.out;
}

std::vector<Axis> sorted_and_joined(const std::vector<RoleAxis>& axes, bool reduced) {
  std::vector<Axis> sorted;
  for (const auto& a : axes)
    if (a.reduced == reduced) sorted.push_back(a.axis);
  const auto far = [](const Axis& a) {
    const Index distance = a.in == 0 ? std::numeric_limits<Index>::max() : a.in;
    return std::tuple(distance, a.out < 0 ? -a.out : a.out);
  };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Axis& a, const Axis& b) { return far(a) > far(b); });
  std::vector<Axis> joined;
  for (const Axis& axis : sorted) {
    if (!joined.empty() && joins(joined.back(), axis))
      joined.back() = {joined.back().size * axis.size, axis.in, axis.out};
    else
      joined.push_back(axis);
  }
  return joined;
}

}  // namespace

Index elements(const std::vector<Axis>& axes) {
  Index product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

Index Canonical::outputs() const { return elements(kept); }
Index Canonical::reduced_elements() const { return elements(reduced); }

Canonical canonicalize(std::vector<RoleAxis> axes, ReducedOut role) {
  Canonical result;
  drop_size_one(axes);
  resolve_repeats(axes, role, result);
  flip_negative(axes, role, result);
  result.kept = sorted_and_joined(axes, false);
  result.reduced = sorted_and_joined(axes, true);
  return result;
}

Canonical literal(const std::vector<RoleAxis>& axes) {
  Canonical result;
  for (const auto& [axis, reduced] : axes)
    if (axis.size != 1) (reduced ? result.reduced : result.kept).push_back(axis);
  return result;
}

}  // namespace ndfold
