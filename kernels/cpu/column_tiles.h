// Tiles: as many columns as registers hold lanes of, walked a leaf of rows at a time. A leaf is copied next to the core
// as it is read, whatever it was: at strides of whole pages rows share so few sets of a cache that none would stay.
#pragma once
#include "kernels/cpu/column_leaf.h"
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/stream.h"

#include <array>

namespace ndfold::simd {

inline constexpr int kTileGroups = 4;

template <class A>
inline constexpr Index kTileColumns = kTileGroups* kLanes<LanesOf<A>>;

/// Rows that are read, folded and written together.
inline constexpr int kTileRows = 2 * kLeafRows;

/// How far such rows begin from the first reduced element, in bytes.
struct RowOffsets {
  int count = 0;
  Index in[kTileRows], out[kTileRows];
  Index out_bits;  ///< of all `out`: what divides them all divides it
};

/// The rows of reduced elements [begin, end), kTileRows at a time. Along the innermost axis one costs two additions.
class RowsOfTile {
 public:
  RowsOfTile(const Arguments& step, Index begin, Index end)
      : in_bytes_(static_cast<Index>(size_bytes(step.input))),
        out_bytes_(static_cast<Index>(size_bytes(step.output))),
        run_(inner(step.reduced)),
        left_(end - begin),
        position_(begin % run_.size),
        lines_(outer(step.reduced), begin / run_.size) {}

  bool next(RowOffsets& rows) {
    const Index in_step = run_.in * in_bytes_, out_step = run_.out * out_bytes_;
    rows.count = 0;
    rows.out_bits = 0;
    while (left_ > 0 && rows.count < kTileRows) {
      const int n = static_cast<int>(std::min({run_.size - position_, left_, Index{kTileRows - rows.count}}));
      Index in = lines_.in() * in_bytes_ + position_ * in_step, out = lines_.out() * out_bytes_ + position_ * out_step;
      for (int i = 0; i < n; ++i, in += in_step, out += out_step) {
        rows.in[rows.count + i] = in;
        rows.out[rows.count + i] = out;
        rows.out_bits |= out;
      }
      rows.count += n;
      left_ -= n;
      if ((position_ += n) == run_.size) position_ = 0, lines_.next();
    }
    return rows.count > 0;
  }

 private:
  Index in_bytes_, out_bytes_;
  Axis run_;
  Index left_, position_;
  Odometer lines_;
};

/// Some columns of a block.
struct Tile {
  const std::byte* in = nullptr;  // of the first column, at the first reduced element
  std::byte* out = nullptr;
  Index columns = 0;
  Index first = 0;  // in its block
};

/// The tiles of blocks [first, last) of a step, in order; a block's are of about the same width.
template <class A>
class TileWalk {
  using V = LanesOf<A>;

 public:
  TileWalk(const Arguments& step, Index first, Index last) : step_(step), block_(first), last_(last) {}

  bool next(Tile& tile) {
    if (at_ == columns_) {
      if (block_ == last_) return false;
      const ColumnBlock block(step_, block_++);
      in_ = block.in, out_ = block.out, column_ = block.column;
      at_ = 0, columns_ = block.columns;
      const Index groups = ColumnPlace<V>::groups(columns_), tiles = (groups + kTileGroups - 1) / kTileGroups;
      width_ = (groups + tiles - 1) / tiles * kLanes<V>;
    }
    tile.first = at_;
    tile.columns = std::min(width_, columns_ - at_);
    tile.in = advance(in_, step_.input, at_ * column_.in);
    tile.out = advance(out_, step_.output, at_ * column_.out);
    at_ += tile.columns;
    return true;
  }

 private:
  const Arguments& step_;
  Index block_, last_;
  const std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
  Axis column_;
  Index at_ = 0, columns_ = 0, width_ = 0;
};

/// Calls work(std::integral_constant<int, groups>()) for a tile of that many groups of lanes.
template <class Work>
void with_groups(Index groups, const Work& work) {
  switch (groups) {
    case 1: return work(std::integral_constant<int, 1>());
    case 2: return work(std::integral_constant<int, 2>());
    case 3: return work(std::integral_constant<int, 3>());
    default: return work(std::integral_constant<int, kTileGroups>());
  }
}

/// Rows that are to be read next: their lines are asked for early.
struct RowsAhead {
  const std::byte* base;
  const RowOffsets& rows;
  Index group_bytes;

  RowsAhead(const Arguments& step, const std::byte* in, const RowOffsets& offsets, Index group)
      : base(in),
        rows(offsets),
        group_bytes(group * inner(step.kept).in * static_cast<Index>(size_bytes(step.input))) {}

  /// Row r, `groups` groups of it.
  [[gnu::always_inline]] void fetch(int r, int groups) const {  // or GCC takes it for pure, and drops it
    const std::byte* line = base + rows.in[std::min(r, rows.count - 1)];
    for (int g = 0; g < groups; ++g) prefetch_far(line + g * group_bytes);
    prefetch_far(line + groups * group_bytes - 1);  // rows need not begin with a line
  }
};

/// Copies rows of a tile, times scale, to `slot`: row-major, groups of lanes side by side. The last group is loaded
/// whole (ColumnPlace). Returns the columns' maxima, which may have lost a NaN.
template <int kGroups, class A>
[[gnu::flatten, gnu::noinline]] std::array<LanesOf<A>, kGroups> read_rows(const Arguments& step, const Tile& tile,
                                                                          const RowOffsets& rows, A* slot) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const V scale = splat<V>(static_cast<A>(step.scale));
  std::array<V, kGroups> max;
  max.fill(splat<V>(-kInfinity<V>));
  const auto take = [&](const A* x, int r, Index last, const auto& load_group) {
    for (int g = 0; g < kGroups; ++g) {
      const V value = load_group(x + (g + 1 < kGroups ? g * kWidth : last)) * scale;
      max[static_cast<std::size_t>(g)] = any_maximum(max[static_cast<std::size_t>(g)], value);
      store(slot + (r * kGroups + g) * kWidth, value);
    }
  };
  const Index last = ColumnPlace<V>::first(kGroups - 1, tile.columns);
  const auto whole = [](const A* x) { return load<V>(x); };
  if (step.input == kTypeOf<A> && inner(step.kept).in == 1) {
    const auto row = [&](int r) { return reinterpret_cast<const A*>(tile.in + rows.in[r]); };
    const int count = rows.count;
    if (tile.columns >= kWidth)
      for (int r = 0; r < count; ++r) take(row(r), r, last, whole);
    else
      for (int r = 0; r < count; ++r)
        take(row(r), r, 0, [&](const A* x) { return load_first(x, static_cast<int>(tile.columns)); });
    return max;
  }
  alignas(64) A row[kGroups * kWidth] = {};
  for (int r = 0; r < rows.count; ++r) {
    load_run(step.input, tile.in + rows.in[r], inner(step.kept).in, tile.columns, row);
    take(row, r, last, whole);
  }
  return max;
}

}  // namespace ndfold::simd
