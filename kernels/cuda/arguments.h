// What a launch is given: one plain struct, passed by value, and the fast division that finds a tile's offsets.
#pragma once
#include <ndfold/step.h>

#include "kernels/folds/host_device.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ndfold::cuda {

/// After axes of size 1 are gone every axis has at least two elements, and no tensor has 2^63: 62 axes are the most
/// there is, so no rank is refused.
inline constexpr int kMostAxes = 62;

/// Shared bytes of a block that exchanges of states use; a tile of waiting elements comes after them. Plans reckon with
/// the same number (plans/build/geometry.cpp).
inline constexpr int kExchangeBytes = 4 * 1024;

inline constexpr int kWarp = 32, kWarpBits = 5, kVectorBytes = 16;  // of the widest load and store

/// Registers for numbers of a row that a lane of a bundle keeps, at most (plans/build/in_bundles.cpp).
inline constexpr int kKeptBytesOfBundle = 96;

/// Places of a ring of bundles, and the shared bytes before the first one (plans/build/in_bundles.cpp).
inline constexpr int kMostPlaces = 4, kArrivalBytes = 64;

/// Runs whose places a block knows at a time (whole_runs.h).
inline constexpr int kRunsOfTable = 2048;

/// Rows of columns whose places a block knows (row_places.h).
inline constexpr Index kMostRowPlaces = 4096;

/// Of a place for so many bytes, wherever they begin in a unit of 16.
constexpr Index place_bytes(Index bytes) { return (bytes + 15) / 16 * 16 + 16; }

/// Of a table of places within a line of columns (plans/build/columns_in_bundles.cpp).
constexpr Index table_bytes(Index places) { return (places * 2 + 15) / 16 * 16; }

/// Lanes side by side, and one more where they are many: what they leave of a column each shares no bank.
constexpr int spaced_lanes(int lanes) { return lanes < 8 ? lanes : lanes | 1; }

/// Shared bytes in which the states of columns meet, at most: blocks have them without asking (column_sharers.h).
inline constexpr Index kMostMeetingBytes = 40 * 1024;

/// Divides 0 ≤ n < 2^63: the high word of n · multiplier, shifted (Granlund and Montgomery 1994); and n < 2^31 with
/// words half as wide. By 1: multipliers 0.
struct Divider {
  std::uint64_t multiplier = 0;
  std::uint32_t narrow_multiplier = 0;
  std::int32_t shift = 0;  ///< of both
};

struct AxisNumbers {
  Index size = 1;
  Index in = 0, out = 0;  ///< strides in elements; `out` is a weight for argmax, as in Axis
  Index value = 0;        ///< elementwise: stride in the values
  Divider by = {};        ///< divides by size
};

/// Axes from near to far: the first ones here, the others in Arguments::far.
inline constexpr int kNearAxes = 3;
struct AxisGroup {
  int rank = 0, first_far = 0;
  AxisNumbers near[kNearAxes];
};

/// What offsets gain when an axis steps and the one nearer begins anew.
struct AxisTurn {
  Index in = 0, out = 0;
};

/// Which of a step's kernels takes buffers that begin where these do: the one for all, that for whole packs, for lines
/// or for runs that begin anywhere in a pack, for columns whose rows begin anywhere in a sector, or for elements one by
/// one.
enum class KernelOf { all, whole_packs, cut_lines, cut_runs, sectors, elements };
inline constexpr int kKernelsOfStep = 6;

/// Packs of each run of a row: so many of a run, of a part of the row, and of those that are taken before others.
struct PacksOfRun {
  Index packs = 0, part = 0;
  int together = std::numeric_limits<int>::max();
  Divider by;
};

