#include "kernels/cuda/bind_bundles.h"

#include "kernels/cuda/layouts.h"

#include <algorithm>
#include <bit>

namespace ndfold::cuda {
namespace {

// `beside`: shared bytes after the places.
void put_places(const Step& step, Index stretch_bytes, Index beside, Arguments& to) {
  to.rows_of_bundle = static_cast<int>(step.kernel.tuning.panel_bytes / stretch_bytes);
  to.tile_bytes = place_bytes(to.rows_of_bundle * stretch_bytes);
  to.places = static_cast<int>((step.launch.shared_bytes - kArrivalBytes - beside) / to.tile_bytes);
}

}  // namespace

void bind_bundles(const Step& step, Bound& bound) {
  Arguments& to = bound.arguments;
  const Index length = to.lane_axis.size;
  put_places(step, length * bound.element_bytes, 0, to);
  to.whole_runs = length % bound.pack == 0;
  const Index loads = to.whole_runs ? length / bound.pack : length;
  const int even = std::countr_zero(static_cast<std::uint64_t>(loads)), warps = bound.launch.threads / kWarp;
  to.spacing_bits = std::clamp(to.lane_bits - even, 0, std::countr_zero(static_cast<unsigned>(warps)));
}

void bind_lines_in_bundles(const Step& step, Bound& bound) {
  Arguments& to = bound.arguments;
  auto walk = numbers_of(step.reduced);
  put_axes(to, to.walk, walk, put_axes(to, to.tile, numbers_of(step.kept)));
  const Index length = walk.front().in * walk.front().size;  // what is reduced lies within a line
  to.lane_axis = take_last(walk);
  to.columns = to.panels = length / to.reduced;
  to.by_panels = divide_by(to.panels);
  to.tiles = product_of(step.kept) / to.columns;
  to.lanes = step.kernel.tuning.lanes_per_row;
  to.lane_bits = std::countr_zero(static_cast<unsigned>(to.lanes));
  put_places(step, length * bound.element_bytes, walk.empty() ? 0 : table_bytes(to.reduced), to);
}

}  // namespace ndfold::cuda
