#include "tests/simt/tables/table.h"

namespace simt {

std::span<const CatalogRow> variance_rows() {
  static constexpr auto kRows =
      joined(fold_rows<cuda::Variance<float>, float, Breadth::many>(FoldKind::var, DType::f32),
             fold_rows<cuda::Variance<float>, Half, Breadth::many>(FoldKind::var, DType::f32));
  return kRows;
}

}  // namespace simt
