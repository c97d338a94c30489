// Results of columns that are runs in the output: they wait next to the core until they fill lines of memory, wherever
// runs begin. Stored a leaf of rows at a time, lines at both ends of it would be fetched for a part each.
#pragma once
#include "kernels/cpu/crossing.h"
#include "kernels/cpu/tile_reads.h"

namespace ndfold::simd {

template <class A>
class LinesAcross {
  using V = LanesOf<A>;
  static constexpr int kWidth = kLanes<V>;

 public:
  explicit LinesAcross(const Arguments& step) : type_(step.output), suit_(suit(step)) {}
  LinesAcross(const LinesAcross&) = delete;
  LinesAcross& operator=(const LinesAcross&) = delete;

  /// Whether a step's columns are runs of several lines that squares of lanes do not fill by themselves: those are
  /// better stored from registers.
  static bool suit(const Arguments& step) {
    const Axis row = inner(step.reduced), column = inner(step.kept);
    const Index line = kLineBytes / static_cast<Index>(size_bytes(step.output));
    if (!step.past_caches || row.out != 1 || row.size < 2 * line || std::abs(column.out) == 1) return false;
    if (!visit_elements<A>(step.output, []<class T>(T) {})) return false;
    return line > kWidth || column.out % line != 0 || !begins_line(step.out);
  }

  /// Whether this step's do.
  bool suit() const { return suit_; }

  /// Rows of `groups` groups of lanes at `from` (ColumnPlace), columns `stride` elements apart.
  void add(std::byte* to, Index stride, Index columns, const RowOffsets& rows, int groups, const A* from) {
    visit_elements<A>(type_, [&]<class T>(T) {
      for (int r = 0; r < rows.count;) {
        const int n = neighbours(rows.out, r, rows.count, sizeof(T), rows.count);
        add_run<T>(reinterpret_cast<T*>(to + rows.out[r]), stride, columns, n, groups, from + r * groups * kWidth);
        r += n;
      }
    });
  }

  /// Writes what waits.
  void flush() {
    visit_elements<A>(type_, [&]<class T>(T) { flush_run<T>(); });
  }

 private:
  template <class T>
  static constexpr Index kLine = kLineBytes / static_cast<Index>(sizeof(T));
  template <class T>
  T* held(Index column) {
    return reinterpret_cast<T*>(held_ + column * kBytesOfColumn);
  }

  template <class T>
  void add_run(T* to, Index stride, Index columns, int n, int groups, const A* from) {
    if (reinterpret_cast<std::byte*>(to) != next_ || columns != columns_) begin(to, stride, columns);
    const Index pitch = groups * kWidth;
    for (int g = 0; g < groups; ++g)
      for (int k = 0; k < n; k += kWidth)
        turn<T>(from + k * pitch + g * kWidth, pitch, ColumnPlace<V>::first(g, columns), k, n - 1 - k);
    for (Index c = 0; c < columns; ++c) stream_lines<T>(c, n);
    next_ = reinterpret_cast<std::byte*>(to + n);
  }

  template <class T>
  void begin(T* to, Index stride, Index columns) {
    flush_run<T>();
    columns_ = columns;
    for (Index c = 0; c < columns; ++c, to += stride) {
      const Index others =
          static_cast<Index>(reinterpret_cast<std::uintptr_t>(to) % kLineBytes) / static_cast<Index>(sizeof(T));
      line_[c] = reinterpret_cast<std::byte*>(to - others);
      others_[c] = count_[c] = others;
    }
  }

  /// A square: rows k and on of kWidth columns, behind what these have already. What stands for rows beyond the `last`
  /// of them is overwritten by the next.
  template <class T>
  [[gnu::flatten, gnu::noinline]] void turn(const A* from, Index pitch, Index column, int k, int last) {
    V v[kWidth];
    unrolled<kWidth>([&](auto j) { v[j] = load<V>(from + std::min<int>(j, last) * pitch); });
    transpose_squares<kWidth>(v);
    const int columns = static_cast<int>(std::min<Index>(kWidth, columns_ - column));
    unrolled<kWidth>([&](auto i) {
      if (i < columns) store_elements(held<T>(column + i) + count_[column + i] + k, v[i]);
    });
  }

  /// The lines that n more rows complete.
  template <class T>
  [[gnu::always_inline]] void stream_lines(Index c, int n) {
    T* const all = held<T>(c);
    T* to = reinterpret_cast<T*>(line_[c]);
    const Index total = count_[c] + n;
    Index i = 0;
    for (; i + kLine<T> <= total; i += kLine<T>, to += kLine<T>) {
      if (others_[c] == 0)
        for (Index part = 0; part < kLine<T>; part += kWidth) stream_line(to + part, all + i + part);
      else
        std::copy_n(all + others_[c], kLine<T> - others_[c], to + others_[c]);
      others_[c] = 0;
    }
    if (i > 0) std::memcpy(all, all + i, kLineBytes);
    line_[c] = reinterpret_cast<std::byte*>(to);
    count_[c] = total - i;
  }

  template <class T>
  void flush_run() {
    for (Index c = 0; c < columns_; ++c)
      std::copy_n(held<T>(c) + others_[c], count_[c] - others_[c], reinterpret_cast<T*>(line_[c]) + others_[c]);
    columns_ = 0;
  }

  /// Of a column: what its line has already, a leaf, and what the last square has beyond it.
  static constexpr Index kBytesOfColumn = kLineBytes + (kTileRows + kWidth) * Index{sizeof(A)};

  DType type_;
  bool suit_;
  Index columns_ = 0;
  std::byte* next_ = nullptr;         // where the first column goes on
  std::byte* line_[kTileColumns<A>];  // that each column fills
  Index others_[kTileColumns<A>];     // elements at the begin of that line that are none of this column
  Index count_[kTileColumns<A>];      // elements of that line that are there, those of others included
  alignas(64) std::byte held_[kTileColumns<A> * kBytesOfColumn];
};

}  // namespace ndfold::simd
