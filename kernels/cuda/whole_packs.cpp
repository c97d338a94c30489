#include "kernels/cuda/whole_packs.h"

#include <ndfold/kept_columns.h>
#include <ndfold/travelling.h>

#include "kernels/cuda/catalog.h"
#include "kernels/cuda/layouts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace ndfold::cuda {
namespace {

// Of a block's reduction that takes one look: [16384,16384] bf16 takes 134 us, usually 123.
constexpr Index kLongestWholeLine = 8192;

// Lanes that share a line in a kernel for lines; 0 where none takes such a step.
Index lanes_of_line(const Bound& bound) {
  const Arguments& to = bound.arguments;
  const Index threads = bound.launch.threads, blocks = bound.launch.cluster;
  if (to.tiles >= std::numeric_limits<std::int32_t>::max() / 2) return 0;
  if (to.scope == Scope::cluster) return to.map != MapKind::none && to.parts == blocks ? threads * blocks : 0;
  if (to.parts != 1) return 0;
  return to.scope == Scope::lanes ? to.lanes : to.scope == Scope::block ? threads : 0;
}

// Packs of a line that blocks keep: in registers, and beyond them in what shared memory the step asks for.
Index packs_of_long_line(const Found& found, const Bound& bound) {
  const Index lanes = lanes_of_line(bound), threads = bound.launch.threads;
  const Index places = bound.arguments.tile_bytes / kVectorBytes;
  return lanes * found.packs_of_long_line + places / threads * lanes + places % threads;
}

// Whether the results of a line lie as its elements do.
bool results_lie_alike(const Step& step) {
  return std::all_of(step.reduced.begin(), step.reduced.end(),
                     [](const Axis& axis) { return axis.in == axis.out || axis.size == 1; });
}

// With room for `bytes` where places stand; nothing where there is none.
StepKernel with_places(Kernel kernel, Index bytes) {
  constexpr Index kMostBytes = 96 * 1024;  // a block of any device since sm_80 may have 99 KiB
  const Index wanted = kExchangeBytes + ceil_divide(bytes, kVectorBytes) * kVectorBytes;
  return wanted <= kMostBytes ? StepKernel{kernel, wanted} : StepKernel{};
}

// A kernel that looks up where the packs of a lane lie, if a line is more than one run.
StepKernel with_places_of_packs(Kernel kernel, const Bound& bound, int packs_of_lane) {
  const Arguments& to = bound.arguments;
  if (kernel == nullptr || to.walk.rank == 0) return {kernel, bound.launch.shared_bytes};
  const Index lanes = to.scope == Scope::lanes ? to.lanes : bound.launch.threads;
  return with_places(kernel, lanes * packs_of_lane * (to.results_lie_alike ? 1 : 2) * static_cast<Index>(sizeof(int)));
}

// The kernel for lines that are whole packs wherever one begins with a whole pack, as is what is written of them.
StepKernel kernel_of_whole_lines(const Step& step, const Found& found, const Bound& bound) {
  const Arguments& to = bound.arguments;
  auto others = numbers_of(step.reduced);
  take_last(others);
  const auto kept = numbers_of(step.kept);
  others.insert(others.end(), kept.begin(), kept.end());
  const auto keeps_packs = [&](const AxisNumbers& axis) { return axis.out % bound.pack == 0; };
  const Index runs = to.reduced / std::max<Index>(1, to.lane_axis.size);
  const bool maps = to.map != MapKind::none, by_lanes = to.scope == Scope::lanes;
  const Index lanes = lanes_of_line(bound);
  if (!maps && !by_lanes && !found.looks_twice && to.lane_axis.size > kLongestWholeLine) return {};
  const bool fits = to.whole_runs && lanes > 0 && to.packs_of_run * runs <= lanes * found.packs_of_line &&
                    spans_few(step.reduced, bound.pack);
  const bool stores =
      !maps || bound.pack == 1 || (to.lane_axis.out == 1 && std::all_of(others.begin(), others.end(), keeps_packs));
  if (!fits || !stores) return {};
  const bool many = to.tiles > bound.launch.grid_y * (bound.launch.threads / lanes);
  const bool is_short = by_lanes && many && to.packs_of_run * runs <= lanes && found.short_lines != nullptr;
  return with_places_of_packs(is_short ? found.short_lines : found.whole_lines, bound, found.packs_of_line);
}

// Lines that a block or a cluster's take one at a time, wherever in a pack they begin.
bool are_long_lines(const Found& found, const Bound& bound) {
  const Arguments& to = bound.arguments;
  const AxisNumbers& line = to.lane_axis;
  const bool of_neighbours = to.walk.rank == 0 && line.in == 1 && line.out == 1;
  const bool alone = to.scope != Scope::lanes && bound.launch.threads >= 2 * bound.pack;  // a lane an element at ends
  return found.long_lines != nullptr && of_neighbours && alone && line.size >= 2 * bound.pack &&
         line.size / bound.pack <= packs_of_long_line(found, bound);
}

// The kernel for columns of which registers keep a part. Where packs are cut the usual one takes them, and has room for
// all that a block has of a panel.
StepKernel kernel_of_tall_columns(const Found& found, Bound& bound) {
  Arguments& to = bound.arguments;
  const Index meeting = tall_meeting_bytes(bound.launch.threads, to.lanes, bound.launch.cluster);
  const StepKernel kernel = {found.tall_columns, to.tile_bytes + meeting};
  to.tile_bytes = to.part * to.lanes * bound.pack * bound.element_bytes;
  bound.kernel(KernelOf::all).shared_bytes = kExchangeBytes + to.tile_bytes;
  return kernel;
}

Index runs_of(const Arguments& to) { return to.reduced / std::max<Index>(1, to.lane_axis.size); }

// With room for where some runs begin.
StepKernel with_places_of_runs(Kernel kernel, const Bound& bound) {
  const Index runs = std::min<Index>(kRunsOfTable, runs_of(bound.arguments));
  const Index packs = ceil_divide(runs * static_cast<Index>(sizeof(std::int32_t)), kVectorBytes);
  return {kernel, bound.launch.shared_bytes + packs * kVectorBytes};
}

// The kernel for runs that are whole packs wherever the first one is, and room for the places of some.
StepKernel kernel_of_whole_runs(const Step& step, const Found& found, const Bound& bound) {
  const Arguments& to = bound.arguments;
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  const bool fits = found.whole_runs != nullptr && to.whole_runs && to.part % bound.pack == 0 &&
                    to.reduced / bound.pack < kMost / 2 && spans_few(step.reduced, bound.pack) &&
                    (to.scope == Scope::lanes || to.scope == Scope::block);
  if (!fits || (found.in_order && !rises(step.reduced))) return {};
  return with_places_of_runs(found.whole_runs, bound);
}

// Packs at the ends of runs find in a cache what those within left there: some 64 KiB of a block's, whole batches.
// Where runs are so long that there would be fewer than lanes, what they read again is little.
void take_together(Bound& bound) {
  constexpr Index kBatches = 4;
  const Index within = bound.within_run.packs, at_ends = bound.cover_any.at_ends.packs;
  if (within == 0) return;
  const bool by_lanes = bound.arguments.scope == Scope::lanes;  // else by a block, also a part of a line
  const Index lanes = by_lanes ? bound.arguments.lanes : bound.launch.threads, batch = lanes * kFewLoads;
  const Index runs = std::max(ceil_divide(kBatches * batch, within), ceil_divide(lanes, at_ends));
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  const Index together = ceil_divide(runs * within, batch) * batch;
  bound.within_run.together = static_cast<int>(std::min(together, kMost));
  for (Cover* const cover : {&bound.cover_units, &bound.cover_any})
    cover->at_ends.together = static_cast<int>(std::min(ceil_divide(together * cover->at_ends.packs, within), kMost));
}

// Packs that cover runs, wherever they begin. `pack`: as many elements as load at once.
void cover_cut_runs(const Step& step, const Found& found, Index pack, Bound& bound) {
  auto others = numbers_of(step.reduced);
  const AxisNumbers run = take_last(others);
  const auto kept = numbers_of(step.kept);
  others.insert(others.end(), kept.begin(), kept.end());
  bound.run_unit = pack;
  for (const AxisNumbers& axis : others) bound.run_unit = std::gcd(bound.run_unit, axis.in);
  bound.begins_alike = std::all_of(others.begin(), others.end(),
                                   [&](const AxisNumbers& axis) { return (axis.in - axis.out) % pack == 0; });
  const Arguments& to = bound.arguments;
  const Index within = found.two_lists ? std::max<Index>(0, run.size / pack - 1) : 0;
  const auto share = [&](Index packs) {
    return PacksOfRun{.packs = packs, .part = ceil_divide(runs_of(to) * packs, to.parts), .by = divide_by(packs)};
  };
  const auto cover = [&](Index before) {
    const Index packs = ceil_divide(run.size + before, pack);
    return Cover{packs, divide_by(packs), share(packs - within)};
  };
  bound.cover_units = cover(pack - bound.run_unit);
  bound.cover_any = cover(pack - 1);
  bound.within_run = share(within);
  take_together(bound);
}

// Where registers have room for a row.
StepKernel of_softmax(const Step& step, const Found& found, Bound& bound) {
  const Arguments& to = bound.arguments;
  const Index lanes = lanes_of_line(bound), room = lanes * found.packs_of_cut_runs;
  if (to.lane_axis.out != 1 || to.scope == Scope::cluster || lanes == 0 || !spans_few(step.reduced, 1)) return {};
  for (Cover* const cover : {&bound.cover_units, &bound.cover_any})
    if (cover->packs * runs_of(to) > room) *cover = {};
  if (bound.cover_units.packs == 0) return {};
  constexpr Index kPlaceBytes = 2 * sizeof(int);
  return with_places(found.cut_runs, room * (kPlaceBytes + (to.results_lie_alike ? 0 : Index{sizeof(int)})));
}

// Where some pack lies within the tensor.
StepKernel of_reduction(const Step& step, const Found& found, const Bound& bound) {
  const Arguments& to = bound.arguments;
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max() / 2;
  const bool is_near = to.scope == Scope::lanes || to.scope == Scope::block;
  const Index pack = kVectorBytes / bound.element_bytes;
  const bool has_packs = to.reach_to - to.reach_from >= 2 * pack && bound.cover_any.packs * runs_of(to) < kMost;
  const Reach reduced = reach_of(step.reduced);
  if (!is_near || !has_packs || reduced.high - reduced.low > kMost) return {};
  if (found.in_order && !rises(step.reduced)) return {};
  return with_places_of_runs(found.cut_runs, bound);
}

}  // namespace

