#include "tests/simt/tables/table.h"

namespace simt {

std::span<const Row> softmax_rows() {
  static constexpr Row kRows[] = {
      softmax_row<float, float, float, Breadth::all>(),  softmax_row<float, BFloat16, BFloat16, Breadth::all>(),
      softmax_row<float, Half, float, Breadth::block>(), softmax_row<float, Half, Half, Breadth::block>(),
      softmax_row<float, float, Half, Breadth::block>(), softmax_row<double, double, double, Breadth::block>()};
  return kRows;
}

}  // namespace simt
