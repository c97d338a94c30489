// The rows of sm_80 (A100): no clusters, 164 KiB of shared memory. 50 KiB lets three blocks share a multiprocessor,
// 76 KiB two, 160 KiB one.
#pragma once
#include <ndfold/kept_columns.h>

#include "plans/tuning/tuning.h"

namespace ndfold::sm80 {

inline constexpr Index kHalfShared = 76 * 1024;                 // bytes that let two blocks share a multiprocessor
inline constexpr Index kLongestLine = 512 * 16 * kLongLinePacks + kHalfShared;  // with what waits in registers
inline constexpr std::string_view kLoads = "docs/measurements/a100-facts.md#loads-in-flight";
inline constexpr std::string_view kRuns = "docs/measurements/a100-facts.md#contiguous-runs";
inline constexpr std::string_view kTiles = "docs/measurements/a100-facts.md#tiles-that-stay-on-the-chip";
inline constexpr std::string_view kBarriers = "docs/measurements/a100-facts.md#barriers";

// clang-format off
inline constexpr TuningRow kTuning[] = {
    {{.strategy = "rows_in_bundles", .softmax_only = true},
     {.threads = 256, .unroll = 4}, Residency::shared, kLoads},
    {{.strategy = "rows_in_bundles"},
     {.threads = 128, .unroll = 8}, Residency::shared, kLoads},
    {{.strategy = "rows_in_lanes", .bytes_up_to = 64},
     {.threads = 256, .lanes_per_row = 1, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_lanes", .bytes_up_to = 128},
     {.threads = 256, .lanes_per_row = 2, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_lanes", .bytes_up_to = 256},
     {.threads = 256, .lanes_per_row = 4, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_lanes", .bytes_up_to = 512},
     {.threads = 256, .lanes_per_row = 8, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_lanes", .bytes_up_to = 1024},
     {.threads = 256, .lanes_per_row = 16, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_lanes", .bytes_up_to = 2048},
     {.threads = 256, .lanes_per_row = 32, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_lanes"},
     {.threads = 256, .lanes_per_row = 32, .unroll = 8}, Residency::registers, kLoads},

    {{.strategy = "rows_in_block", .bytes_up_to = 8192, .softmax_only = true},
     {.threads = 128, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_block", .bytes_up_to = 16384, .softmax_only = true},
     {.threads = 256, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_block", .bytes_up_to = kLongestLine, .element_up_to = 2, .softmax_only = true},
     {.threads = 512, .unroll = kLongLinePacks}, Residency::registers, kLoads},
    {{.strategy = "rows_in_block", .bytes_up_to = 32768, .softmax_only = true},
     {.threads = 512, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "rows_in_block", .softmax_only = true},
     {.threads = 512, .unroll = 4}, Residency::shared, kTiles},
    {{.strategy = "rows_in_block"},
     {.threads = 256, .unroll = 8}, Residency::none, kLoads},

    {{.strategy = "rows_in_grid"},
     {.threads = 256, .unroll = 4}, Residency::shared, kBarriers},

    {{.strategy = "columns_in_bundles"},
     {.threads = 256, .unroll = 4}, Residency::shared, kLoads},
    {{.strategy = "columns_in_lanes"},
     {.threads = 256, .unroll = 8}, Residency::none, kRuns},

    {{.strategy = "columns_in_block", .reduced_up_to = 4, .element_up_to = 2, .softmax_only = true},
     {.threads = 256, .unroll = 4, .panel_bytes = 4096}, Residency::registers, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 8, .element_up_to = 2, .softmax_only = true},
     {.threads = 256, .unroll = 8, .panel_bytes = 4096}, Residency::registers, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 256, .element_up_to = 2, .softmax_only = true},
     {.threads = 256, .unroll = 16, .panel_bytes = 2048}, Residency::registers, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 8, .softmax_only = true},
     {.threads = 256, .unroll = 4, .panel_bytes = 4096}, Residency::registers, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 32, .softmax_only = true},
     {.threads = 256, .unroll = 8, .panel_bytes = 4096}, Residency::registers, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = kMostKeptRows, .softmax_only = true},
     {.threads = 512, .unroll = 16, .panel_bytes = 1024}, Residency::registers, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 192, .softmax_only = true},
     {.threads = 256, .unroll = 4, .panel_bytes = 256}, Residency::shared, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = kHalfShared / 128, .softmax_only = true},
     {.threads = 256, .unroll = 4, .panel_bytes = 128}, Residency::shared, kTiles},
    {{.strategy = "columns_in_block", .softmax_only = true},
     {.threads = 512, .unroll = 4, .panel_bytes = 128}, Residency::shared, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 32},
     {.threads = 256, .unroll = 8, .panel_bytes = 4096}, Residency::none, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 64},
     {.threads = 256, .unroll = 8, .panel_bytes = 2048}, Residency::none, kRuns},
    {{.strategy = "columns_in_block", .reduced_up_to = 256},
     {.threads = 256, .unroll = 8, .panel_bytes = 1024}, Residency::none, kRuns},
    {{.strategy = "columns_in_block"},
     {.threads = 256, .unroll = 8, .panel_bytes = 256}, Residency::none, kRuns},

    {{.strategy = "columns_in_grid"},
     {.threads = 256, .unroll = 4, .panel_bytes = 128}, Residency::shared, kTiles},

    {{.strategy = "split"},
     {.threads = 256, .unroll = 8, .panel_bytes = 256}, Residency::none, kLoads},
    {{.strategy = "columns_first"},
     {.threads = 256, .unroll = 8, .panel_bytes = 256}, Residency::none, kLoads},
    {{.strategy = "nearest_first"},
     {.threads = 256, .unroll = 8, .panel_bytes = 256}, Residency::none, kLoads},
    {{.strategy = "wide_columns"},
     {.threads = 256, .unroll = 4, .panel_bytes = 4096}, Residency::none, kLoads},
    {{.strategy = "permute_then_rows", .bytes_up_to = 16384},
     {.threads = 256, .unroll = 4}, Residency::registers, kLoads},
    {{.strategy = "permute_then_rows"},
     {.threads = 512, .unroll = 4}, Residency::shared, kLoads},
    {{.strategy = "softmax_chain"},
     {.threads = 256, .unroll = 4}, Residency::none, kLoads},
    {{.strategy = "copy"},
     {.threads = 256, .unroll = 4, .panel_bytes = 4096}, Residency::none, kRuns},
};
// clang-format on

static_assert(are_valid_for_gpu(kTuning));

}  // namespace ndfold::sm80
