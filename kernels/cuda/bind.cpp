#include "kernels/cuda/bind.h"

#include <ndfold/kept_columns.h>

#include "kernels/cuda/bind_bundles.h"
#include "kernels/cuda/bind_elementwise.h"
#include "kernels/cuda/layouts.h"
#include "kernels/cuda/sector_panels.h"
#include "kernels/cuda/whole_packs.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace ndfold::cuda {
namespace {

constexpr int kTileElements = 1024;  // of a permute: 32 × 32 where both sides are long (permute.h)
constexpr Index kTileSide = 32;

bool begin_alike(const Arguments& step, int pack) {
  const auto is_whole = [&](const AxisNumbers& axis) { return axis.in % pack == 0; };
  return std::all_of(std::begin(step.tile.near), std::end(step.tile.near), is_whole) &&
         std::all_of(std::begin(step.walk.near), std::end(step.walk.near), is_whole) &&
         std::all_of(std::begin(step.far), std::end(step.far), is_whole);
}

bool results_follow(const AxisGroup& tile) {
  const auto follows = [&](int i) { return tile.near[i].out == tile.near[i - 1].out * tile.near[i - 1].size; };
  return tile.rank <= 1 || (tile.rank <= kNearAxes && follows(1) && (tile.rank == 2 || follows(2)));
}

// `phase`: elements between the last whole pack in memory and the buffer's start.
void cover_runs(const Bound& bound, int phase, Arguments& to) {
  const int before = bound.runs_begin_alike ? phase : bound.pack - 1;
  to.packs_of_run = std::max<Index>(1, ceil_divide(to.lane_axis.size + before, bound.pack));
  to.by_packs = divide_by(to.packs_of_run);
  to.whole_runs = bound.pack == 1 ||
                  (bound.runs_begin_alike && phase == 0 && to.lane_axis.in == 1 && to.lane_axis.size % bound.pack == 0);
}

// As many lanes side by side as divide a block's threads, or all of them share one slot.
Index panels_of(const Bound& bound, int phase, Arguments& to) {
  const Index size = to.lane_axis.size, lanes = ceil_divide(size + phase, bound.columns);
  const Index dividing = bound.launch.threads & -bound.launch.threads;
  to.phase = phase;
  to.lanes = static_cast<int>(std::min({dividing, power_of_two(to.widest_panel / bound.columns), power_of_two(lanes)}));
  to.lane_bits = std::countr_zero(static_cast<unsigned>(to.lanes));
  const Index slots = std::max(1, bound.launch.threads >> to.lane_bits);
  to.rows_of_lane = static_cast<int>(std::min<Index>(ceil_divide(to.reduced, slots), kMostKeptRows));
  return ceil_divide(size + phase, std::min<Index>(to.widest_panel, static_cast<Index>(to.lanes) * bound.columns));
}

// Only packs are worth a panel that begins before the axis: lanes with columns apart cannot tell which those are.
void cover_columns(const Bound& bound, int phase, Arguments& to) {
  const Index outer = to.tiles / to.panels, planned = to.panels;
  const bool packs = bound.runs_begin_alike && to.lane_axis.in == 1;
  to.panels = panels_of(bound, packs ? phase : 0, to);
  if (bound.panels_are_fixed && to.panels != planned) to.panels = panels_of(bound, 0, to);
  to.by_panels = divide_by(to.panels);
  to.tiles = outer * to.panels;
  to.whole_runs = bound.pack == 1 || (packs && to.phase == phase);
}

// `nearer`: the axis before the first walked one.
void put_turns(Arguments& to, AxisNumbers nearer) {
  for (int i = 0; i < std::min(kNearAxes, to.walk.rank); ++i) {
    const AxisNumbers& axis = to.walk.near[i];
    to.turns[i] = {axis.in - nearer.size * nearer.in, axis.out - nearer.size * nearer.out};
    nearer = axis;
  }
}

void bind_rows(const Step& step, Bound& bound) {
  Arguments& to = bound.arguments;
  auto walk = numbers_of(step.reduced);
  to.lane_axis = take_last(walk);
  put_axes(to, to.walk, walk, put_axes(to, to.tile, numbers_of(step.kept)));
  put_turns(to, to.lane_axis);
  to.tiles = product_of(step.kept);
  to.lanes = step.kernel.tuning.lanes_per_row;
  to.lane_bits = static_cast<int>(std::bit_width(static_cast<unsigned>(to.lanes))) - 1;
}

void bind_columns(const Step& step, const Found& found, Bound& bound) {
  Arguments& to = bound.arguments;
  auto tiles = numbers_of(step.kept);
  to.lane_axis = take_last(tiles);
  put_axes(to, to.walk, numbers_of(step.reduced), put_axes(to, to.tile, tiles));
  put_turns(to, {.size = 0});
  const Reach reach = reach_of(step);
  to.reach_from = reach.low;
  to.reach_to = reach.high;
  to.group_bits = std::countr_zero(static_cast<unsigned>(step.kernel.tuning.lanes_per_row));
  Index planned = std::max<Index>(bound.columns, step.kernel.tuning.panel_bytes / bound.element_bytes);
  if (found.meeting_bytes != 0 || found.tall_sectors != nullptr)
    planned = power_of_two(planned);  // as lanes have, whether panels overlap or not
  const bool alike = step.parts > 1 && !maps_elements(step.kernel.sink);  // panels of blocks that wait for each other
  if (bound.shifted) {
    to.lanes = static_cast<int>((planned + bound.pack) / bound.pack);
    to.panels = ceil_divide(to.lane_axis.size, planned);
    to.columns = alike ? ceil_divide(to.lane_axis.size, to.panels) : std::min(planned, to.lane_axis.size);
    to.by_panels = divide_by(to.panels);
    to.tiles = product_of(tiles) * to.panels;
    return;
  }
  const bool wide = std::min(planned, to.lane_axis.size) >= Index{kWarp} * found.packs * bound.columns &&
                    planned > Index{bound.launch.threads} * bound.columns;
  if (wide) bound.columns *= to.packs_of_lane = found.packs;
  to.widest_panel = static_cast<int>(std::min(planned, Index{bound.launch.threads} * bound.columns));
  if (alike) {
    const Index sector = std::max<Index>(bound.columns, kSectorBytes / bound.element_bytes);
    const Index size = to.lane_axis.size, before = bound.pack - 1;  // of a buffer that begins within a pack
    const Index width = ceil_divide(size + before, ceil_divide(size, Index{to.widest_panel}));
    to.widest_panel = static_cast<int>(std::min<Index>(to.widest_panel, ceil_divide(width, sector) * sector));
  }
  to.columns = std::min<Index>(to.widest_panel, to.lane_axis.size);
  to.panels = ceil_divide(to.lane_axis.size, to.widest_panel);
  to.tiles = product_of(tiles) * to.panels;
  bound.panels_are_fixed = step.kernel.scope == Scope::grid;
}

// States of a panel meet, and in a cluster those of its blocks.
void bind_meeting(const Step& step, const Found& found, Bound& bound) {
  Arguments& to = bound.arguments;
  const Index of_lane = Index{bound.columns} * found.state_bytes;
  const Index spaced = bound.launch.threads + ceil_divide(bound.launch.threads, 8);
  to.tile_bytes = std::min(kMostMeetingBytes, spaced * of_lane);
  const Index wholes = step.kernel.scope == Scope::cluster ? to.columns * found.state_bytes : 0;
  bound.launch.shared_bytes = std::max<Index>(kExchangeBytes, to.tile_bytes + wholes);
}

// Where the rows of a part lie, behind what meets, if there is room.
void bind_row_places(const Step& step, Bound& bound) {
  Arguments& to = bound.arguments;
  to.indices_rise = rises(step.reduced);
  if (to.walk.rank < 2 || to.part > kMostRowPlaces || !spans_few(step.reduced, 1)) return;
  constexpr Index kPlaceBytes = 8;
  bound.launch.shared_bytes = ceil_divide(bound.launch.shared_bytes, kPlaceBytes) * kPlaceBytes;
  to.row_places = static_cast<int>(bound.launch.shared_bytes);
  bound.launch.shared_bytes += to.part * kPlaceBytes;
}

// Maxima and sums of all lanes, and where rows of several axes lie. Of few panels one more, for packs that begin before
// it, would cost more than columns apart.
void bind_kept(const Found& found, Bound& bound) {
  constexpr Index kFewPanels = 8;
  bound.keeps_columns = true;
  bound.panels_are_fixed = bound.arguments.panels < kFewPanels;
  const Index rows = bound.arguments.walk.rank > 1 ? 2 * bound.arguments.reduced : 0;
  const Index wanted = 2 * bound.launch.threads * found.meeting_bytes + rows * static_cast<Index>(sizeof(Index));
  bound.launch.shared_bytes = std::max<Index>(kExchangeBytes, wanted);
}

// As many lanes as hold the same columns with each of their packs; the states of a column meet in shared memory.
void bind_joined(const Step& step, const Found& found, Bound& bound) {
  Arguments& to = bound.arguments;
  const Index together = packs_together(to.lane_axis.size, bound.pack);
  to.lanes = static_cast<int>(bound.launch.threads / together * together);
  to.columns = to.lane_axis.size;
  to.tiles = product_of(step.kept) / to.lane_axis.size;
  const Index rows = to.lanes * bound.pack / to.lane_axis.size;
  to.tile_bytes = std::max<Index>(kExchangeBytes, rows * found.state_bytes);
  bound.launch.shared_bytes = to.tile_bytes;
}

void bind_permute(const Step& step, Bound& bound) {
  Arguments& to = bound.arguments;
  PermuteAxes axes = permute_axes(step);
  to.lane_axis = axes.lane;
  to.reduced = product_of(step.kept);
  if (axes.same_axis) {
    if (axes.cross.size > 1) axes.others.push_back(axes.cross);
    put_axes(to, to.walk, axes.others);
    return;
  }
  to.cross_axis = axes.cross;
  put_axes(to, to.tile, axes.others);
  const Index width = power_of_two(axes.lane.size), height = power_of_two(axes.cross.size);
  const Index narrow = std::min(kTileSide, width);
  to.tile_height = static_cast<int>(std::min(kTileElements / narrow, height));
  to.tile_width = static_cast<int>(std::min<Index>(kTileElements / to.tile_height, width));
  to.panels = ceil_divide(axes.lane.size, to.tile_width);
  to.cross_tiles = ceil_divide(axes.cross.size, to.tile_height);
  to.by_panels = divide_by(to.panels);
  to.by_cross_tiles = divide_by(to.cross_tiles);
  to.tiles = product_of(axes.others) * to.panels * to.cross_tiles;
  bound.launch.shared_bytes = static_cast<Index>(to.tile_width) * (to.tile_height + 1) * bound.element_bytes;
}

// What depends on where the input begins.
void cover(const Bound& bound, int phase, Arguments& to) {
  if (bound.bundles || bound.joined || bound.shifted) return;
  if (bound.body == Body::columns)
    cover_columns(bound, phase, to);
  else if (bound.body == Body::elementwise)
    cover_elements(bound, phase, to);
  else
    cover_runs(bound, phase, to);
}

void take_elements(Arguments& to) {
  to.kernel = KernelOf::elements;
  to.packs_of_run = to.lane_axis.size;
  to.by_packs = to.lane_axis.by;
}

void take_runs(const Bound& bound, const Cover& cover, Arguments& to) {
  to.kernel = KernelOf::cut_runs;
  to.packs_of_run = cover.packs;
  to.by_packs = cover.by;
  to.within = bound.within_run;
  to.at_ends = cover.at_ends;
}

MapKind map_of(const KernelKey& key) {
  if (key.sink == SinkKind::softmax) return MapKind::softmax;
  if (key.sink == SinkKind::log_softmax) return MapKind::log_softmax;
  return key.map;
}

}  // namespace

