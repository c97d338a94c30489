#include "tests/simt/tables/table.h"

namespace simt {

std::span<const CatalogRow> softmax_rows() {
  static constexpr auto kRows = joined(
      fold_rows<cuda::LogSumExp<float>, BFloat16, Breadth::many>(FoldKind::logsumexp, DType::f32),
      std::array{
          softmax_row<float, float, float, Breadth::many>(), softmax_row<float, BFloat16, BFloat16, Breadth::many>(),
          softmax_row<float, Half, float, Breadth::few>(), softmax_row<float, Half, Half, Breadth::many>(),
          softmax_row<float, float, Half, Breadth::few>(), softmax_row<double, double, double, Breadth::many>()});
  return kRows;
}

}  // namespace simt
