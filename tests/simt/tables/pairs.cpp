// Indices of 16-bit numbers, which columns look for in pairs.
#include "kernels/folds/arg_extremum.h"
#include "tests/simt/tables/table.h"

namespace simt {

std::span<const CatalogRow> pair_rows() {
  static constexpr auto kRows =
      joined(fold_rows<folds::ArgMax<float>, BFloat16, Breadth::many>(FoldKind::argmax, DType::f32),
             fold_rows<folds::ArgMin<float>, Half, Breadth::many>(FoldKind::argmin, DType::f32));
  return kRows;
}

}  // namespace simt
