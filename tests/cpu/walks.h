// Axes and data for tests of walks: each element holds its own number, so that a visit names what was visited.
#pragma once
#include "kernels/cpu/arguments.h"
#include "tests/support/values.h"

#include <numeric>
#include <vector>

namespace ndfold::test {

inline cpu::AxisList list(const std::vector<Axis>& axes) { return {axes.data(), static_cast<int>(axes.size())}; }

/// A dense array's axes, some of them reversed, stepped over or in another order: `order` lists from far to near.
inline std::vector<Axis> axes_of(const std::vector<Index>& sizes, std::uint64_t seed) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); seed % 2 == 1 && i > 1; --i) std::swap(order[i - 1], order[hash(seed + i) % i]);
  std::vector<Axis> axes(sizes.size());
  Index stride = seed % 3 == 2 ? 2 : 1, weight = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    axes[order[i]].size = sizes[order[i]];
    axes[order[i]].in = seed % 5 == 4 ? -stride : stride;
    stride *= sizes[order[i]];
  }
  for (std::size_t i = sizes.size(); i-- > 0;) axes[i].out = weight, weight *= sizes[i];
  return axes;
}

/// The input offset of every element, in row-major order of the axes.
inline std::vector<Index> offsets_in(const std::vector<Axis>& axes) {
  std::vector<Index> sizes, strides;
  for (const Axis& axis : axes) sizes.push_back(axis.size), strides.push_back(axis.in);
  return offsets(sizes, strides);
}

/// Memory for offsets in [-most, most], where the element at offset o holds o; `zero()` is element (0, …, 0).
template <class T>
class Numbered {
 public:
  explicit Numbered(Index most) : most_(most), values_(static_cast<std::size_t>(2 * most + 1)) {
    for (Index o = -most; o <= most; ++o) values_[static_cast<std::size_t>(o + most)] = static_cast<T>(o);
  }
  const std::byte* zero() const { return reinterpret_cast<const std::byte*>(values_.data() + most_); }

 private:
  Index most_;
  std::vector<T> values_;
};

inline const std::vector<std::vector<Index>> kWalkShapes = {
    {},        {1},     {5},          {1023},      {1024},         {1025},   {5000},
    {3, 700},  {70, 3}, {2, 3, 4, 5}, {40, 2, 33}, {1, 7, 1, 200}, {130, 9}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
    {1500, 2},
};

}  // namespace ndfold::test
