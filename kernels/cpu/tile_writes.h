// Results of a leaf of a tile's rows, written from next to the core to wherever they belong: along rows, across them,
// in reverse, at a stride.
#pragma once
#include "kernels/cpu/tile_reads.h"

namespace ndfold::simd {

/// How results lie.
struct TileTarget {
  DType type = DType::best;
  Index column = 1, row = 1;  ///< elements from one to the next
  bool past_caches = false;
};

/// Whether `addresses` are all multiples of a line.
inline bool fill_lines(const void* start, Index bits) { return begins_line(start) && bits % kLineBytes == 0; }

/// The other way round.
template <class V>
struct Falling {
  constexpr int operator()(int i) const { return kLanes<V> - 1 - i; }
};

/// Columns side by side, in rising order or in falling.
template <bool kFalls, class T, class A = NumberOf<T>>
[[gnu::flatten, gnu::noinline]] void write_along(const TileTarget& target, std::byte* to, Index columns,
                                                 const RowOffsets& rows, int groups, const A* from) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const Index first = kFalls ? 1 - columns : 0, size = static_cast<Index>(sizeof(T));
  const bool streams = target.past_caches && columns % kWidth == 0 && fill_lines(to + first * size, rows.out_bits);
  const int count = rows.count;
  if (columns < kWidth) {
    for (int r = 0; r < count; ++r) {
      T* y = reinterpret_cast<T*>(to + rows.out[r]) + first;
      const V value = load<V>(from + r * kWidth);
      if constexpr (kFalls) {
        A some[2 * kWidth];
        store(some, shuffled(value, value, Falling<V>()));
        store_elements(y, load<V>(some + kWidth - columns), static_cast<int>(columns));
      } else {
        store_elements(y, value, static_cast<int>(columns));
      }
    }
    return;
  }
  const auto each_group = [&](const auto& put) {
    for (int r = 0; r < count; ++r, from += groups * kWidth)
      for (int g = 0; g < groups; ++g) {
        const Index at = ColumnPlace<V>::first(g, columns);
        T* y = reinterpret_cast<T*>(to + rows.out[r]) + (kFalls ? 1 - kWidth - at : at);
        const V value = load<V>(from + g * kWidth);
        if constexpr (kFalls)
          put(y, shuffled(value, value, Falling<V>()));
        else
          put(y, value);
      }
  };
  if (streams)
    each_group([](T* y, V value) { stream_elements(y, value); });
  else
    each_group([](T* y, V value) { store_elements(y, value); });
}

/// Rows side by side, columns apart.
template <class T, class A = NumberOf<T>>
[[gnu::noinline]] void write_across(const TileTarget& target, std::byte* to, Index columns, const RowOffsets& rows,
                                    int groups, const A* from) {
  using V = LanesOf<A>;
  constexpr int kWidth = kLanes<V>;
  constexpr Index kSize = sizeof(T);
  const Index pitch = groups * kWidth, step = target.row * kSize;
  for (int g = 0; g < groups; ++g) {  // outside: what one leaf leaves of a line, its next rows complete
    const Index first = ColumnPlace<V>::first(g, columns);
    for (int r = 0; r < rows.count;) {
      const int n = neighbours(rows.out, r, rows.count, step, kWidth), low = step > 0 ? r : r + n - 1;
      const Runs<T> runs{.start = reinterpret_cast<T*>(to + rows.out[low]) + first * target.column,
                         .stride = target.column,
                         .count = static_cast<int>(std::min<Index>(kWidth, columns - first)),
                         .length = n};
      const bool streams = target.past_caches && fills_lanes(runs);
      const A* x = from + (low * groups + g) * kWidth;
      if (streams)
        store_across<true>(runs, x, step > 0 ? pitch : -pitch);
      else
        store_across<false>(runs, x, step > 0 ? pitch : -pitch);
      r += n;
    }
  }
}

/// Rows of `groups` groups of lanes at `from`, the last of a group's lanes the last columns (ColumnPlace).
template <class A>
void write_rows(const TileTarget& target, std::byte* to, Index columns, const RowOffsets& rows, int groups,
                const A* from) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  bool done = false;
  if (target.column == 1 || target.column == -1)
    done = visit_elements<A>(target.type, [&]<class T>(T) {
      (target.column == 1 ? write_along<false, T> : write_along<true, T>)(target, to, columns, rows, groups, from);
    });
  else if (target.row == 1 || target.row == -1)
    done =
        visit_elements<A>(target.type, [&]<class T>(T) { write_across<T>(target, to, columns, rows, groups, from); });
  if (done) return;
  alignas(64) A row[kWideColumns<A>];
  for (int r = 0; r < rows.count; ++r, from += groups * kWidth) {
    for (int g = 0; g < groups; ++g) store(row + ColumnPlace<V>::first(g, columns), load<V>(from + g * kWidth));
    store_run(target.type, to + rows.out[r], target.column, columns, row);
  }
}

}  // namespace ndfold::simd
