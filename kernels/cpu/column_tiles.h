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

/// Of tiles of f32 whose columns are neighbours on both sides, on machines that like them wide: 32 registers of 64
/// bytes are enough for as many sums again.
template <class A>
inline constexpr int kWideGroups = kRegisterBytes == 64 && std::is_same_v<A, float> ? 2 * kTileGroups : kTileGroups;
template <class A>
inline constexpr Index kWideColumns = kWideGroups<A>* kLanes<LanesOf<A>>;

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

/// The tiles of blocks [first, last) of a step, in order: wide ones first, where they may be; others of a block are of
/// about the same width.
template <class A>
class TileWalk {
  using V = LanesOf<A>;

 public:
  TileWalk(const Arguments& step, Index first, Index last, bool may_be_wide = false)
      : step_(step), block_(first), last_(last), may_be_wide_(may_be_wide) {}

  bool next(Tile& tile) {
    if (at_ == columns_) {
      if (block_ == last_) return false;
      const ColumnBlock block(step_, block_, may_be_wide_ ? last_ - block_ : 1);
      block_ += block.blocks;
      in_ = block.in, out_ = block.out, column_ = block.column;
      at_ = 0, columns_ = block.columns, width_ = 0;
    }
    const Index left = columns_ - at_;
    if (may_be_wide_ && left >= kWideColumns<A>)
      width_ = kWideColumns<A>;
    else if (width_ == 0 || width_ == kWideColumns<A>)
      width_ = narrow(left);
    tile.first = at_;
    tile.columns = std::min(width_, left);
    tile.in = advance(in_, step_.input, at_ * column_.in);
    tile.out = advance(out_, step_.output, at_ * column_.out);
    at_ += tile.columns;
    return true;
  }

 private:
  static Index narrow(Index columns) {
    const Index groups = ColumnPlace<V>::groups(columns), tiles = (groups + kTileGroups - 1) / kTileGroups;
    return (groups + tiles - 1) / tiles * kLanes<V>;
  }

  const Arguments& step_;
  Index block_, last_;
  bool may_be_wide_;
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

/// The same for a tile that may be wide.
template <class A, class Work>
void with_slab_groups(Index groups, const Work& work) {
  if (groups > kTileGroups) return work(std::integral_constant<int, kWideGroups<A>>());
  with_groups(groups, work);
}

/// Of all elements, and as many as the nearer caches of a core hold.
inline Index input_bytes(const Arguments& step) {
  return elements(step.kept) * elements(step.reduced) * static_cast<Index>(size_bytes(step.input));
}
inline constexpr Index kNearBytes = 512 << 10;

/// Whether rows so many bytes apart share few sets of a first cache.
inline bool share_sets(Index pitch) {
  constexpr Index kWay = 4096;
  const Index beyond = std::abs(pitch) % kWay;
  return std::min(beyond, kWay - beyond) < kLineBytes;
}

/// What is read next is asked for early: lines of a row at a time or, where rows are nearer to each other than columns,
/// of a column.
class RowsAhead {
 public:
  /// For tiles of so many columns.
  RowsAhead(const Arguments& step, Index columns)
      : columns_(columns),
        size_(static_cast<Index>(size_bytes(step.input))),
        pitch_(inner(step.kept).in * size_),
        bytes_((columns - 1) * pitch_ + size_),
        by_rows_(bytes_ <= kFarBytes),
        comes_near_(kAsksForRows && step.past_caches && !share_sets(inner(step.reduced).in * size_)) {}
  RowsAhead(const RowsAhead&) = delete;
  RowsAhead& operator=(const RowsAhead&) = delete;

  /// Adds the rows of a tile at `in`, from `first` on, behind what was added before: of rows that lie side by side that
  /// is all there is.
  void add(const std::byte* in, const RowOffsets& rows, int first) {
    Part& part = parts_[0].count == 0 ? parts_[0] : parts_[1];
    if (by_rows_ && (rows.count < 2 || rows.in[1] - rows.in[0] >= kLineBytes))
      part = {in, rows.in + first, rows.count - first};
    else if (&part == parts_)
      part = {in, own_, by_rows_ ? near_rows(rows) : columns(rows)};
  }

  /// Rows that are read now come first, some rows ahead of themselves.
  void begin_with(const std::byte* in, const RowOffsets& rows) {
    now_ = {in, rows.in, rows.count};
    comes_near_ = true;
  }

