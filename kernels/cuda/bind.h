// From a step to a launch: numbers that the kernels read, and the shape of the grid. Plain host code, no CUDA.
#pragma once
#include "kernels/cuda/arguments.h"

#include <array>

namespace ndfold::cuda {

/// A kernel, or none; the most threads that its blocks may have; and elements of the input that a lane loads at a time.
struct Found {
  Kernel kernel = nullptr;
  int threads = 0;
  int pack = 1;
  int columns = 0;                ///< of a lane, where they are more than a pack
  int packs = 1;                  ///< as many columns once more, that a lane of a wide panel may have
  bool bundles = false;           ///< rows come in bundles (bundles.h)
  bool joined = false;            ///< columns: rows are joined (joined_rows.h)
  bool shifted = false;           ///< columns: packs begin elsewhere from row to row (shifted_columns.h)
  bool looks_up_rows = false;     ///< columns: where those of a part lie (row_places.h)
  int state_bytes = 0;            ///< of a state, where those of a tile meet in shared memory: reductions of columns
  int meeting_bytes = 0;          ///< of a lane's columns, where registers keep them (column_registers.h); else 0
  Kernel sectors = nullptr;       ///< the same where rows end within sectors (column_sectors.h)
  Kernel tall_columns = nullptr;  ///< a softmax: of panels that are more than registers keep (tall_columns.h)
  Kernel tall_sectors = nullptr;  ///< the same where rows end within sectors (tall_sectors.h)
  Kernel whole_lines =
      nullptr;  ///< rows: of lines that are whole packs, so many of them a lane at most (whole_lines.h)
  int packs_of_line = 0;
  bool looks_twice = false;           ///< a reduction that knows of all lanes before it folds (whole_lines.h)
  Kernel long_lines = nullptr;        ///< rows of a softmax: of lines that begin anywhere in a pack (long_lines.h)
  Kernel long_lines_apart = nullptr;  ///< the same where results begin elsewhere in a pack
  int packs_of_long_line = 0;         ///< in registers, of a lane
  Kernel short_lines = nullptr;       ///< rows: of those that have no more packs than lanes
  Kernel whole_runs = nullptr;        ///< rows: of runs that are whole packs, any number and length (whole_runs.h)
  Kernel cut_lines = nullptr;         ///< rows: of lines of neighbours (cut_lines.h)
  Kernel cut_runs = nullptr;          ///< rows: of runs of neighbours (cut_runs.h, fold_cut_runs.h)
  int packs_of_cut_runs = 0;          ///< a softmax: of a line, a lane at most
  bool two_lists = false;             ///< packs within runs are a list of their own (fold_cut_runs.h)
  Kernel elements = nullptr;          ///< rows: of packs of one, wherever they lie, so many of a line a lane at most
  int elements_of_line = 0;
  Kernel travelling = nullptr;        ///< a softmax in a grid, whose tiles travel through a ring (travelling.h)
  Kernel travelling_apart = nullptr;  ///< the same of rows whose results begin elsewhere in a pack (travelling_apart.h)
  Kernel travelling_elements = nullptr;  ///< the same in packs of one, wherever they lie
  Kernel travelling_sectors = nullptr;   ///< the same of columns whose rows end within sectors (travelling_sectors.h)
  bool in_order = false;                 ///< elements are taken in the order of their numbers alone, but by `kernel`
};

struct Pointers {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::byte* workspace = nullptr;
};

struct LaunchShape {
  Index grid_x = 1, grid_y = 1;
  int threads = kWarp;  ///< whole warps
  int cluster = 1;      ///< blocks along x
  Index shared_bytes = 0;
  bool cooperative = false;
  bool begins_early = false;  ///< before the launch before has ended, which the kernel awaits
};

/// What a kernel's choice depends on besides its key.
struct Layout {
  bool dense = false;      ///< packs are neighbours in the input, and of every run those of all are whole
  bool same_axis = false;  ///< permute: one axis is nearest on both sides
  bool few_rows = false;   ///< columns: so few rows that lanes had better share none (few_rows.h)
  bool shifted = false;    ///< columns: rows begin elsewhere in a pack from one to the next (shifted_columns.h)
  int kept_rows = 0;       ///< columns: as kept_columns() says, where registers have room for a panel; else 0
  bool joined = false;     ///< columns: few, no whole packs, of rows that follow one another (joined_rows.h)
  bool anywhere = false;   ///< columns: 16-bit neighbours, of rows that may begin anywhere (load_across.h)
  bool in_line = false;    ///< all elements behind an output lie along one axis
};

/// How the step's buffers lie, before a kernel is chosen.
Layout layout_of(const Step& step);

/// One of a step's kernels, or none, and the shared memory that its blocks have.
struct StepKernel {
  Kernel kernel = nullptr;
  Index shared_bytes = 0;
  int threads = 0;            ///< where they are not the launch's
  bool begins_early = false;  ///< as LaunchShape says
};

/// Packs that cover a run, and those of them that may be cut.
struct Cover {
  Index packs = 0;  ///< 0: more than there is room for
  Divider by = {};
  PacksOfRun at_ends = {};
};

/// Columns that registers keep, of panels that overlap: instead of what Arguments says of panels (column_sectors.h).
struct SectorPanels {
  int width = 0, lanes = 1, lane_bits = 0, rows_of_lane = 1, group_bits = 0;
  bool any_phase = false;  ///< results may begin elsewhere in a pack than elements
  bool shifted = false;    ///< none overlaps: rows are whole sectors, and panels begin where results do in one
  Index panels = 1, tiles = 1;
  Divider by_panels = {};
  Index out_from = 0, out_to = 0;  ///< elements of the output lie so far from its first one
};

/// A step and its kernels, complete but for addresses: made with the plan.
struct Bound {
  Arguments arguments;  ///< as for buffers that begin where whole packs do
  LaunchShape launch;
  Buffer in, out, values, exchange;
  Index in_bytes = 0, out_bytes = 0;  ///< from where the buffers begin
  Index counter_bytes = 0;
  Index element_bytes = 1;
  Body body = Body::rows;
  int pack = 1;
  int columns = 1;  ///< of a lane
  bool bundles = false;
  bool joined = false, shifted = false;
  bool runs_begin_alike = false;  ///< every run begins as far from a whole pack as the first
  bool panels_are_fixed = false;  ///< columns: no more than were counted on
  bool keeps_columns = false;     ///< in registers: neighbours, or apart
  bool begins_alike = false;      ///< every result lies as far from a whole pack as its element, if the first one does
  bool joins = false;             ///< columns that travel: rows are one long row (travelling_joined.h)
  bool begins_anywhere =
      false;  ///< rows, or those that are one: the kernel for whole packs takes them wherever in one the first begins
  Index run_unit = 1;            ///< cut runs: elements by whose multiples runs begin later in a pack than the first
  Cover cover_units, cover_any;  ///< cut runs: where the first one begins at such a multiple, and elsewhere
  PacksOfRun within_run;         ///< cut runs: packs that are whole wherever a run begins
  SectorPanels sectors;
  std::array<StepKernel, kKernelsOfStep> kernels;  ///< by KernelOf

  const StepKernel& kernel(KernelOf of) const { return kernels[static_cast<std::size_t>(of)]; }
  StepKernel& kernel(KernelOf of) { return kernels[static_cast<std::size_t>(of)]; }
  bool has(KernelOf of) const { return kernel(of).kernel != nullptr; }
  LaunchShape shape(KernelOf of) const {
    LaunchShape shape = launch;
    shape.shared_bytes = kernel(of).shared_bytes;
    if (kernel(of).threads > 0) shape.threads = kernel(of).threads;
    shape.begins_early = kernel(of).begins_early;
    return shape;
  }
};

/// Nothing but speed depends on how many threads a block has.
Bound bind(const Step& step, const Found& found);

/// The arguments of a launch on these buffers. Allocates nothing.
Arguments place(const Bound& bound, const Pointers& pointers);

Divider divide_by(Index divisor);

}  // namespace ndfold::cuda
