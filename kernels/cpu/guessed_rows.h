// Rows of columns that come from memory, on machines that are not asked for all they read: where their guesses are bad,
// rows are taken in another order, or asked for in the order of memory.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/asking.h"

namespace ndfold::simd {

/// Rows that are folded before they meet a state.
inline constexpr int kRowsAtOnce = 8;

/// Whether rows are more than a core's caches hold, and lie as they are folded: machines differ in how they guess such.
template <class Rows>
bool are_guessed(const Rows& rows) {
  if constexpr (requires { rows.are_from_memory(); })
    return !kAsksAhead && rows.are_from_memory();
  else
    return false;
}

/// Rows of bytes that follow one another, one after the other: a stream to a machine that guesses, as long as what they
/// are added to, `states` bytes a column, stays in its first cache (argmax u8 of [65536,1024] on a Zen 4: 14 GB/s eight
/// rows at a time, 24 so). Of wider elements, of more columns and of rows apart eight rows are better.
template <class T, class Rows>
bool are_taken_in_turn(const Rows& rows, int count, Index columns, Index states) {
  constexpr Index kMostBytes = 8 << 10;
  return sizeof(T) == 1 && columns * states <= kMostBytes && count > 1 && rows.row(1) - rows.row(0) == columns &&
         are_guessed(rows);
}

/// The lines of the next leaf, in the order of memory, asked for while this one is looked at again: on a Zen 4, which
/// guesses little of what is read in turns, std of [4096,4096] f32 axis 0 took 4.9 ms without and 4.2 so.
template <class Rows>
class LinesOfNextLeaf {
  static constexpr Index kAtOnce = kRowsAtOnce, kLine = 64;

 public:
  LinesOfNextLeaf(const Rows& rows, Index row_bytes) : rows_(rows), row_bytes_(row_bytes) {
    if (row_bytes >= kAtOnce * kLine) begin(0);
  }

  /// As many as a group of lanes has rows at once.
  [[gnu::always_inline]] void ask() {
    if (at_ == nullptr) return;
    for (Index line = 0; line < kAtOnce; ++line) __builtin_prefetch(at_ + line * kLine, 0, 2);
    at_ += kAtOnce * kLine;
    if (at_ >= end_) begin(row_ + 1);
  }

 private:
  void begin(int row) {
    at_ = nullptr;
    if (row == kLeafRows) return;
    if constexpr (requires { rows_.of_next_leaf(row); }) at_ = reinterpret_cast<const char*>(rows_.of_next_leaf(row));
    end_ = at_ + row_bytes_, row_ = row;
  }

  const Rows& rows_;
  Index row_bytes_;
  const char *at_ = nullptr, *end_ = nullptr;
  int row_ = 0;
};

}  // namespace ndfold::simd
