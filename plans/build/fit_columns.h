// How a GPU's blocks and lanes share a reduction's columns: panels, threads, and lanes that share rows.
#pragma once
#include <ndfold/device.h>

#include "plans/schedule.h"

#include <span>

namespace ndfold {

/// Columns of rows that follow one another which a block of a GPU joins, at most (kernels/cuda/joined_rows.h).
inline constexpr Index kMostJoinedColumns = 256;

/// Whether packs of a row of columns begin elsewhere in the next.
bool has_uneven_rows(const Step& step);

/// Whether such a step folds packs of 16 bits, which are loaded wherever they begin (kernels/cuda/load_across.h).
bool loads_across(const Step& step);

/// Whether rows of so many columns are taken so, rather than by one lane, joined or shifted.
bool are_rows_anywhere(std::span<const Axis> reduced, Index columns);

/// Whether panels of so many bytes may be halved, so that more multiprocessors of a GPU have one.
bool is_small_and_wide(const Step& step, Index panel_bytes, Index all_panels, const DeviceFacts& device);

/// Panels of a reduction's columns, as wide as leaves enough of them to keep the device busy. Of few rows that lanes
/// fold alone: several packs a lane, and a block takes several panels where they are narrow.
void fit_panels(Step& step, const DeviceFacts& device);

/// Panels of columns whose rows begin elsewhere in a pack from one to the next: of few columns, where rows follow one
/// another, one panel, whose rows are folded as they lie in memory (kernels/cuda/joined_rows.h); else a pack less than
/// a power of two of lanes has, for packs begin up to so much before their panel (kernels/cuda/shifted_columns.h).
/// Wide ones, where that leaves not many more lanes idle and the device busy: what lies at either end of a row of a
/// panel is a part of a sector that two panels read.
void fit_uneven_rows(Step& step, const DeviceFacts& device);

/// The same of blocks that share rows in parts, which are as many whatever panels there are; and wide ones of rows that
/// are whole packs, but begin within a line of memory: sums f32 of 256 MiB down 300 and 340 columns take 75 and 76 us
/// by panels of 256 bytes, 70 and 70 of 512.
void fit_columns_in_parts(Step& step, const DeviceFacts& device);

/// All of it for columns that a block folds: panels, threads, rows that begin elsewhere, and how many lanes share rows.
void fit_columns(Step& step, const DeviceFacts& device);

}  // namespace ndfold