Bound bind(const Step& step, const Found& found) {
  Bound bound;
  bound.in = step.in;
  bound.out = step.out;
  bound.values = step.values;
  bound.exchange = step.exchange;
  bound.body = step.kernel.body;
  bound.pack = found.pack;
  bound.columns = std::max(found.pack, found.columns);
  bound.bundles = found.bundles;
  bound.joined = found.joined;
  bound.shifted = found.shifted;
  bound.element_bytes = static_cast<Index>(size_bytes(step.kernel.input));
  if (step.kernel.source != SourceKind::states) bound.in_bytes = step.in_offset * bound.element_bytes;
  if (step.kernel.sink != SinkKind::store_state)
    bound.out_bytes = step.out_offset * static_cast<Index>(size_bytes(step.kernel.output));
  Arguments& to = bound.arguments;
  to.reduced = product_of(step.reduced);
  to.part = step.part;
  to.parts = step.parts;
  to.repeat = step.repeat;
  to.count = step.count;
  to.ddof = step.ddof;
  to.index_offset = step.index_offset;
  to.scale = step.scale;
  to.alpha = step.alpha;
  to.scope = step.kernel.scope;
  to.map = map_of(step.kernel);
  to.sink = step.kernel.sink;
  to.output = step.kernel.output;
  to.tile_bytes = step.kernel.scope == Scope::lanes ? 0 : step.launch.shared_bytes;  // lanes' tiles are many at once
  bound.launch = {.grid_x = step.launch.grid[0],
                  .grid_y = step.launch.grid[1],
                  .threads = std::min(found.threads, whole_warps(step.launch.block)),
                  .cluster = step.launch.cluster,
                  .shared_bytes = kExchangeBytes + step.launch.shared_bytes,
                  .cooperative = step.launch.cooperative};
  switch (step.kernel.body) {
    case Body::rows:
      bind_rows(step, bound);
      if (bound.bundles) bind_bundles(step, bound);
      break;
    case Body::columns:
      if (bound.bundles) {
        bind_lines_in_bundles(step, bound);
        break;
      }
      bind_columns(step, found, bound);
      if (found.state_bytes != 0) bind_meeting(step, found, bound);
      if (bound.joined) bind_joined(step, found, bound);
      if (found.meeting_bytes != 0) bind_kept(found, bound);
      if (found.looks_up_rows) bind_row_places(step, bound);
      break;
    case Body::elementwise: bind_elementwise(step, bound); break;
    case Body::permute: bind_permute(step, bound); break;
  }
  bound.runs_begin_alike = begin_alike(to, bound.pack);
  to.results_follow = results_follow(to.tile);
  cover(bound, 0, to);
  bound.kernel(KernelOf::all) = {found.kernel, bound.launch.shared_bytes};
  find_ends(step, found, bound);
  bound.kernel(KernelOf::whole_packs) = kernel_of_whole_packs(step, found, bound);
  bound.kernel(KernelOf::cut_lines) = kernel_of_cut_lines(step, found, bound);
  bound.kernel(KernelOf::cut_runs) = kernel_of_cut_runs(step, found, bound);
  bound.kernel(KernelOf::sectors) = kernel_of_sectors(step, found, bound);
  bound.kernel(KernelOf::elements) = kernel_of_elements(step, found, bound);
  bound.counter_bytes = exchange_counter_bytes(to.tiles, step.launch.grid[1]);
  return bound;
}