void find_ends(const Step& step, const Found& found, Bound& bound) {
  if (step.kernel.body != Body::rows || bound.bundles) return;
  const Index pack = std::max<Index>(1, kVectorBytes / bound.element_bytes);
  const Reach kept = reach_of(step.kept), reach = reach_of(step);
  Arguments& to = bound.arguments;
  to.inside_from = kept.low + 2 * pack;  // a pack that covers nothing of its run may begin one later
  to.inside_to = kept.high - 2 * pack;
  to.reach_from = reach.low;
  to.reach_to = reach.high;
  to.results_lie_alike = results_lie_alike(step);
  cover_cut_runs(step, found, pack, bound);
}

namespace {

// Whether all results lie in whole packs.
bool stores_packs(const Step& step, const Bound& bound) {
  const bool columns = step.kernel.body == Body::columns;
  auto others = numbers_of(columns ? step.reduced : step.kept);
  auto along = numbers_of(columns ? step.kept : step.reduced);
  const bool side_by_side = take_last(along).out == 1;
  others.insert(others.end(), along.begin(), along.end());
  return side_by_side &&
         std::all_of(others.begin(), others.end(), [&](const AxisNumbers& axis) { return axis.out % bound.pack == 0; });
}

// With room for where runs of a row begin, or rows of columns along several axes.
StepKernel kernel_that_travels(const Step& step, Kernel kernel, Index pack, const Bound& bound) {
  const Arguments& to = bound.arguments;
  const bool columns = step.kernel.body == Body::columns, is_looked_up = to.walk.rank > (columns ? 1 : 0);
  if (kernel == nullptr || (is_looked_up && !spans_few(step.reduced, pack))) return {};
  const Index before = travelling_bytes_before(step, step.launch.block, static_cast<int>(pack));
  const Index places = is_looked_up ? travelling_table_bytes(to.part, columns ? 1 : to.lane_axis.size) : 0;
  return {kernel, before + places + step.launch.shared_bytes, step.launch.block};
}

// The kernel for rows that are joined and travel: lines begin anywhere in a pack, as their results do.
StepKernel kernel_of_joined(const Step& step, const Found& found, Bound& bound) {
  const Index pack = kVectorBytes / bound.element_bytes;
  const std::span<const Axis> lines = std::span(step.kept).first(step.kept.size() - 1);
  bound.joins = true;
  bound.begins_anywhere = bound.begins_alike =
      std::all_of(lines.begin(), lines.end(), [&](const Axis& axis) { return (axis.in - axis.out) % pack == 0; });
  return bound.begins_alike ? kernel_that_travels(step, found.travelling, pack, bound) : StepKernel{};
}

// Whether a row travels as what lies side by side on both sides.
bool travels_in_line(const Step& step, const Bound& bound) {
  const Arguments& to = bound.arguments;
  return step.kernel.body == Body::rows && to.walk.rank == 0 && to.lane_axis.in == 1 && to.lane_axis.out == 1;
}

// The kernel for rows or columns that travel. A line's ends may be no whole packs, if its results lie as they do.
StepKernel kernel_of_travelling(const Step& step, const Found& found, Bound& bound) {
  if (travels_joined(step)) return kernel_of_joined(step, found, bound);
  const Arguments& to = bound.arguments;
  bound.begins_anywhere = travels_in_line(step, bound) && bound.begins_alike;
  const bool in_packs = bound.pack > 1 && !travels_by_sectors(step) && to.whole_runs &&
                        to.lane_axis.size % bound.pack == 0 && stores_packs(step, bound);
  return bound.begins_anywhere || in_packs ? kernel_that_travels(step, found.travelling, bound.pack, bound)
                                           : StepKernel{};
}

// The kernel for rows, or those that are joined, wherever in a pack elements and results begin. Of joined f32 that take
// turns elements one by one are sooner: [1000,5000,7] axis 1 133 us, 157 so.
StepKernel kernel_that_travels_apart(const Step& step, const Found& found, const Bound& bound) {
  const Index pack = kVectorBytes / bound.element_bytes;
  const bool takes_turns = bound.arguments.tiles > bound.launch.grid_y;
  const bool suits = travels_joined(step) ? bound.element_bytes < 4 || !takes_turns : travels_in_line(step, bound);
  return suits ? kernel_that_travels(step, found.travelling_apart, pack, bound) : StepKernel{};
}

}  // namespace

