#include "plans/build/builders.h"

namespace ndfold {

std::span<const Strategy> strategies() {
  static constexpr Strategy kStrategies[] = {
      {"nothing", can_do_nothing, build_nothing},                                // no element is read
      {"copy", can_copy, build_copy},                                            // no two elements meet
      {"rows_in_bundles", can_rows_in_bundles, build_rows_in_bundles},           // short rows, one after the other
      {"rows_in_lanes", can_rows_in_lanes, build_rows_in_lanes},                 // short rows, many of them
      {"rows_in_block", can_rows_in_block, build_rows_in_block},                 // a row fills a block
      {"rows_in_cluster", can_rows_in_cluster, build_rows_in_cluster},           // a row fills several blocks
      {"rows_in_grid", can_rows_in_grid, build_rows_in_grid},                    // few rows, very long: one launch
      {"columns_in_bundles", can_columns_in_bundles, build_columns_in_bundles},  // short lines, one after the other
      {"columns_in_lanes", can_columns_in_lanes, build_columns_in_lanes},        // many lines with few columns each
      {"columns_in_block", can_columns_in_block, build_columns_in_block},        // the contiguous axis is kept
      {"columns_in_cluster", can_columns_in_cluster, build_columns_in_cluster},  // and a tile fills several blocks
      {"columns_in_grid", can_columns_in_grid, build_columns_in_grid},           // or many
      {"split", can_split, build_split},                                         // few outputs, much to fold
      {"columns_first", can_columns_first, build_columns_first},                 // uneven runs, and what is between
      {"nearest_first", can_nearest_first, build_nearest_first},                 // several axes, one after the other
      {"map_across", can_map_across, build_map_across},                          // results lie across elements
      {"wide_columns", can_wide_columns, build_wide_columns},                    // few columns, and what lies beside
      {"permute_then_rows", can_permute_then_rows, build_permute_then_rows},     // scattered axes, enough work to pay
      {"softmax_chain", can_softmax_chain, build_softmax_chain},                 // the literal chain: always right
  };
  return kStrategies;
}

}  // namespace ndfold
