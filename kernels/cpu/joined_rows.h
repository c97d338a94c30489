// Few columns whose rows lie one behind the other in memory: several such rows are one row of more columns, whose
// states meet once all rows are folded.
#pragma once
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/states.h"

namespace ndfold::simd {

/// A block of columns as one of `together` times as many, in `together` times fewer rows; a few rows are left over.
class JoinedRows {
  static constexpr Index kWorthwhile = 16;  // joined rows, at least

 public:
  /// How many rows become one of at most `most` columns: a power of two, 1 where they stay as they are. Where rows come
  /// in runs it divides all of them, and what the block has of them.
  static Index together(const Arguments& step, const ColumnBlock& block, Index most) {
    const Axis row = inner(step.reduced);
    const bool dense = step.reduced.rank > 0 && block.column.in == 1 && row.in == block.columns;
    if (!dense || block.columns != block.column.size) return 1;
    const Index bits = step.reduced.rank == 1 ? 0 : row.size | block.begin | block.end;
    const Index limit = std::min(most / block.columns, (block.end - block.begin) / kWorthwhile);
    Index rows = 1;
    while (2 * rows <= limit && bits % (2 * rows) == 0) rows *= 2;
    return rows;
  }

  JoinedRows(const Arguments& given, const ColumnBlock& from, Index together)
      : together_(together), row_(inner(given.reduced)), step_(given), block_(from), rest_(from) {
    const bool is_run = given.reduced.rank == 1;  // of which any rows may be joined
    first_ = is_run ? from.begin : 0;
    block_.in = advance(from.in, given.input, first_ * row_.in);
    block_.begin = (from.begin - first_) / together;
    block_.end = (from.end - first_) / together;
    rest_.begin = first_ + block_.end * together;
    column_ = {.size = from.columns * together, .in = 1, .out = 1};
    block_.columns = column_.size;
    block_.column = column_;
    step_.kept = {&column_, 1};
    std::copy(given.reduced.axes, given.reduced.axes + given.reduced.rank, reduced_);
    Axis& joined = reduced_[given.reduced.rank - 1];
    joined = {
        .size = is_run ? block_.end : joined.size / together, .in = joined.in * together, .out = joined.out * together};
    step_.reduced.axes = reduced_;
  }
  JoinedRows(const JoinedRows&) = delete;
  JoinedRows& operator=(const JoinedRows&) = delete;

  const Arguments& step() const { return step_; }
  const ColumnBlock& block() const { return block_; }
  /// The rows that are left over, as they were.
  const ColumnBlock& rest() const { return rest_; }

  /// What a column's indices are counted from.
  Index index_of(Index column) const { return (first_ + column / (column_.size / together_)) * row_.out; }

  /// Folds states[c + i · columns] over i, pairwise.
  template <class Fold>
  void meet(const Fold& fold, typename Fold::State* states) const {
    const Index columns = column_.size / together_;
    for (Index half = together_ / 2; half > 0; half /= 2)
      for (Index c = 0; c < half * columns; ++c) states[c] = fold.combine(states[c], states[c + half * columns]);
  }

 private:
  Index together_;   // rows
  Index first_ = 0;  // row that is joined
  Axis row_, column_, reduced_[kMostAxes];
  Arguments step_;
  ColumnBlock block_, rest_;
};

}  // namespace ndfold::simd
