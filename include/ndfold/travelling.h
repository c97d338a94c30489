// Rows and columns that travel through shared memory (kernels/cuda/travelling.h): what plans count on and kernels need.
#pragma once
#include <ndfold/kept_columns.h>
#include <ndfold/step.h>

namespace ndfold {

/// At whose multiples parts of rows begin; columns travel in panels as wide as that.
inline constexpr Index kTravellingLineBytes = 128;
constexpr int travelling_columns(Index element_bytes) { return static_cast<int>(kTravellingLineBytes / element_bytes); }
/// Of panels that overlap (kept_columns.h): they are as wide as two lines, but for what the next one writes.
constexpr bool travels_by_sectors(const Step& step) {
  const Index element = static_cast<Index>(size_bytes(step.kernel.input));
  return step.kernel.body == Body::columns && step.kernel.source != SourceKind::joined &&
         step.kernel.tuning.panel_bytes == width_by_sectors(2 * travelling_columns(element), element) * element;
}
/// Of rows that follow one another, as one long row (kernels/cuda/travelling_joined.h).
constexpr bool travels_joined(const Step& step) { return step.kernel.source == SourceKind::joined; }
inline constexpr int kMostColumnsToJoin = 128;

/// Of a tile: a panel's, or one row; with those that the next panel writes.
constexpr int travelling_columns(const Step& step) {
  const int line = travelling_columns(static_cast<Index>(size_bytes(step.kernel.input)));
  if (travels_joined(step)) return static_cast<int>(step.kept.back().size);
  return step.kernel.body != Body::columns ? 1 : travels_by_sectors(step) ? 2 * line : line;
}

/// Of a block's lanes those whose packs always hold the same columns, if each takes every so many-th.
constexpr int joined_lanes(int threads, int columns, int pack) {
  constexpr int kMany = 24;
  int together = columns;  // packs after which columns begin anew: a pack is a power of two
  for (; pack > 1 && together % 2 == 0; pack /= 2) together /= 2;
  const int times = threads / together, even = together % 2 == 0 || times < kMany ? times : times / 2 * 2;
  return even * together;  // an even number, where that is not many fewer: each pack is half a sector
}

/// Packs of a lane that are one batch at most, which takes one place of the ring.
inline constexpr int kTravellingLoads = 8;

constexpr Index batch_bytes(int threads, int loads) {
  constexpr Index kVectorBytes = 16;
  return threads * loads * kVectorBytes;
}

/// How the lanes of a block take a part: in as few batches as do, of as few packs as do.
struct Batches {
  int count, loads;
};
constexpr Batches batches_of(Index part_bytes, int threads) {
  const Index of_pack_each = batch_bytes(threads, 1);
  const int packs = static_cast<int>((part_bytes + of_pack_each - 1) / of_pack_each);
  const int count = (packs + kTravellingLoads - 1) / kTravellingLoads;
  return {count, (packs + count - 1) / count};
}

/// Where tiles of so many turns lie stands in shared memory, so many bytes of each.
inline constexpr Index kTurnsOfPlaces = 32, kPlaceBytes = 24;
inline constexpr Index kMostPlacesOfRing = 6;  ///< fewer turns than those are on their way

/// Between the states of a warp's columns and those of the next: lanes read a few columns of all warps at once, which
/// are then in other banks of shared memory.
constexpr Index pitch_of_states(Index warps, Index columns) { return columns > 1 ? columns + 32 / warps : 1; }

/// Shared bytes before the ring, of blocks of so many threads whose tiles are so many columns: states of all warps, of
/// the whole (of columns what is made of it), and of columns those that warps read; places of turns. Whole lines: where
/// shared memory has its lines elsewhere than device memory, copies take a third of the bandwidth more.
constexpr Index travelling_states_bytes(int threads, int columns) {
  constexpr Index kWarp = 32, kStateBytes = 8;
  const Index warps = threads / kWarp, areas = columns > 1 ? 2 : 1;
  const Index states = areas * (warps * pitch_of_states(warps, columns) + columns);
  const Index bytes = states * kStateBytes + kTurnsOfPlaces * kPlaceBytes;
  return (bytes + kTravellingLineBytes - 1) / kTravellingLineBytes * kTravellingLineBytes;
}

/// The same of rows that are joined, whose lanes have a pack's columns each: states of all lanes, and what is made of
/// those of all columns.
constexpr Index joined_states_bytes(int threads, int pack) {
  constexpr Index kStateBytes = 8;
  const Index bytes = (2 * kMostColumnsToJoin + Index{threads} * pack) * kStateBytes + kTurnsOfPlaces * kPlaceBytes;
  return (bytes + kTravellingLineBytes - 1) / kTravellingLineBytes * kTravellingLineBytes;
}

/// What a step's blocks have of shared memory before the ring, but for places that are looked up; of so many elements a
/// pack.
constexpr Index travelling_bytes_before(const Step& step, int threads, int pack) {
  return travels_joined(step) ? joined_states_bytes(threads, pack)
                              : travelling_states_bytes(threads, travelling_columns(step));
}

/// Where runs of a part begin, or rows of a panel that lie along several axes, stands in shared memory after those, so
/// many bytes of each: `part` and `of_run` in reduced elements.
inline constexpr Index kRunBytes = 8;
constexpr Index runs_of_part(Index part, Index of_run) { return of_run == 1 ? part : part / of_run + 2; }
constexpr Index travelling_table_bytes(Index part, Index of_run) {
  const Index bytes = runs_of_part(part, of_run) * kRunBytes;
  return (bytes + kTravellingLineBytes - 1) / kTravellingLineBytes * kTravellingLineBytes;
}

/// Words that the blocks of a tile leave for each other: turns whose words live together, as kernels alternate them.
inline constexpr Index kTurnsOfWords = 4, kWordBytes = 8;

}  // namespace ndfold
