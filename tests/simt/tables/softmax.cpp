#include "tests/simt/tables/table.h"

namespace simt {
namespace {

template <class A, class T>
constexpr auto states_and_map() {
  return joined(fold_rows<cuda::Softmax<A>, T, Breadth::few>(FoldKind::softmax, kDTypeOf<A>),
                std::array{softmax_row<A, T, T, Breadth::many>()});
}

}  // namespace

std::span<const CatalogRow> softmax_rows() {
  static constexpr auto kRows = joined(
      states_and_map<float, float>(), states_and_map<float, BFloat16>(),
      std::array{softmax_row<float, Half, float, Breadth::few>(), softmax_row<float, Half, Half, Breadth::many>(),
                 softmax_row<float, float, Half, Breadth::few>(), softmax_row<double, double, double, Breadth::many>()});
  return kRows;
}

}  // namespace simt
