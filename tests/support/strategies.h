// The names of all strategies for a GPU, to force each of them.
#pragma once
#include <array>
#include <span>

namespace ndfold::test {

inline constexpr std::array kGpuStrategies = {"nothing",
                                              "copy",
                                              "rows_in_bundles",
                                              "rows_in_lanes",
                                              "rows_in_block",
                                              "rows_in_cluster",
                                              "rows_in_grid",
                                              "columns_in_bundles",
                                              "columns_in_lanes",
                                              "columns_in_block",
                                              "columns_in_cluster",
                                              "columns_in_grid",
                                              "split",
                                              "columns_first",
                                              "nearest_first",
                                              "wide_columns",
                                              "permute_then_rows",
                                              "softmax_chain"};

/// Those that read something.
inline constexpr std::span kReadingStrategies = std::span(kGpuStrategies).subspan<1>();

/// Those that fold.
inline constexpr std::span kFoldingStrategies = std::span(kGpuStrategies).subspan<2>();

}  // namespace ndfold::test
