// Axes of a step in the order that the kernels want them.
#pragma once
#include "kernels/cuda/bind.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace ndfold::cuda {

inline Index product_of(const std::vector<Axis>& axes) {
  Index product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}
inline Index product_of(const std::vector<AxisNumbers>& axes) {
  Index product = 1;
  for (const AxisNumbers& axis : axes) product *= axis.size;
  return product;
}

/// How far elements lie from the first one, down and up: by strides of the input, or of the output.
struct Reach {
  Index low = 0, high = 0;
};
inline Reach reach_of(const std::vector<Axis>& axes, Index Axis::*stride = &Axis::in) {
  Reach reach;
  for (const Axis& axis : axes) (axis.*stride < 0 ? reach.low : reach.high) += (axis.size - 1) * axis.*stride;
  return reach;
}
/// All elements of a step.
inline Reach reach_of(const Step& step, Index Axis::*stride = &Axis::in) {
  const Reach kept = reach_of(step.kept, stride), reduced = reach_of(step.reduced, stride);
  return {kept.low + reduced.low, kept.high + reduced.high};
}

inline Index ceil_divide(Index a, Index b) { return (a + b - 1) / b; }
inline Index power_of_two(Index n) {
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Index>(n, 1))));
}

inline int whole_warps(int threads) { return (threads + kWarp - 1) / kWarp * kWarp; }

/// Without axes of size 1.
inline std::vector<AxisNumbers> numbers_of(const std::vector<Axis>& axes) {
  std::vector<AxisNumbers> numbers;
  for (const Axis& axis : axes)
    if (axis.size != 1)
      numbers.push_back({.size = axis.size, .in = axis.in, .out = axis.out, .value = 0, .by = divide_by(axis.size)});
  return numbers;
}

/// Packs of the fewest rows that are whole packs together, where they begin alike.
inline Index packs_together(Index columns, Index pack) { return columns / std::gcd(columns, pack); }

/// Removes and returns the last axis; one element when there is none.
inline AxisNumbers take_last(std::vector<AxisNumbers>& axes) {
  if (axes.empty()) return {.size = 1, .in = 1, .out = 1, .value = 0, .by = {}};
  const AxisNumbers last = axes.back();
  axes.pop_back();
  return last;
}

/// From far to near in the input (stride 0 first), neighbours joined.
inline std::vector<AxisNumbers> sorted_and_joined(std::vector<AxisNumbers> axes) {
  const auto distance = [](Index stride) {
    return stride == 0 ? std::numeric_limits<Index>::max() : stride < 0 ? -stride : stride;
  };
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const AxisNumbers& a, const AxisNumbers& b) { return distance(a.in) > distance(b.in); });
  std::vector<AxisNumbers> joined;
  for (const AxisNumbers& axis : axes) {
    const auto follows = [&](Index outer, Index inner) { return outer == inner * axis.size; };
    if (!joined.empty() && follows(joined.back().in, axis.in) && follows(joined.back().out, axis.out) &&
        follows(joined.back().value, axis.value)) {
      const Index size = joined.back().size * axis.size;
      joined.back() = axis;
      joined.back().size = size;
      joined.back().by = divide_by(size);
    } else {
      joined.push_back(axis);
    }
  }
  return joined;
}

/// `axes` from far to near; far ones go to to.far, from `first` on. Returns where the next may go.
inline int put_axes(Arguments& to, AxisGroup& group, const std::vector<AxisNumbers>& axes, int first = 0) {
  group.rank = static_cast<int>(axes.size());
  group.first_far = first;
  for (int i = 0; i < group.rank; ++i) {
    const AxisNumbers& axis = axes[static_cast<std::size_t>(group.rank - 1 - i)];
    (i < kNearAxes ? group.near[i] : to.far[first + i - kNearAxes]) = axis;
  }
  return first + std::max(0, group.rank - kNearAxes);
}

/// Whether places of packs, in packs, are numbers of 32 bits.
inline bool spans_few(const std::vector<Axis>& axes, Index pack) {
  Index in = 0, out = 0;
  for (const Axis& axis : axes) {
    in += (axis.size - 1) * std::abs(axis.in);
    out += (axis.size - 1) * std::abs(axis.out);
  }
  return std::max(in, out) / pack < std::numeric_limits<std::int32_t>::max();
}

/// Whether numbers of elements rise from one to the next, row-major.
inline bool rises(const std::vector<Axis>& axes) {
  Index nearer = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->size == 1) continue;
    if (axis->out <= nearer) return false;
    nearer += (axis->size - 1) * axis->out;
  }
  return true;
}

/// Kept and reduced axes together; values lie row-major over the kept ones.
inline std::vector<AxisNumbers> elementwise_axes(const Step& step) {
  std::vector<AxisNumbers> axes = numbers_of(step.kept);
  Index unit = 1;
  for (std::size_t i = axes.size(); i-- > 0; unit *= axes[i].size) axes[i].value = unit;
  const auto reduced = numbers_of(step.reduced);
  axes.insert(axes.end(), reduced.begin(), reduced.end());
  return sorted_and_joined(std::move(axes));
}

struct PermuteAxes {
  AxisNumbers lane;   ///< nearest in the output
  AxisNumbers cross;  ///< of the others, nearest in the input
  std::vector<AxisNumbers> others;
  bool same_axis = true;  ///< the lane axis is nearest in the input too
};

inline PermuteAxes permute_axes(const Step& step) {
  const auto near = [](Index stride) { return stride < 0 ? -stride : stride; };
  PermuteAxes axes{.lane = {}, .cross = {}, .others = sorted_and_joined(numbers_of(step.kept))};
  auto& rest = axes.others;
  if (rest.empty()) {
    axes.lane = take_last(rest);
    return axes;
  }
  const auto lane = std::min_element(
      rest.begin(), rest.end(), [&](const AxisNumbers& a, const AxisNumbers& b) { return near(a.out) < near(b.out); });
  axes.lane = *lane;
  rest.erase(lane);
  if (rest.empty()) return axes;
  axes.cross = take_last(rest);  // sorted: the last is nearest in the input
  axes.same_axis = axes.lane.in == 1 || axes.cross.in == 0 || near(axes.lane.in) < near(axes.cross.in);
  return axes;
}

}  // namespace ndfold::cuda
