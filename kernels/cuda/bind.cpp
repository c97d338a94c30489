#include "kernels/cuda/bind.h"

#include "kernels/cuda/layouts.h"

#include <algorithm>
#include <bit>

namespace ndfold::cuda {
namespace {

constexpr int kVectorBytes = 16;
constexpr int kTileElements = 1024;  // of a permute: 32 × 32 where both sides are long
constexpr Index kTileSide = 32;

Index ceil_divide(Index a, Index b) { return (a + b - 1) / b; }
Index power_of_two(Index n) {
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Index>(n, 1))));
}
Index element_bytes(const Step& step) { return static_cast<Index>(size_bytes(step.kernel.input)); }

void put_axes(Arguments& to, const std::vector<AxisNumbers>& tiles, const std::vector<AxisNumbers>& walk) {
  to.tile_rank = static_cast<int>(tiles.size());
  to.walk_rank = static_cast<int>(walk.size());
  std::copy(tiles.begin(), tiles.end(), to.axes);
  std::copy(walk.begin(), walk.end(), to.axes + tiles.size());
}

// Elements between the last whole pack in memory and the buffer's start.
int phase_of(const std::byte* in, Index bytes, int pack) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(in) / static_cast<std::uintptr_t>(bytes) %
                          static_cast<std::uintptr_t>(pack));
}

// Every run begins as far from a whole pack as the first one does.
bool begin_alike(const Arguments& step, int pack) {
  return std::all_of(step.axes, step.axes + step.tile_rank + step.walk_rank,
                     [&](const AxisNumbers& axis) { return axis.in % pack == 0; });
}

void cover_runs(Arguments& to, int pack, Index bytes) {
  const Index before = begin_alike(to, pack) ? phase_of(to.in, bytes, pack) : pack - 1;
  to.packs_of_run = std::max<Index>(1, ceil_divide(to.lane_axis.size + before, pack));
  to.by_packs = divide_by(to.packs_of_run);
}

int pack_of(const Step& step, bool dense) {
  return dense && step.kernel.source != SourceKind::states
             ? std::max(1, kVectorBytes / static_cast<int>(element_bytes(step)))
             : 1;
}

void bind_rows(const Step& step, Arguments& to) {
  auto walk = numbers_of(step.reduced);
  to.lane_axis = take_last(walk);
  put_axes(to, numbers_of(step.kept), walk);
  to.tiles = product_of(step.kept);
  to.lanes = step.kernel.tuning.lanes_per_row;
  cover_runs(to, pack_of(step, step.kernel.source == SourceKind::dense), element_bytes(step));
}

void bind_columns(const Step& step, Arguments& to) {
  auto tiles = numbers_of(step.kept);
  to.lane_axis = take_last(tiles);
  put_axes(to, tiles, numbers_of(step.reduced));
  const int pack = pack_of(step, step.kernel.source == SourceKind::dense);
  const Index bytes = element_bytes(step), size = to.lane_axis.size;
  const Index widest = std::max<Index>(pack, step.kernel.tuning.panel_bytes / bytes);
  const auto panels = [&](int phase) {
    to.phase = phase;
    to.lanes = static_cast<int>(std::min(widest / pack, power_of_two(ceil_divide(size + phase, pack))));
    return ceil_divide(size + phase, static_cast<Index>(to.lanes) * pack);
  };
  to.panels = panels(begin_alike(to, pack) ? phase_of(to.in, bytes, pack) : 0);
  // Groups of blocks and their room for exchange were counted without a phase.
  if (step.kernel.scope == Scope::grid && to.panels != ceil_divide(size, widest)) to.panels = panels(0);
  to.columns = std::min(widest, size);
  to.by_panels = divide_by(to.panels);
  to.tiles = product_of(tiles) * to.panels;
}

void bind_elementwise(const Step& step, Arguments& to) {
  auto walk = elementwise_axes(step);
  to.lane_axis = take_last(walk);
  put_axes(to, {}, walk);
  to.reduced = product_of(step.kept) * product_of(step.reduced);
  cover_runs(to, pack_of(step, to.lane_axis.in == 1), element_bytes(step));
}

