// A leaf of a tile's rows, read into a slot next to the core from wherever it lies: along rows, across them, at a
// stride.
#pragma once
#include "kernels/cpu/column_tiles.h"
#include "kernels/cpu/crossing.h"
#include "kernels/cpu/dense_rows.h"
#include "kernels/cpu/gather.h"

namespace ndfold::simd {

/// Offsets from r on that lie `step` bytes apart, one after the other: at most `most`.
inline int neighbours(const Index* offsets, int r, int end, Index step, int most) {
  int n = 1;
  while (n < most && r + n < end && offsets[r + n] - offsets[r + n - 1] == step) ++n;
  return n;
}

/// Where the rows of a leaf go: times `scale`, row-major, groups of lanes side by side. The last group is loaded whole
/// (ColumnPlace). `maxima` are the columns', and may lose a NaN.
template <class A>
struct TileSlot {
  using V = LanesOf<A>;
  A* rows;
  V scale;
  V* maxima;

  template <int kGroups, class Load>
  [[gnu::always_inline]] void take(int r, const Load& load_group) const {
    for (int g = 0; g < kGroups; ++g) {
      const V value = load_group(g) * scale;
      maxima[g] = any_maximum(maxima[g], value);
      store(rows + (r * kGroups + g) * kLanes<V>, value);
    }
  }
};

template <int kGroups, class T, class A>
[[gnu::flatten, gnu::noinline]] void read_along(const Tile& tile, const RowOffsets& rows, const TileSlot<A>& slot) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const Index last = ColumnPlace<V>::first(kGroups - 1, tile.columns);
  const int count = rows.count, columns = static_cast<int>(tile.columns);
  V maxima[kGroups];
  for (int g = 0; g < kGroups; ++g) maxima[g] = slot.maxima[g];
  const TileSlot<A> to{slot.rows, slot.scale, maxima};
  const auto row = [&](int r) { return reinterpret_cast<const T*>(tile.in + rows.in[r]); };
  if (columns >= kWidth)
    for (int r = 0; r < count; ++r)
      to.template take<kGroups>(r,
                                [&](int g) { return load_elements(row(r) + (g + 1 < kGroups ? g * kWidth : last)); });
  else
    for (int r = 0; r < count; ++r) to.template take<kGroups>(r, [&](int) { return load_elements(row(r), columns); });
  for (int g = 0; g < kGroups; ++g) slot.maxima[g] = maxima[g];
}

/// Rows that are neighbours in memory, columns that are not.
template <class T, class A>
[[gnu::noinline]] void read_across(const Tile& tile, const RowOffsets& rows, Index pitch, int groups,
                                   const TileSlot<A>& slot) {
  using V = LanesOf<A>;
  constexpr int kWidth = kLanes<V>;
  for (int g = 0; g < groups; ++g) {
    const Index first = ColumnPlace<V>::first(g, tile.columns);
    for (int r = 0; r < rows.count;) {
      const int n = neighbours(rows.in, r, rows.count, sizeof(T), kWidth);
      const Runs<const T> runs{.start = reinterpret_cast<const T*>(tile.in + rows.in[r]) + first * pitch,
                               .stride = pitch,
                               .count = static_cast<int>(std::min<Index>(kWidth, tile.columns - first)),
                               .length = n};
      slot.maxima[g] =
          load_across(runs, slot.scale, slot.maxima[g], slot.rows + (r * groups + g) * kWidth, Index{groups} * kWidth);
      r += n;
    }
  }
}

/// A row at a time through a buffer.
template <int kGroups, class A>
[[gnu::noinline]] void read_strided(const Arguments& step, const Tile& tile, const RowOffsets& rows,
                                    const TileSlot<A>& slot) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const Index last = ColumnPlace<V>::first(kGroups - 1, tile.columns), pitch = inner(step.kept).in;
  alignas(64) A row[kGroups * kWidth] = {};
  for (int r = 0; r < rows.count; ++r) {
    const std::byte* from = tile.in + rows.in[r];
    if (step.input == kTypeOf<A>)
      gather(reinterpret_cast<const A*>(from), pitch, tile.columns, row);
    else
      load_run(step.input, from, pitch, tile.columns, row);
    slot.template take<kGroups>(r, [&](int g) { return load<V>(row + (g + 1 < kGroups ? g * kWidth : last)); });
  }
}

/// Copies rows of a tile, times scale, to `to`. Returns the columns' maxima.
template <int kGroups, class A>
std::array<LanesOf<A>, kGroups> read_rows(const Arguments& step, const Tile& tile, const RowOffsets& rows, A* to) {
  using V = LanesOf<A>;
  std::array<V, kGroups> maxima;
  maxima.fill(splat<V>(-kInfinity<V>));
  const TileSlot<A> slot{to, splat<V>(static_cast<A>(step.scale)), maxima.data()};
  const Index pitch = inner(step.kept).in;
  bool done = false;
  if (pitch == 1)
    done = visit_elements<A>(step.input, [&]<class T>(T) { read_along<kGroups, T>(tile, rows, slot); });
  else if (inner(step.reduced).in == 1)
    done = visit_elements<A>(step.input, [&]<class T>(T) { read_across<T>(tile, rows, pitch, kGroups, slot); });
  if (!done) read_strided<kGroups>(step, tile, rows, slot);
  return maxima;
}

/// Whether rows along memory need not be copied before they are looked at once. Rows of many leaves far apart in memory
/// come sooner all at once: logsumexp of [1000,16777] f32 axis 0 on a Zen 4 4.0 elements/ns, one by one 2.4; of
/// [65536,256] 5.2 and 6.5, softmax of [32,65536] 1.7 and 1.9.
inline bool reads_in_place(const Arguments& step, const RowOffsets& rows) {
  constexpr Index kPage = 4096;
  return !step.past_caches || elements(step.reduced) <= kTileRows ||
         (rows.count > 1 && std::abs(rows.in[1] - rows.in[0]) <= kPage);
}

/// Calls work(load_group), where load_group(r, g) is a group of a row times scale, straight from memory; false where
/// rows had better be copied first.
template <int kGroups, class A, class Work>
[[gnu::always_inline]] inline bool with_groups_in_place(const Arguments& step, const Tile& tile, const RowOffsets& rows,
                                                        const Work& work) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  constexpr bool kIsWide = kGroups > kTileGroups;  // rows are asked for as they are read
  if (inner(step.kept).in != 1 || tile.columns < kWidth || !(kIsWide || reads_in_place(step, rows))) return false;
  const V scale = splat<V>(static_cast<A>(step.scale));
  const Index last = ColumnPlace<V>::first(kGroups - 1, tile.columns);
  return visit_elements<A>(step.input, [&]<class T>(T) {
    work([=, in = tile.in, from = rows.in](int r, int g) {
      const T* const row = reinterpret_cast<const T*>(in + from[r]);
      return load_elements(row + (g + 1 < kGroups ? g * kWidth : last)) * scale;
    });
  });
}

}  // namespace ndfold::simd
