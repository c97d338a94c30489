// How each layout is said by strides.
#include "tests/support/views.h"

namespace ndfold::test {
namespace {

AxisOrder identity_order(std::size_t rank) {
  AxisOrder order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// Strides with the axes in `order` from outermost to innermost, `step` elements apart, and `pad` more after each row.
Sizes ordered_strides(const Sizes& sizes, const AxisOrder& order, Index step = 1, Index pad = 0) {
  Sizes strides(sizes.size());
  Index next = step;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next = next * std::max<Index>(sizes[order[i]], 1) + pad;
  }
  return strides;
}

/// A non-empty random set of axes, as bits (no bits when there are no axes).
std::uint64_t random_set(std::size_t rank, std::uint64_t seed) {
  return rank == 0 ? 0 : 1 + hash(seed) % ((std::uint64_t{1} << std::min<std::size_t>(rank, 63)) - 1);
}

Sizes strides_for(const Sizes& sizes, Layout layout, std::uint64_t seed) {
  const std::size_t rank = sizes.size();
  const AxisOrder forward = identity_order(rank);
  const AxisOrder backward(forward.rbegin(), forward.rend());
  const std::uint64_t set = random_set(rank, seed);
  Sizes strides = row_major_strides(sizes);
  switch (layout) {
    case Layout::row_major: return strides;
    case Layout::column_major: return ordered_strides(sizes, backward);
    case Layout::permuted: return ordered_strides(sizes, random_order(rank, seed));
    case Layout::stepped: return ordered_strides(sizes, random_order(rank, seed), 2 + static_cast<Index>(seed % 2));
    case Layout::padded: return ordered_strides(sizes, forward, 1, 1 + static_cast<Index>(seed % 7));
    case Layout::window: return Sizes(rank, 1);
    case Layout::reversed:
      for (std::size_t i = 0; i < rank; ++i) strides[i] *= set >> i & 1 ? -1 : 1;
      return strides;
    case Layout::broadcast:
      for (std::size_t i = 0; i < rank; ++i) strides[i] *= set >> i & 1 ? 0 : 1;
      return strides;
    case Layout::garbage:
      for (std::size_t i = 0; i < rank; ++i)
        if (sizes[i] <= 1)
          strides[i] = i % 2 == 0 ? std::numeric_limits<Index>::max() : std::numeric_limits<Index>::min();
      return strides;
  }
  return strides;
}

}  // namespace

AxisOrder random_order(std::size_t rank, std::uint64_t seed) {
  AxisOrder order = identity_order(rank);
  for (std::size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[hash(seed + i) % i]);
  return order;
}

ViewDesc lay_out(DType type, const Sizes& sizes, Layout layout, std::uint64_t seed) {
  return {.dtype = type, .sizes = sizes, .strides = strides_for(sizes, layout, seed)};
}

std::vector<AxisSet> all_axis_sets(int rank) {
  std::vector<AxisSet> sets;
  for (unsigned set = 0; set < 1u << rank; ++set) {
    std::vector<int> axes;
    for (int axis = 0; axis < rank; ++axis)
      if (set >> axis & 1) axes.push_back(axis);
    sets.emplace_back(axes);
  }
  return sets;
}

Sizes output_sizes(const Sizes& sizes, const AxisSet& axes, bool keep_axes) {
  const auto reduced = reduced_axes(static_cast<int>(sizes.size()), axes);
  Sizes left;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!reduced[i]) left.push_back(sizes[i]);
    if (reduced[i] && keep_axes) left.push_back(1);
  }
  return left;
}

}  // namespace ndfold::test