Arguments place(const Bound& bound, const Pointers& pointers) {
  Arguments to = bound.arguments;
  const auto at = [&](const Buffer& buffer) {
    return buffer.place == Buffer::Place::output ? pointers.out : pointers.workspace + buffer.offset_bytes;
  };
  to.in = (bound.in.place == Buffer::Place::input ? pointers.in : at(bound.in)) + bound.in_bytes;
  to.out = at(bound.out) + bound.out_bytes;
  if (bound.values.place != Buffer::Place::none) to.values = at(bound.values);
  if (bound.exchange.place == Buffer::Place::workspace) {  // counters, and then the states
    to.counters = reinterpret_cast<unsigned*>(at(bound.exchange));
    to.exchange = at(bound.exchange) + bound.counter_bytes;
  }
  const auto element = static_cast<std::uintptr_t>(bound.element_bytes);
  const int phase =
      static_cast<int>(reinterpret_cast<std::uintptr_t>(to.in) / element % static_cast<unsigned>(bound.pack));
  const auto within_pack = [](const std::byte* address) {
    return reinterpret_cast<std::uintptr_t>(address) % kVectorBytes;
  };
  const bool alike = within_pack(to.in) == within_pack(to.out);
  if (bound.keeps_columns && !alike)
    to.whole_runs = bound.pack == 1;  // columns apart: half a line's sectors read twice cost less than results in parts
  else if (phase != 0)
    cover(bound, phase, to);
  const bool maps = to.map != MapKind::none;
  to.begins_alike = !maps || (bound.begins_alike && alike);
  const int unit = static_cast<int>(within_pack(to.in) / element % static_cast<unsigned>(bound.run_unit));
  const Cover& cover = unit == 0 ? bound.cover_units : bound.cover_any;
  const bool covers = bound.has(KernelOf::cut_runs) && to.begins_alike && cover.packs > 0;
  const bool begins_whole = bound.joins ? within_pack(to.in) == 0 : phase == 0;
  const bool in_packs = begins_whole && (!maps || within_pack(to.out) == 0);
  const bool whole = bound.pack == 1 && !bound.joins ? !covers : in_packs || (bound.begins_anywhere && to.begins_alike);
  if (bound.has(KernelOf::whole_packs) && whole)
    to.kernel = KernelOf::whole_packs;
  else if (bound.has(KernelOf::cut_lines))
    to.kernel = KernelOf::cut_lines;
  else if (covers)
    take_runs(bound, cover, to);
  else if (bound.has(KernelOf::sectors) && suits_sectors(bound, to))
    take_sectors(bound, to);
  else if (bound.has(KernelOf::elements))
    take_elements(to);
  return to;
}

}  // namespace ndfold::cuda
