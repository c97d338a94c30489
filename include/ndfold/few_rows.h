// Columns of few rows on a GPU: plans and kernels go by the same numbers.
#pragma once
#include <ndfold/step.h>

namespace ndfold {

/// So many rows of its columns a lane folds alone (kernels/cuda/few_rows.h), unless lanes are few.
inline constexpr Index kFewRows = 32;

/// And of 16-bit columns whose packs begin anywhere: of more, loads of words are quicker than loads of elements, up to
/// so many rows along one axis; beyond, packs of slots whose rows begin alike are (kernels/cuda/shifted_columns.h).
inline constexpr Index kFewRowsAnywhere = 16, kMostRowsAnywhere = 512;

}  // namespace ndfold