/// One step with its buffers. What an axis is for depends on the body:
/// rows: a tile is an output, lanes lie along the innermost reduced axis, the others are walked.
/// columns: a tile is a panel of outputs, lanes lie along the innermost kept axis, all reduced axes are walked.
/// columns in bundles: a tile is a line of them; the lane axis is the innermost reduced one, walked with the others.
/// elementwise, permute: lanes along the axis that is nearest in memory; a permute crosses it with another, maps of
/// kept columns with the nearest reduced one.
struct Arguments {
  // What short kernels ask for lies together: each line of parameters that a multiprocessor has not seen is waited for.
  const std::byte* in = nullptr;  ///< with the step's offset
  std::byte* out = nullptr;
  Index tiles = 1;         ///< what blocks share in y
  Index packs_of_run = 1;  ///< packs that cover the lane axis wherever it begins; elementwise: or rows of a column
  double scale = 1, alpha = 1;
  Index repeat = 1, count = 0, ddof = 0, index_offset = 0;
  Scope scope = Scope::block;
  int lanes = 1;      ///< rows: lanes that share a row (Scope::lanes); columns: lanes side by side
  int lane_bits = 0;  ///< rows, and columns whose packs lie alike in all rows: log2 of lanes
  MapKind map = MapKind::none;
  SinkKind sink = SinkKind::store;
  DType output = DType::f32;
  bool whole_runs = false;         ///< rows: runs are whole aligned packs; columns: packs of every row are aligned
  bool results_lie_alike = false;  ///< rows: results of a line lie as its elements do
  bool results_follow = false;     ///< results of one tile after the other are equally far apart
  bool begins_alike = false;       ///< cut lines: every result lies as far from a whole pack as its element
  KernelOf kernel = KernelOf::all;
  AxisNumbers lane_axis;
  AxisGroup tile;

  Index reduced = 1;          ///< elements folded into one output
  Index part = 1, parts = 1;  ///< as in Step
  Index panels = 1;  ///< columns: panels side by side, or outputs of a line in bundles; permute: tiles along the lane
                     ///< axis; elementwise: panels side by side, or tiles that go along a line together
  Divider by_panels = {};
  int widest_panel = 1;  ///< columns: elements side by side, at most
  int rows_of_lane = 1;  ///< columns that wait in registers: of a lane, at most; others have one less
  int phase = 0;  ///< columns: elements by which panels begin before the axis, so that packs are aligned, or sectors
  Index columns = 1;  ///< columns: outputs of a whole panel, or of a line in bundles; what a group's part leaves
                      ///< states of;
                      ///< elementwise: of rows that are one line together, or 0
  bool indices_rise = false;  ///< columns: from one walked row to the next
  int row_places = 0;         ///< columns: shared bytes before the places of a part's rows; 0: they are not looked up
  Index tail = 0;             ///< elementwise: elements of the last of rows that were joined, if it is shorter

  AxisGroup walk;
  std::byte* exchange = nullptr;  ///< Scope::grid: two turns of states of each group of blocks
  unsigned* counters = nullptr;   ///< Scope::grid: one a group of blocks
  AxisTurn turns[kNearAxes];      ///< of the walked axes; rows: the first one's nearer axis is the lane axis

  Index inside_from = 0,
        inside_to = 0;  ///< cut lines and runs: first elements of rows around which packs are the input's
  Index reach_from = 0, reach_to = 0;  ///< cut runs, sectors: elements of the input lie so far from its first one
  PacksOfRun within, at_ends;          ///< cut runs of a reduction: packs within a run wherever it begins; others
  AxisNumbers cross_axis;

  const std::byte* values = nullptr;
  Divider by_packs = {};  ///< divides by packs_of_run
  Index cross_tiles = 1;  ///< permute: tiles along the cross axis
  Divider by_cross_tiles = {};
  Index sheets = 1;  ///< elementwise: tiles that lie side by side, of all runs
  Divider by_sheets = {};
  bool along_line = false;  ///< elementwise: lanes along a line, else along columns whose rows follow one another
  Index tile_bytes = 0;     ///< shared bytes for elements that wait, or for states of columns that meet
  int rows_of_bundle = 1;   ///< bundles: rows of one, or lines of columns
  int spacing_bits = 0;     ///< bundles: log2 of the distance between a warp's rows
  int places = 2;           ///< bundles: places of tile_bytes that they travel through
  int packs_of_lane = 1;    ///< columns of few rows: more than 1 for as many as its kernel has
  int group_bits = 0;  ///< columns: log2 of the lanes that share a panel, or fold one of all slots (tall_sectors.h)
  int tile_width = 1, tile_height = 1;  ///< permute: elements along the lane axis and along the cross axis;
                                        ///< elementwise: packs or rows of a tile, behind one another
  AxisNumbers far[kMostAxes - kNearAxes];
};

/// Kernel parameters of every toolkit and device have at least this much room.
static_assert(sizeof(Arguments) <= 4096);

using Kernel = void (*)(Arguments);

}  // namespace ndfold::cuda
