#include "kernels/folds/sum.h"

#include "tests/simt/tables/table.h"

namespace simt {

std::span<const Row> sum_rows() {
  static constexpr Row kRows[] = {fold_row<folds::Sum<float>, float, Breadth::all>(FoldKind::sum, DType::f32)};
  return kRows;
}

}  // namespace simt
