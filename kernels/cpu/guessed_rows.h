// Rows of columns that come from memory, on machines that are not asked for all they read: where their guesses are bad,
// rows are taken in another order, or asked for in the order of memory.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/asking.h"

namespace ndfold::simd {

/// Rows that are folded pairwise before they meet a state, and rows that a machine reads side by side.
inline constexpr int kRowsTogether = 4, kRowsAtOnce = 8;

/// Whether rows are more than a core's caches hold, and lie as they are folded: machines differ in how they guess such.
/// A Zen 3 follows eight rows at once as long as nobody asks: sum of [4096,4096] f32 axis 0 at 31 GB/s, 22 where the
/// next are asked for.
template <class Rows>
bool are_guessed(const Rows& rows) {
  if constexpr (requires { rows.are_from_memory(); })
    return asks_from_far() && rows.are_from_memory();
  else
    return false;
}

/// Bytes of a row of which the next ones are asked for line by line, at least.
inline constexpr Index kLeastAskedBytes = kRowsAtOnce * 64;

/// Whether they are more than all caches hold, too. From a third cache rows come soon enough ([128,4096] f32 axis 0 on
/// a Zen 4: 34 us, 41 where the next rows are asked for).
template <class Rows>
bool come_from_far(const Rows& rows) {
  if constexpr (requires { rows.are_past_caches(); })
    return (!kAsksAhead || kAsksForRows) && rows.are_past_caches();
  else
    return false;
}
template <class Rows>
bool are_guessed_from_far(const Rows& rows) {
  return asks_from_far() && come_from_far(rows);
}

/// The same where each line takes more than a few instructions.
template <class Rows>
bool are_waited_for(const Rows& rows) {
  return !kReadsInTurns && come_from_far(rows);
}

/// Whether it had better read no more rows side by side than are folded together: a Zen 5, where they are whole pages
/// apart. Loops for sums of f32 of 4096, 5120 and 6144 columns 45, 37 and 39 GB/s eight at once, 49, 40 and 42 four at
/// once, maxima 39, 33 and 34, 42, 35 and 37; but of 4000, 4608 and 7000 columns sums 49, 47 and 46, 48, 45 and 44.
template <class Rows>
bool come_in_fours(const Rows& rows) {
  constexpr Index kPage = 4096;
  return kAsksForRows && come_from_far(rows) && (rows.row(1) - rows.row(0)) * Index{sizeof(*rows.row(0))} % kPage == 0;
}

/// Calls work(integral constant of the nearest cache that lines are asked into, as __builtin_prefetch has it).
template <class Work>
[[gnu::always_inline]] inline void with_nearest_cache(const Work& work) {
  if (kAsksForRows)
    work(std::integral_constant<int, 3>());
  else
    work(std::integral_constant<int, 2>());
}

/// Rows of bytes that follow one another, one after the other: a stream to a machine that guesses, as long as what they
/// are added to, `states` bytes a column, stays in its first cache (argmax u8 of [65536,1024] on a Zen 4: 14 GB/s eight
/// rows at a time, 24 so). Of wider elements, of more columns and of rows apart eight rows are better, and where the
/// next are asked for.
template <class T, class Rows>
bool are_taken_in_turn(const Rows& rows, int count, Index columns, Index states) {
  constexpr Index kMostBytes = 8 << 10;
  return sizeof(T) == 1 && columns * states <= kMostBytes && count > 1 && rows.row(1) - rows.row(0) == columns &&
         are_guessed(rows) && !(are_guessed_from_far(rows) && columns >= kLeastAskedBytes);
}

/// The lines of rows that come later, in the order of memory, asked for into a cache while others are folded: a Zen 4
/// guesses little of what is read in turns. Sum of [4096,4096] f32 axis 0, eight rows at a time and the next eight
/// asked for: 2.26 ms without, 2.02 so, a stream 2.02; of [16384,4096] u8: 3.4, 2.7. Std looks at a leaf again while
/// the next one comes: 4.9 ms without, 4.2 so.
template <class Rows, int kCache = 2>
class LinesOfRows {
  static constexpr Index kLine = 64;

 public:
  /// Rows [first, end) of the leaf, or beyond it.
  LinesOfRows(const Rows& rows, int first, int end, Index row_bytes) : rows_(rows), row_bytes_(row_bytes), end_(end) {
    if (row_bytes >= kLeastAskedBytes) begin(first);
  }

  template <Index kLines = kRowsAtOnce>
  [[gnu::always_inline]] void ask() {
    if (at_ == nullptr) return;
    for (Index line = 0; line < kLines; ++line) __builtin_prefetch(at_ + line * kLine, 0, kCache);
    at_ += kLines * kLine;
    if (at_ >= end_of_row_) begin(row_ + 1);
  }

 private:
  void begin(int row) {
    at_ = nullptr;
    if (row == end_) return;
    if constexpr (requires { rows_.following(row); }) at_ = reinterpret_cast<const char*>(rows_.following(row));
    end_of_row_ = at_ + row_bytes_, row_ = row;
  }

  const Rows& rows_;
  Index row_bytes_;
  const char *at_ = nullptr, *end_of_row_ = nullptr;
  int row_ = 0, end_;
};

}  // namespace ndfold::simd
