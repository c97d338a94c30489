#include "kernels/cuda/whole_packs.h"

#include "kernels/cuda/layouts.h"

#include <algorithm>
#include <limits>

namespace ndfold::cuda {
namespace {

constexpr Index kLongestWholeLine = 8192;  // of a block's reduction: [16384,16384] bf16 takes 134 us, usually 123

// Whether places of packs, in packs, are numbers of 32 bits.
bool spans_few(const std::vector<Axis>& axes, Index pack) {
  Index in = 0, out = 0;
  for (const Axis& axis : axes) {
    in += (axis.size - 1) * std::abs(axis.in);
    out += (axis.size - 1) * std::abs(axis.out);
  }
  return std::max(in, out) / pack < std::numeric_limits<std::int32_t>::max();
}

// Lanes that share a line in a kernel for lines; 0 where none takes such a step.
Index lanes_of_line(const Bound& bound) {
  const Arguments& to = bound.arguments;
  const Index threads = bound.launch.threads, blocks = bound.launch.cluster;
  if (to.tiles >= std::numeric_limits<std::int32_t>::max() / 2) return 0;
  if (to.scope == Scope::cluster) return to.map != MapKind::none && to.parts == blocks ? threads * blocks : 0;
  if (to.parts != 1) return 0;
  return to.scope == Scope::lanes ? to.lanes : to.scope == Scope::block ? threads : 0;
}

// Makes room for where the packs of a line lie, where it is more than one run. False where there is none.
bool has_places(const Step& step, int packs_of_lane, Bound& bound) {
  constexpr Index kMostBytes = 96 * 1024;  // a block of any device since sm_80 may have 99 KiB
  Arguments& to = bound.arguments;
  if (to.walk.rank == 0) return true;
  const auto lies_alike = [](const Axis& axis) { return axis.in == axis.out; };
  to.results_lie_alike = std::all_of(step.reduced.begin(), step.reduced.end(), lies_alike);
  const Index lanes = to.scope == Scope::lanes ? to.lanes : bound.launch.threads;
  const Index places = lanes * packs_of_lane * (to.results_lie_alike ? 1 : 2);
  const Index wanted =
      kExchangeBytes + ceil_divide(places * static_cast<Index>(sizeof(int)), kVectorBytes) * kVectorBytes;
  if (wanted > kMostBytes) return false;
  bound.launch.shared_bytes = std::max(bound.launch.shared_bytes, wanted);
  return true;
}

// The kernel for lines that are whole packs wherever one begins with a whole pack, as is what is written of them.
Kernel kernel_of_whole_lines(const Step& step, const Found& found, Bound& bound) {
  const Arguments& to = bound.arguments;
  auto others = numbers_of(step.reduced);
  take_last(others);
  const auto kept = numbers_of(step.kept);
  others.insert(others.end(), kept.begin(), kept.end());
  const auto keeps_packs = [&](const AxisNumbers& axis) { return axis.out % bound.pack == 0; };
  const Index runs = to.reduced / std::max<Index>(1, to.lane_axis.size);
  const bool maps = to.map != MapKind::none, by_lanes = to.scope == Scope::lanes;
  const Index lanes = lanes_of_line(bound);
  if (!maps && !by_lanes && to.lane_axis.size > kLongestWholeLine) return nullptr;
  const bool fits = to.whole_runs && lanes > 0 && to.packs_of_run * runs <= lanes * found.packs_of_line &&
                    spans_few(step.reduced, bound.pack);
  const bool stores =
      !maps || bound.pack == 1 || (to.lane_axis.out == 1 && std::all_of(others.begin(), others.end(), keeps_packs));
  if (!fits || !stores || !has_places(step, found.packs_of_line, bound)) return nullptr;
  const bool many = to.tiles > bound.launch.grid_y * (bound.launch.threads / lanes);
  const bool is_short = by_lanes && many && to.packs_of_run <= lanes && found.short_lines != nullptr;
  return is_short ? found.short_lines : found.whole_lines;
}

// Whether numbers of elements rise from one to the next, row-major.
bool rises(const std::vector<Axis>& axes) {
  Index nearer = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->size == 1) continue;
    if (axis->out <= nearer) return false;
    nearer += (axis->size - 1) * axis->out;
  }
  return true;
}

// The kernel for runs that are whole packs wherever the first one is, and room for the places of some.
Kernel kernel_of_whole_runs(const Step& step, const Found& found, Bound& bound) {
  const Arguments& to = bound.arguments;
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  const bool fits = found.whole_runs != nullptr && to.whole_runs && to.part % bound.pack == 0 &&
                    to.reduced / bound.pack < kMost / 2 && spans_few(step.reduced, bound.pack) &&
                    (to.scope == Scope::lanes || to.scope == Scope::block);
  if (!fits || (found.in_order && !rises(step.reduced))) return nullptr;
  const Index runs = std::min<Index>(kRunsOfTable, to.reduced / std::max<Index>(1, to.lane_axis.size));
  bound.launch.shared_bytes +=
      ceil_divide(runs * static_cast<Index>(sizeof(std::int32_t)), kVectorBytes) * kVectorBytes;
  return found.whole_runs;
}

}  // namespace

Kernel kernel_of_whole_packs(const Step& step, const Found& found, Bound& bound) {
  const Kernel of_lines = kernel_of_whole_lines(step, found, bound);
  return of_lines != nullptr ? of_lines : kernel_of_whole_runs(step, found, bound);
}

Kernel kernel_of_cut_lines(const Step& step, const Found& found, const Bound& bound) {
  const Arguments& to = bound.arguments;
  const AxisNumbers &line = to.lane_axis, &lines = to.tile.near[0];
  const bool maps = to.map != MapKind::none;
  const bool follow = to.walk.rank == 0 && line.in == 1 && (!maps || line.out == 1) && to.tile.rank <= 1 &&
                      (to.tile.rank == 0 || (lines.in == line.size && (!maps || lines.out == line.size)));
  const Index lanes = lanes_of_line(bound), packs = line.size / bound.pack;
  const bool fits = line.size >= 2 * bound.pack && lanes > 1 && packs <= lanes * found.packs_of_line;
  return follow && fits && (!found.in_order || rises(step.reduced)) ? found.cut_lines : nullptr;
}

Kernel kernel_of_elements(const Step& step, const Found& found, Bound& bound) {
  const bool fits = bound.arguments.reduced <= lanes_of_line(bound) * found.elements_of_line;
  return fits && spans_few(step.reduced, 1) && has_places(step, found.elements_of_line, bound) ? found.elements
                                                                                               : nullptr;
}

}  // namespace ndfold::cuda
