#include "kernels/folds/sum.h"

#include "tests/simt/tables/table.h"

namespace simt {

std::span<const CatalogRow> sum_rows() {
  static constexpr auto kRows =
      joined(fold_rows<folds::Sum<float>, float, Breadth::many>(FoldKind::sum, DType::f32),
             fold_rows<folds::Sum<float>, BFloat16, Breadth::many>(FoldKind::sum, DType::f32));
  return kRows;
}

}  // namespace simt
