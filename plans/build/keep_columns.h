// Softmaxes of columns that wait in registers: how wide their panels are, and who keeps them.
#pragma once
#include <ndfold/kept_columns.h>

#include "plans/build/geometry.h"

namespace ndfold {

/// Lets a softmax's columns wait in registers: panels as wide as lanes have room for all rows, and blocks of no more
/// threads than they need. Whether they do; else the step is as it was.
bool keep_columns(Step& step, const DeviceFacts& device);

/// Lets columns of rows along one axis wait in registers and beyond them in shared memory, a step's part of them:
/// panels of as many bytes as the step's tuning says where rows are whole packs, or more where they cut sectors
/// (kernels/cuda/tall_columns.h), else panels that overlap (kernels/cuda/tall_sectors.h). Whether they do; else the
/// step is as it was.
bool keep_tall_columns(Step& step, const DeviceFacts& device);

/// Whether such panels are narrow and have their ends within sectors.
bool cuts_many_sectors(const Step& step);

/// Columns of a row that lanes load of such panels: those of panels that overlap more than once.
Index columns_read(const Step& step);

/// Lets panels that may travel overlap, where their rows end within sectors of memory; else the step is as it was.
bool overlap_to_travel(Step& step, const DeviceFacts& device);

/// Whether columns' rows are whole packs, in the input and what is mapped in the output, if the first one is.
bool has_even_rows(const Step& step);

/// Whether the panels of a step overlap so.
bool overlaps(const Step& step);

}  // namespace ndfold
