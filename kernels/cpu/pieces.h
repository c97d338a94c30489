// Rows side by side in pieces: the lines that follow are asked for, then a loop without anything else in it runs, of
// which the compiler makes lanes.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/asking.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ndfold::simd {

/// Lines of a row, then of the next. Where they are asked for two are best: [4096,4096] f32 takes 1.5 ms that way, 1.9
/// with four lines, 2.9 with 64. Elsewhere more are (sum i32 of [4096,4096] on a Zen 4: 3.2 ms with two, 2.8 with 16).
inline constexpr Index kAskedLines = 2, kGuessedLines = 16;
inline constexpr int kRowsOfPiece = 8;

/// Calls work(first column, columns, kRowsOfPiece rows or one from there on) for the rows of a leaf.
template <class Rows, class Work>
void each_piece_of_rows(const Rows& rows, int count, Index columns, bool in_turn, const Work& work) {
  using T = std::decay_t<decltype(*rows.row(0))>;
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  const Index piece = (kAsksAhead ? kAskedLines : kGuessedLines) * kLine;
  int r = 0;
  for (; r + kRowsOfPiece <= count && !in_turn; r += kRowsOfPiece)
    for (Index first = 0; first < columns; first += piece) {
      const Index width = std::min(piece, columns - first);
      for (int k = 0; k < kRowsOfPiece && kAsksAhead; ++k)
        for (Index c = 0; c < width; c += kLine) __builtin_prefetch(rows.coming(r + k) + first + c);
      const auto some = [&]<int... K>(std::integer_sequence<int, K...>) {
        work(first, width, (rows.row(r + K) + first)...);
      };
      some(std::make_integer_sequence<int, kRowsOfPiece>());
    }
  for (; r < count; ++r) work(Index{0}, columns, rows.row(r));
}

}  // namespace ndfold::simd
