#include "kernels/cuda/bind_elementwise.h"

#include <ndfold/kept_columns.h>

#include "kernels/cuda/layouts.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace ndfold::cuda {
namespace {

constexpr Index kMappedPacks = 16;    // of a lane, where the value behind them stays: as many at least,
constexpr Index kMappedBytes = 256;   // and as many bytes, where there are blocks enough
constexpr Index kMappedTogether = 4;  // tiles that go along a line side by side: memory likes one window

// Lanes side by side that leave none or very few of them idle, or the fewest: a power of two; the widest of those.
Index lanes_across(Index packs, Index most) {
  constexpr Index kFew = 32;  // of so many one: [333,50257] axis 0 82 us by the fewest, 78 so; bf16 [667,50257] 95 and 82
  const auto idle = [&](Index lanes) { return ceil_divide(packs, lanes) * lanes - packs; };
  Index best = std::min(most, power_of_two(packs));
  if (idle(best) * kFew <= packs) return best;
  for (Index lanes = best / 2; lanes >= kWarp; lanes /= 2)
    if (idle(lanes) < idle(best)) best = lanes;
  return best;
}

// As many rows as are whole sectors together: their packs are cut by no end, and no sector is written by two blocks. Of
// few rows as many as are whole packs.
Index rows_together(const Arguments& step, Index pack, Index element_bytes) {
  constexpr Index kFewest = 16, kFewestOfPacks = 4, kMost = Index{1} << 30;
  const Index size = step.lane_axis.size, rows = step.cross_axis.size;
  const auto together = [&](Index whole) { return whole / std::gcd(size, whole); };
  const Index sectors = together(kSectorBytes / element_bytes), packs = together(pack);
  if (pack == 1 || sectors * size > kMost) return 1;
  if (rows >= kFewest * sectors) return sectors;
  return rows % packs == 0 || rows >= kFewestOfPacks * packs ? packs : 1;
}

// `count` rows, which follow one another, become one.
void join_rows(Arguments& to, Index count) {
  AxisNumbers &lane = to.lane_axis, &rows = to.cross_axis;
  to.columns = lane.size;
  to.tail = rows.size % count * lane.size;
  lane.size *= count;
  rows.size = ceil_divide(rows.size, count);
  rows.in *= count;
  rows.out *= count;
}

// Of a lane, one behind the other.
Index mapped_packs(const Bound& bound, const Arguments& to) {
  const Index packs = std::max(kMappedPacks, kMappedBytes / (bound.pack * bound.element_bytes));
  const Index all = to.lane_axis.size * (to.along_line ? 1 : to.cross_axis.size) * to.reduced / bound.pack;
  return all >= packs * bound.launch.threads * bound.launch.grid_x * 2 ? packs : kMappedPacks;
}

}  // namespace

// Lanes lie along kept columns, whose rows follow one another; or along a line that has one value. Rows that follow one
// another are joined: all of them to a line where columns are few, else as many as are whole sectors together.
void bind_elementwise(const Step& step, Bound& bound) {
  Arguments& to = bound.arguments;
  bound.launch.threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(bound.launch.threads)));
  auto walk = elementwise_axes(step);
  to.lane_axis = take_last(walk);
  to.cross_axis = to.lane_axis;
  to.columns = 0;
  to.along_line = to.lane_axis.value == 0;
  if (!to.along_line) {
    const auto cross =
        std::find_if(walk.rbegin(), walk.rend(), [](const AxisNumbers& axis) { return axis.value == 0; });
    to.cross_axis = cross == walk.rend() ? AxisNumbers{} : *cross;
    if (cross != walk.rend()) walk.erase(std::next(cross).base());
    const AxisNumbers &lane = to.lane_axis, &rows = to.cross_axis;
    if (lane.in == 1 && rows.in == lane.size && rows.out == lane.out * lane.size) {
      to.along_line = packs_together(lane.size, bound.pack) <= bound.launch.threads;
      const Index count = to.along_line ? rows.size : rows_together(to, bound.pack, bound.element_bytes);
      if (to.along_line || count > 1) join_rows(to, count);
    }
  }
  put_axes(to, to.walk, walk);
  to.reduced = product_of(walk);
}

void cover_elements(const Bound& bound, int phase, Arguments& to) {
  const Index mapped = mapped_packs(bound, to);
  const bool in_line = to.along_line, is_joined = in_line && to.columns > 0;
  const bool rows_begin_alike = in_line || to.cross_axis.in % bound.pack == 0;
  const int before = bound.runs_begin_alike && rows_begin_alike ? phase : bound.pack - 1;
  const Index packs = ceil_divide(to.lane_axis.size + before, bound.pack);
  const Index threads = bound.launch.threads;  // a power of two
  if (is_joined) {
    const Index together = packs_together(to.columns, bound.pack);
    to.lanes = static_cast<int>(bound.launch.threads / together * together);
  } else if (in_line) {
    const Index enough = power_of_two(ceil_divide(packs, mapped));
    to.lanes = static_cast<int>(std::min({threads, power_of_two(packs), std::max<Index>(enough, kWarp)}));
  } else {
    const Index most = rows_begin_alike ? threads : std::max<Index>(1, threads / bound.pack);
    to.lanes = static_cast<int>(lanes_across(packs, most));
  }
  to.lane_bits = static_cast<int>(std::bit_width(static_cast<unsigned>(to.lanes - 1)));
  const Index slots = threads >> to.lane_bits;
  to.tile_height = static_cast<int>((in_line ? to.lanes : slots) * mapped);
  to.packs_of_run = in_line ? packs : to.cross_axis.size;
  Index tiles = ceil_divide(to.packs_of_run, to.tile_height);
  if (in_line) {
    to.panels = slots == 1 && tiles >= 2 * kMappedTogether ? kMappedTogether : 1;
    to.sheets = ceil_divide(to.reduced, slots);
    tiles = ceil_divide(tiles, to.panels) * to.panels;
  } else {
    to.panels = ceil_divide(packs, to.lanes);
    to.sheets = to.reduced * to.panels;
  }
  to.tiles = to.sheets * tiles;
  to.by_panels = divide_by(to.panels);
  to.by_sheets = divide_by(to.sheets);
}

}  // namespace ndfold::cuda
