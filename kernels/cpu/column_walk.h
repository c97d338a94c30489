// A block of columns and the rows of it: which kept elements lie side by side, and where each reduced element's row
// starts.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/cpu/odometer.h"
#include "kernels/cpu/row_walk.h"

#include <algorithm>

namespace ndfold::simd {

/// Block `block` of a columns step: part of the innermost kept axis × part of the reduced elements. With it those that
/// follow, up to `most` in all, as far as they lie beside it: rows are read in longer stretches then. Panels that cut
/// vectors stay alone, for how a column is rounded depends on whether its vector is whole.
struct ColumnBlock {
  const std::byte* in;  // of its first column
  std::byte* out;       // of its first column's output
  Index columns;
  Index begin, end;  // reduced elements
  Index first_output, part = 0;
  Index blocks;  // that it takes
  Axis column;   // strides from one column to the next

  static constexpr Index kMostLanes = 64;

  ColumnBlock(const Arguments& step, Index block, Index most = 1) : column(inner(step.kept)) {
    const Index panels = column.size <= step.panel ? 1 : (column.size + step.panel - 1) / step.panel;
    Index panel = 0, line = 0;
    if (block > 0) panel = block % panels, part = block / panels % step.parts, line = block / panels / step.parts;
    const Index first = panel * step.panel;
    const Odometer lines(outer(step.kept), line);
    in = advance(step.in, step.input, lines.in() + first * column.in);
    out = advance(step.out, step.output, lines.out() + first * column.out);
    blocks = step.panel % kMostLanes == 0 ? std::min(most, panels - panel) : 1;
    columns = std::min(blocks * step.panel, column.size - first);
    begin = part * step.part;
    end = std::min(begin + step.part, elements(step.reduced));
    first_output = line * column.size + first;
  }

  /// Where a column's state goes, and how much further the next one's.
  Index state(const Arguments& step, Index at) const {
    const Index output = first_output + at;
    return step.outputs_side_by_side ? part * elements(step.kept) + output : output * step.parts + part;
  }
  static Index state_pitch(const Arguments& step) { return step.outputs_side_by_side ? 1 : step.parts; }
};

/// The rows of a leaf, as T, side by side for `columns` columns from `first` on.
template <class T, Loading kLoading>
class ColumnRows {
 public:
  /// Columns that fit when rows have to be staged.
  static constexpr Index kStagedColumns = 8192 / (kLeafRows / 4) / static_cast<Index>(sizeof(T) < 4 ? 4 : sizeof(T));

  static bool is_direct(const Arguments& step) {
    return inner(step.kept).in == 1 && (kNeverStaged<T> || lies_as<T, kLoading>(step.input));
  }

  ColumnRows(const Arguments& step, const ColumnBlock& block, Index first, Index columns)
      : type_(step.input),
        from_(advance(block.in, step.input, first * block.column.in)),
        stride_(block.column.in),
        columns_(columns),
        left_(block.end - block.begin),
        reduced_(step.reduced, block.begin),
        direct_(is_direct(step)),
        ahead_(direct_ ? rows_ahead(columns) : 0),
        are_from_memory_(direct_ && elements(step.kept) * elements(step.reduced) > kNear / Index{sizeof(T)}),
        are_past_caches_(direct_ && step.past_caches) {}

  /// Moves on to the next rows, at most as many as kLongLeafRows; how many they are, 0 at the end. Of rows that are
  /// staged kLeafRows at a time.
  int next(Index most = kLeafRows) {
    const int rows = static_cast<int>(std::min(left_, direct_ ? most : std::min(most, kLeafRows)));
    for (int r = 0; r < rows;) {
      const auto stretch = reduced_.next(rows - r);
      const std::byte* at = advance(from_, type_, stretch.in);
      const Index pitch = reduced_.run().in * static_cast<Index>(size_bytes(type_)), weight = reduced_.run().out;
      const int count = static_cast<int>(stretch.count);
      for (int i = 0; i < count; ++i) index_[r + i] = stretch.out + i * weight;
      if (direct_)
        for (int i = 0; i < count + kMostAhead; ++i) row_[r + i] = reinterpret_cast<const T*>(at + i * pitch);
      else
        for (int i = 0; i < count; ++i) {
          ask_for(at + (i + kStagedAhead) * pitch);
          row_[r + i] = staged(at + i * pitch, r + i);
        }
      r += count;
    }
    left_ -= rows;
    count_ = rows;
    return rows;
  }

  const T* row(int r) const { return row_[r]; }
  /// The row that will be read kAheadBytes after row r, as far as one can tell: for prefetches only.
  const T* coming(int r) const { return row_[r + ahead_]; }
  /// Row r as far as one can tell, maybe of the next leaf, for prefetches only; nothing where there is none. What lies
  /// behind rows that follow one another is read next.
  const T* following(int r) const { return r < count_ + left_ || row_[1] - row_[0] == columns_ ? row_[r] : nullptr; }
  bool are_from_memory() const { return are_from_memory_; }
  bool are_past_caches() const { return are_past_caches_; }
  Index index(int r) const { return index_[r]; }  // argmax, argmin: row-major index; softmax: output offset
  Index lowest_index(int count) const { return *std::min_element(index_, index_ + count); }

 private:
  static int rows_ahead(Index columns) {
    const Index rows = kAheadBytes / (columns * static_cast<Index>(sizeof(T)));
    return static_cast<int>(std::min(std::max(rows, kLeastAhead), kMostAhead));
  }

  static constexpr Index kNear = 1 << 20;  // bytes of all elements: a second cache may hold them
  static constexpr Index kStagedAhead = 2, kMostAsked = 8 << 10;
  static constexpr Index kLeastAhead = 4, kMostAhead = kLeafRows;

  /// The lines of a row that is staged soon.
  [[gnu::always_inline]] void ask_for(const std::byte* row) const {
    const Index bytes = std::abs(stride_) * columns_ * static_cast<Index>(size_bytes(type_));
    if (bytes > kMostAsked) return;
    const std::byte* const first = stride_ < 0 ? row - bytes : row;
    for (Index line = 0; line < bytes; line += 64) __builtin_prefetch(first + line);
  }

  const T* staged(const std::byte* at, int r) {
    if constexpr (kNeverStaged<T>) {
      return nullptr;
    } else {
      T* to = buffer_ + r * kStagedColumns;
      if constexpr (kLoading == Loading::truth)
        load_truth(type_, at, stride_, columns_, to);
      else
        load_run(type_, at, stride_, columns_, to);
      return to;
    }
  }

  DType type_;
  const std::byte* from_;
  Index stride_, columns_, left_;
  Stretches reduced_;
  bool direct_;
  int ahead_, count_ = 0;
  bool are_from_memory_, are_past_caches_;
  const T* row_[kLongLeafRows + kMostAhead];
  Index index_[kLongLeafRows];
  alignas(64) T buffer_[kNeverStaged<T> ? 1 : kLeafRows * kStagedColumns];
};

}  // namespace ndfold::simd
