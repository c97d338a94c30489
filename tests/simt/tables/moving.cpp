// The bodies that write as many elements as they read.
#include "tests/simt/tables/table.h"

namespace simt {

std::span<const CatalogRow> moving_rows() {
  static constexpr CatalogRow kRows[] = {map_row<float, float, float>(),    map_row<float, float, BFloat16>(),
                                         map_row<float, BFloat16, float>(), map_row<float, BFloat16, BFloat16>(),
                                         map_row<double, double, double>(), move_row<std::uint8_t>(),
                                         move_row<std::uint16_t>(),         move_row<std::uint32_t>(),
                                         move_row<std::uint64_t>()};
  return kRows;
}

}  // namespace simt
