// What kernels of a GPU reach with rows, of a line or of several runs, of what memory allows.
#pragma once
#include "plans/schedule.h"

namespace ndfold {

/// Of the innermost reduced axis.
double run_bytes(const Step& step);

/// Whether a reduction's rows of several runs, or a step's lines, begin and end anywhere in a pack.
bool has_cut_runs(const Step& step);
bool is_of_cut_lines(const Step& step);

/// Of a softmax's rows: runs of less than a sector, with gaps that are nobody's, of which a line of memory has several.
bool has_near_short_runs(const Step& step);

/// Rows of a reduction, by their runs and by the states that they leave.
double share_of_runs(const Step& step);

/// A softmax's rows of several runs; and those that wait in shared memory, beside those in registers.
double share_of_short_runs(const Step& step);
double share_of_shared_runs(const Step& step);

}  // namespace ndfold
