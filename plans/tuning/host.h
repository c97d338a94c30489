// The CPU's rows. A panel is what a core folds side by side: wide enough for its rows to be streams. The panel of a
// softmax is one tile, whose slab (reduced × panel) waits in the core's second cache as long as that holds it.
#pragma once
#include "plans/tuning/tuning.h"

namespace ndfold {

inline constexpr std::string_view kHostEvidence = "docs/measurements/host-panels.md";

inline constexpr TuningRow kHostTuning[] = {
    {{.strategy = "rows_in_block", .reduced_up_to = 1 << 17, .softmax_only = true},
     {},
     Residency::output,
     kHostEvidence},
    {{.strategy = "rows_in_block"}, {}, Residency::none, kHostEvidence},
    {{.strategy = "columns_in_block", .reduced_up_to = 4096, .softmax_only = true},
     {.panel_bytes = 256},
     Residency::scratch,
     kHostEvidence},
    {{.strategy = "columns_in_block"}, {.panel_bytes = 4096}, Residency::none, kHostEvidence},
    {{.strategy = "split"}, {.panel_bytes = 4096}, Residency::none, kHostEvidence},
    {{.strategy = "columns_first"}, {.panel_bytes = 4096}, Residency::none, kHostEvidence},
    {{.strategy = "map_across"}, {.panel_bytes = 4096}, Residency::none, kHostEvidence},
    {{.strategy = "wide_columns"}, {.panel_bytes = 4096}, Residency::none, kHostEvidence},
    {{.strategy = "permute_then_rows"}, {}, Residency::output, kHostEvidence},
    {{.strategy = "softmax_chain"}, {}, Residency::none, kHostEvidence},
    {{.strategy = "copy"}, {.panel_bytes = 4096}, Residency::none, kHostEvidence},
};

}  // namespace ndfold
