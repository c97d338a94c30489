// Softmaxes of columns that wait in registers: what a lane keeps, as plans count on and kernels are compiled.
#pragma once
#include <ndfold/step.h>

#include <algorithm>
#include <iterator>

namespace ndfold {

/// Columns that wait in registers: rows and columns that a lane keeps, of blocks of so many threads at most. Of few
/// rows columns enough for a whole load, of many the fewest, so that more lanes share the rows.
struct KeptColumns {
  int rows, columns, threads;
};
inline constexpr int kMostKeptRows = 512;  ///< of a panel
/// Loads of 16-bit elements that a lane keeps as numbers; of more it keeps the elements.
inline constexpr int kMostNumberedLoads = 4;

/// The least that is compiled for lanes of so many rows (`unroll`), of elements of 2 or 4 bytes. Two of 16 bits share a
/// register: lanes have twice as many.
constexpr KeptColumns kept_columns(const Tuning& tuning, Index element_bytes) {
  const int more = element_bytes == 2 ? 2 : 1;
  const KeptColumns compiled[] = {{4, 4 * more, 256}, {8, 4 * more, 256}, {16, 2 * more, 512 / more}};
  for (const KeptColumns& kept : compiled)
    if (tuning.unroll <= kept.rows) return kept;
  return compiled[std::size(compiled) - 1];
}

/// What a lane of 512 keeps in registers where shared memory keeps the rest: packs of a line
/// (kernels/cuda/long_lines.h), and rows of columns of 4 and of 2 bytes (kernels/cuda/tall_columns.h). With one more
/// words are spilt: with eight packs bf16 lines of 65 536 take 149 us for 138.
inline constexpr int kLongLinePacks = 7, kTallRows = 7, kTallRowsOfHalf = 10;
/// Columns of panels that are more than registers keep (kernels/cuda/tall_columns.h): of a lane; and the bytes in which
/// states meet, of so many threads, lanes side by side and blocks of a cluster: maxima and sums of each warp, both of
/// each block.
inline constexpr int kTallColumns = 4;
constexpr Index tall_meeting_bytes(Index threads, Index lanes, Index blocks) {
  constexpr Index kWarp = 32, kNumberBytes = 4;
  return 2 * (threads / kWarp + (blocks > 1 ? blocks : 0)) * lanes * kTallColumns * kNumberBytes;
}

/// What memory writes at least.
inline constexpr Index kSectorBytes = 32;

/// Where rows end within sectors panels overlap, so that each sector of results is written by one block: of so many
/// columns that lanes have they are so many wide (kernels/cuda/column_sectors.h). No power of two.
constexpr Index width_by_sectors(Index columns_of_lanes, Index element_bytes) {
  return columns_of_lanes - 2 * kSectorBytes / element_bytes;
}

/// Whether neighbouring columns of each row begin alike in the input and in the output, by `unit` elements.
inline bool rows_begin_alike(const Step& step, Index unit) {
  const auto is_alike = [&](const Axis& axis) { return (axis.in - axis.out) % unit == 0; };
  const Axis& lane = step.kept.back();
  return lane.in == 1 && lane.out == 1 && std::all_of(step.reduced.begin(), step.reduced.end(), is_alike) &&
         std::all_of(step.kept.begin(), step.kept.end() - 1, is_alike);
}

}  // namespace ndfold
