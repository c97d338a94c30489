#include "kernels/folds/moments.h"
#include "tests/simt/tables/table.h"

namespace simt {

std::span<const Row> variance_rows() {
  static constexpr Row kRows[] = {fold_row<folds::Variance<float>, float, Breadth::all>(FoldKind::var, DType::f32),
                                  fold_row<folds::Variance<float>, Half, Breadth::all>(FoldKind::var, DType::f32)};
  return kRows;
}

}  // namespace simt