  /// The lines of row r after those that are read now. A Zen 5 keeps its memory busier by lines asked for into the
  /// first cache, unless rows share its sets ([64,512,512] f32 axis 1 3.4 ms, 2.9 so; [4096,4096] axis 0 3.9 and 5.6),
  /// but not a third cache ([17,100000] 398 us and 466).
  template <int kLines>
  [[gnu::always_inline]] void fetch(int r) const {  // or GCC takes it for pure, and drops it
    const std::byte* const line = at(r);
    if (line == nullptr) return;
    if (comes_near_)
      ask<kLines, 3>(line);
    else
      ask<kLines, 2>(line);
  }

  /// Where they begin, or nothing.
  [[gnu::always_inline]] const std::byte* at(int r) const {
    if (now_.count > 0) {
      r += kRowsAhead;
      if (r < now_.count) return now_.base + now_.at[r];
      r -= now_.count;
    }
    if (r < parts_[0].count) return parts_[0].base + parts_[0].at[r];
    r -= parts_[0].count;
    return r < parts_[1].count ? parts_[1].base + parts_[1].at[r] : nullptr;
  }

 private:
  static constexpr Index kFarBytes = 4096;
  static constexpr int kRowsAhead = 16;

  // kCache: as __builtin_prefetch() has it. The second waits for more lines at a time than the first.
  template <int kLines, int kCache>
  [[gnu::always_inline]] void ask(const std::byte* line) const {
    for (int l = 0; l < kLines; ++l) __builtin_prefetch(line + l * kLineBytes, 0, kCache);
    for (Index b = kLines * kLineBytes; b < bytes_; b += kLineBytes) __builtin_prefetch(line + b, 0, kCache);
    __builtin_prefetch(line + bytes_ - 1, 0, kCache);  // rows need not begin with a line
  }

  int near_rows(const RowOffsets& rows) {
    int count = 0;
    for (int r = 0; r < rows.count; ++r) {
      const Index beyond = count == 0 ? kLineBytes : rows.in[r] - own_[count - 1];
      if (beyond < 0 || beyond >= kLineBytes) own_[count++] = rows.in[r];
    }
    return count;
  }

  int columns(const RowOffsets& rows) {
    if (rows.count == 0) return 0;
    const auto [low, high] = std::minmax_element(rows.in, rows.in + rows.count);
    bytes_ = *high - *low + size_;
    if (bytes_ > kFarBytes) return 0;
    const int count = static_cast<int>(std::min<Index>(columns_, kTileRows));
    for (int c = 0; c < count; ++c) own_[c] = *low + c * pitch_;
    return count;
  }

  struct Part {
    const std::byte* base = nullptr;
    const Index* at = nullptr;
    int count = 0;
  };
  Index columns_, size_, pitch_;
  Index bytes_;  ///< from a row's first byte to its end, or a column's
  bool by_rows_, comes_near_;
  Part now_, parts_[2];
  Index own_[kTileRows];
};

/// The leaves of reduced elements [begin, end): every tile of a step has the same.
class TileLeaves {
 public:
  TileLeaves(const Arguments& step, Index begin, Index end)
      : step_(step), begin_(begin), end_(end), asks_(!kAsksForRows || !is_near(step, end - begin)) {
    RowsOfTile(step, begin, end).next(first_);
  }

  Index rows() const { return end_ - begin_; }
  const RowOffsets& first() const { return first_; }

  /// Calls work(rows, the next leaf's, what to ask for meanwhile) for each leaf of a tile; `following` is read next.
  /// What is asked for lies a whole leaf ahead: where the last leaf is short, part of the following tile's first is its
  /// share, and the leaf before has the rest ([65,262147] f32 axis 0 on a Zen 4: 13.6 ms, so 8.9).
  template <class Work>
  [[gnu::always_inline]] void each(const Tile& tile, const std::byte* following, const Work& work,
                                   bool is_wide = false) const {
    RowOffsets turns[2];
    RowsOfTile rest(step_, begin_ + first_.count, end_);
    const RowOffsets* here = &first_;
    for (int turn = 0; here->count > 0; turn ^= 1) {
      RowOffsets& next = turns[turn];
      const bool more = rest.next(next);
      RowsAhead ahead(step_, tile.columns);
      if (is_wide && asks_) ahead.begin_with(tile.in, *here);
      if (more && asks_) ahead.add(tile.in, next, 0);
      if (next.count < kTileRows && asks_) ahead.add(following, first_, is_wide ? 0 : first_.count - here->count);
      work(*here, next, ahead);
      here = &next;
    }
  }

 private:
  // In a cache near the core, or many rows in a third one.
  static bool is_near(const Arguments& step, Index rows) {
    constexpr Index kManyRows = 64;
    return input_bytes(step) <= kNearBytes || (rows >= kManyRows && !step.past_caches);
  }

  const Arguments& step_;
  Index begin_, end_;
  bool asks_;  ///< what is near is not asked for
  RowOffsets first_;
};

}  // namespace ndfold::simd
