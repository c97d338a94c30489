// Layout makers: the same sizes, laid out in memory in every way that strides can say.
#pragma once
#include <ndfold/view.h>

#include "tests/support/values.h"

#include <numeric>
#include <string_view>

namespace ndfold::test {

using Sizes = std::vector<Index>;

enum class Layout {
  row_major,
  column_major,
  permuted,   ///< dense, axes in a random order
  stepped,    ///< permuted, every second or third element of each axis
  reversed,   ///< dense, a random non-empty set of axes runs backwards
  padded,     ///< row-major with a pitch
  broadcast,  ///< a random non-empty set of axes has stride 0
  window,     ///< neighbouring rows overlap
  garbage,    ///< row-major, but axes of size 1 have hostile strides
};

inline constexpr Layout kLayouts[] = {Layout::row_major, Layout::column_major, Layout::permuted,
                                      Layout::stepped,   Layout::reversed,     Layout::padded,
                                      Layout::broadcast, Layout::window,       Layout::garbage};

constexpr std::string_view name(Layout layout) {
  constexpr std::string_view kNames[] = {"row_major", "column_major", "permuted", "stepped", "reversed",
                                         "padded",    "broadcast",    "window",   "garbage"};
  return kNames[static_cast<int>(layout)];
}

/// No two elements share an address: fit for an output.
constexpr bool is_distinct(Layout layout) { return layout != Layout::broadcast && layout != Layout::window; }

using AxisOrder = std::vector<std::size_t>;

AxisOrder random_order(std::size_t rank, std::uint64_t seed);

ViewDesc lay_out(DType type, const Sizes& sizes, Layout layout, std::uint64_t seed = 1);

/// All 2^rank sets of axes.
std::vector<AxisSet> all_axis_sets(int rank);

/// The sizes of what is left after a reduction.
Sizes output_sizes(const Sizes& sizes, const AxisSet& axes, bool keep_axes = false);

}  // namespace ndfold::test
