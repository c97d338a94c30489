// Softmaxes of columns that wait in registers: what a lane keeps, as plans count on and kernels are compiled.
#pragma once
#include <ndfold/step.h>

#include <algorithm>
#include <bit>
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
inline constexpr int kLongLinePacks = 7, kTallRows = 7, kTallRowsOfHalf = 12;
/// And in panels that overlap (kernels/cuda/tall_sectors.h): words that are spilt cost 10 %.
constexpr int rows_of_tall_sectors(Index element_bytes) { return element_bytes < 4 ? 10 : 6; }
/// Columns of panels that are more than registers keep (kernels/cuda/tall_columns.h): of a lane; and the bytes in which
/// states meet, of so many threads, lanes side by side and blocks of a cluster: maxima and sums of each warp, both of
/// each block.
inline constexpr int kTallColumns = 4;
inline constexpr int kTallThreads = 512;
constexpr Index tall_meeting_bytes(Index threads, Index lanes, Index blocks) {
  constexpr Index kWarp = 32, kNumberBytes = 4;
  return 2 * (threads / kWarp + (blocks > 1 ? blocks : 0)) * lanes * kTallColumns * kNumberBytes;
}

constexpr bool is_of_tall_columns(const Tuning& tuning) {
  return tuning.unroll == kTallRows || tuning.unroll == kTallRowsOfHalf;
}
constexpr bool is_of_tall_sectors(const Tuning& tuning) {
  return tuning.unroll == rows_of_tall_sectors(2) || tuning.unroll == rows_of_tall_sectors(4);
}
/// Columns of which registers keep a part, or might.
inline bool keeps_tall_columns(const Step& step) {
  const KernelKey& kernel = step.kernel;
  return kernel.body == Body::columns && kernel.residency == Residency::registers &&
         (is_of_tall_columns(kernel.tuning) || is_of_tall_sectors(kernel.tuning));
}
/// Those of them in panels that overlap.
inline bool keeps_tall_sectors(const Step& step) {
  return keeps_tall_columns(step) && is_of_tall_sectors(step.kernel.tuning);
}

/// What memory writes at least.
inline constexpr Index kSectorBytes = 32;

/// Where rows end within sectors panels overlap, so that each sector of results is written by one block: of so many
/// columns that lanes have they are so many wide (kernels/cuda/column_sectors.h). No power of two.
constexpr Index width_by_sectors(Index columns_of_lanes, Index element_bytes) {
  return columns_of_lanes - 2 * kSectorBytes / element_bytes;
}

/// Whether panels of so many columns overlap.
constexpr bool is_width_by_sectors(Index width, Index element_bytes) {
  return width == width_by_sectors(static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(width))), element_bytes);
}

/// Columns that lanes of a block may have of such a panel of many rows (kernels/cuda/tall_sectors.h).
inline constexpr Index kTallSectorColumns[] = {128, 64};
/// Rows that begin alike in a sector, wherever each does: every n-th one.
constexpr Index rows_of_sector(Index element_bytes) { return kSectorBytes / element_bytes; }
/// Lanes side by side of panels so wide of rows of so many columns: of all of a row, wherever in a sector it begins.
constexpr Index lanes_of_tall_sectors(Index width, Index row, Index element_bytes) {
  const Index columns = width < row ? width : width + rows_of_sector(element_bytes) - 1;
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(columns))) / kTallColumns;
}

/// As tall_meeting_bytes(), of panels that overlap (kernels/cuda/tall_sectors.h): a number a column of each slot;
/// maxima and sums of the block, and of each.
constexpr Index tall_sectors_bytes(Index threads, Index lanes, Index blocks, Index element_bytes) {
  constexpr Index kNumberBytes = 4;
  const Index pitch = lanes * kTallColumns + rows_of_sector(element_bytes);
  return (threads / lanes + 2 + 2 * blocks) * pitch * kNumberBytes;
}

/// Whether columns are neighbours in the input and in the output.
inline bool are_neighbours(const Step& step) {
  return !step.kept.empty() && step.kept.back().in == 1 && step.kept.back().out == 1;
}

/// Whether neighbouring columns of each row begin alike in the input and in the output, by `unit` elements.
inline bool rows_begin_alike(const Step& step, Index unit) {
  const auto is_alike = [&](const Axis& axis) { return (axis.in - axis.out) % unit == 0; };
  return are_neighbours(step) && std::all_of(step.reduced.begin(), step.reduced.end(), is_alike) &&
         std::all_of(step.kept.begin(), step.kept.end() - 1, is_alike);
}

/// Whether rows of results are so many elements a number of times, or no neighbours.
inline bool results_are_whole(const Step& step, Index unit) {
  const auto is_whole = [&](const Axis& axis) { return axis.out % unit == 0; };
  return step.kept.empty() || step.kept.back().out != 1 ||
         (std::all_of(step.reduced.begin(), step.reduced.end(), is_whole) &&
          std::all_of(step.kept.begin(), step.kept.end() - 1, is_whole));
}
/// Whether they are whole sectors of memory.
inline bool are_whole_sectors(const Step& step) {
  return results_are_whole(step, rows_of_sector(static_cast<Index>(size_bytes(step.kernel.output))));
}

}  // namespace ndfold
