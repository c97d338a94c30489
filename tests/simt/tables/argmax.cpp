#include "kernels/folds/arg_extremum.h"
#include "tests/simt/tables/table.h"

namespace simt {

std::span<const Row> argmax_rows() {
  static constexpr Row kRows[] = {fold_row<folds::ArgMax<float>, float, Breadth::all>(FoldKind::argmax, DType::f32)};
  return kRows;
}

}  // namespace simt