void bind_permute(const Step& step, Bound& bound) {
  Arguments& to = bound.arguments;
  PermuteAxes axes = permute_axes(step);
  to.lane_axis = axes.lane;
  to.reduced = product_of(step.kept);
  if (axes.same_axis) {
    if (axes.cross.size > 1) axes.others.push_back(axes.cross);
    put_axes(to, {}, axes.others);
    cover_runs(to, pack_of(step, to.lane_axis.in == 1), element_bytes(step));
    return;
  }
  to.cross_axis = axes.cross;
  put_axes(to, axes.others, {});
  const Index width = power_of_two(axes.lane.size), height = power_of_two(axes.cross.size);
  const Index narrow = std::min(kTileSide, width);
  to.tile_height = static_cast<int>(std::min(kTileElements / narrow, height));
  to.tile_width = static_cast<int>(std::min<Index>(kTileElements / to.tile_height, width));
  to.panels = ceil_divide(axes.lane.size, to.tile_width);
  to.cross_tiles = ceil_divide(axes.cross.size, to.tile_height);
  to.by_panels = divide_by(to.panels);
  to.by_cross_tiles = divide_by(to.cross_tiles);
  to.tiles = product_of(axes.others) * to.panels * to.cross_tiles;
  bound.launch.shared_bytes = static_cast<Index>(to.tile_width) * (to.tile_height + 1) * element_bytes(step);
}

MapKind map_of(const KernelKey& key) {
  if (key.sink == SinkKind::softmax) return MapKind::softmax;
  if (key.sink == SinkKind::log_softmax) return MapKind::log_softmax;
  return key.map;
}

// Counters, where a group of blocks takes several tiles, and then the states.
void bind_exchange(const Step& step, std::byte* workspace, Arguments& to) {
  std::byte* const place = workspace + step.exchange.offset_bytes;
  const Index groups = step.launch.grid[1];
  to.counters = reinterpret_cast<unsigned*>(place);
  to.exchange = place + exchange_counter_bytes(to.tiles, groups);
}

}  // namespace

Divider divide_by(Index divisor) {
  if (divisor <= 1) return {};
  const int bits =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(divisor - 1)));  // 2^(bits - 1) < divisor <= 2^bits
  std::uint64_t quotient = 0, rest = 1;
  const auto by = static_cast<std::uint64_t>(divisor);
  for (int i = 0; i < 63 + bits; ++i) {  // 2^(63 + bits) / divisor, a bit at a time
    rest *= 2;
    quotient = quotient * 2 + (rest >= by);
    if (rest >= by) rest -= by;
  }
  return {.multiplier = quotient + 1, .shift = bits - 1};
}

Layout layout_of(const Step& step) {
  if (step.kernel.body == Body::elementwise) {
    auto axes = elementwise_axes(step);
    return {.dense = take_last(axes).in == 1};
  }
  if (step.kernel.body != Body::permute) return {};
  const PermuteAxes axes = permute_axes(step);
  return {.dense = axes.lane.in == 1, .same_axis = axes.same_axis};
}

Bound bind(const Step& step, const Pointers& pointers, int most_threads) {
  Bound bound;
  Arguments& to = bound.arguments;
  const auto place = [&](const Buffer& buffer) {
    return buffer.place == Buffer::Place::output ? pointers.out : pointers.workspace + buffer.offset_bytes;
  };
  const bool states = step.kernel.source == SourceKind::states;
  to.in = step.in.place == Buffer::Place::input ? pointers.in : place(step.in);
  if (!states) to.in += step.in_offset * element_bytes(step);
  to.out = place(step.out);
  if (step.kernel.sink != SinkKind::store_state)
    to.out += step.out_offset * static_cast<Index>(size_bytes(step.kernel.output));
  if (step.values.place != Buffer::Place::none) to.values = place(step.values);
  to.reduced = product_of(step.reduced);
  to.part = step.part;
  to.parts = step.parts;
  to.repeat = step.repeat;
  to.count = step.count;
  to.ddof = step.ddof;
  to.index_offset = step.index_offset;
  to.scale = step.scale;
  to.alpha = step.alpha;
  to.map = map_of(step.kernel);
  to.sink = step.kernel.sink;
  to.output = step.kernel.output;
  to.tile_bytes = step.launch.shared_bytes;
  bound.launch = {.grid_x = step.launch.grid[0],
                  .grid_y = step.launch.grid[1],
                  .threads = std::min(most_threads, (step.launch.block + kWarp - 1) / kWarp * kWarp),
                  .cluster = step.launch.cluster,
                  .shared_bytes = kExchangeBytes + step.launch.shared_bytes,
                  .cooperative = step.launch.cooperative};
  bound.layout = layout_of(step);
  switch (step.kernel.body) {
    case Body::rows: bind_rows(step, to); break;
    case Body::columns: bind_columns(step, to); break;
    case Body::elementwise: bind_elementwise(step, to); break;
    case Body::permute: bind_permute(step, bound); break;
  }
  if (step.exchange.place == Buffer::Place::workspace) bind_exchange(step, pointers.workspace, to);
  return bound;
}

}  // namespace ndfold::cuda
