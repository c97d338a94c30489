#include "kernels/folds/arg_extremum.h"
#include "tests/simt/tables/table.h"

namespace simt {

std::span<const CatalogRow> argmax_rows() {
  static constexpr auto kRows =
      joined(fold_rows<folds::ArgMax<float>, float, Breadth::many>(FoldKind::argmax, DType::f32));
  return kRows;
}

}  // namespace simt