StepKernel kernel_of_whole_packs(const Step& step, const Found& found, Bound& bound) {
  if (step.kernel.residency == Residency::ring) return kernel_of_travelling(step, found, bound);
  if (found.tall_columns != nullptr)
    return keeps_tall_sectors(step) ? StepKernel{} : kernel_of_tall_columns(found, bound);
  if (bound.begins_alike && are_long_lines(found, bound)) {
    bound.begins_anywhere = true;
    return {found.long_lines, bound.launch.shared_bytes};
  }
  const StepKernel of_lines = kernel_of_whole_lines(step, found, bound);
  return of_lines.kernel != nullptr ? of_lines : kernel_of_whole_runs(step, found, bound);
}

StepKernel kernel_of_cut_lines(const Step& step, const Found& found, const Bound& bound) {
  if (step.kernel.residency == Residency::ring) return kernel_that_travels_apart(step, found, bound);
  const Arguments& to = bound.arguments;
  const AxisNumbers& line = to.lane_axis;
  const bool of_neighbours = to.walk.rank == 0 && line.in == 1 && (to.map == MapKind::none || line.out == 1);
  const Index lanes = lanes_of_line(bound), packs = line.size / bound.pack;
  const bool fits = line.size >= 2 * bound.pack && lanes > 1 && packs <= lanes * found.packs_of_line;
  if (of_neighbours && fits && !(found.in_order && !rises(step.reduced)))
    return {found.cut_lines, bound.launch.shared_bytes};
  if (!are_long_lines(found, bound)) return {};
  const Index more = bound.launch.threads * kVectorBytes;  // its lanes keep one pack less in registers
  return {found.long_lines_apart, bound.launch.shared_bytes + more};
}

StepKernel kernel_of_cut_runs(const Step& step, const Found& found, Bound& bound) {
  if (found.cut_runs == nullptr || bound.arguments.lane_axis.in != 1) return {};
  return bound.arguments.map == MapKind::none ? of_reduction(step, found, bound) : of_softmax(step, found, bound);
}

StepKernel kernel_of_elements(const Step& step, const Found& found, const Bound& bound) {
  if (step.kernel.residency == Residency::ring)
    return travels_by_sectors(step) ? StepKernel{} : kernel_that_travels(step, found.travelling_elements, 1, bound);
  const bool fits = bound.arguments.reduced <= lanes_of_line(bound) * found.elements_of_line;
  if (!fits || !spans_few(step.reduced, 1)) return {};
  return with_places_of_packs(found.elements, bound, found.elements_of_line);
}

}  // namespace ndfold::cuda
