// One pair a strategy: may it, and how. strategies.cpp lists them.
#pragma once
#include "plans/strategy.h"

namespace ndfold {

Verdict can_do_nothing(const Problem&, const DeviceFacts&);
Schedule build_nothing(const Problem&, const DeviceFacts&);

Verdict can_copy(const Problem&, const DeviceFacts&);
Schedule build_copy(const Problem&, const DeviceFacts&);

Verdict can_rows_in_bundles(const Problem&, const DeviceFacts&);
Schedule build_rows_in_bundles(const Problem&, const DeviceFacts&);

Verdict can_rows_in_lanes(const Problem&, const DeviceFacts&);
Schedule build_rows_in_lanes(const Problem&, const DeviceFacts&);

Verdict can_rows_in_block(const Problem&, const DeviceFacts&);
Schedule build_rows_in_block(const Problem&, const DeviceFacts&);

Verdict can_rows_in_cluster(const Problem&, const DeviceFacts&);
Schedule build_rows_in_cluster(const Problem&, const DeviceFacts&);

Verdict can_rows_in_grid(const Problem&, const DeviceFacts&);
Schedule build_rows_in_grid(const Problem&, const DeviceFacts&);

Verdict can_columns_in_bundles(const Problem&, const DeviceFacts&);
Schedule build_columns_in_bundles(const Problem&, const DeviceFacts&);

Verdict can_columns_in_lanes(const Problem&, const DeviceFacts&);
Schedule build_columns_in_lanes(const Problem&, const DeviceFacts&);

Verdict can_columns_in_block(const Problem&, const DeviceFacts&);
Schedule build_columns_in_block(const Problem&, const DeviceFacts&);

Verdict can_columns_in_cluster(const Problem&, const DeviceFacts&);
Schedule build_columns_in_cluster(const Problem&, const DeviceFacts&);

Verdict can_columns_in_grid(const Problem&, const DeviceFacts&);
Schedule build_columns_in_grid(const Problem&, const DeviceFacts&);

Verdict can_split(const Problem&, const DeviceFacts&);
Schedule build_split(const Problem&, const DeviceFacts&);

Verdict can_columns_first(const Problem&, const DeviceFacts&);
Schedule build_columns_first(const Problem&, const DeviceFacts&);

Verdict can_nearest_first(const Problem&, const DeviceFacts&);
Schedule build_nearest_first(const Problem&, const DeviceFacts&);

Verdict can_map_across(const Problem&, const DeviceFacts&);
Schedule build_map_across(const Problem&, const DeviceFacts&);

Verdict can_wide_columns(const Problem&, const DeviceFacts&);
Schedule build_wide_columns(const Problem&, const DeviceFacts&);

Verdict can_permute_then_rows(const Problem&, const DeviceFacts&);
Schedule build_permute_then_rows(const Problem&, const DeviceFacts&);

Verdict can_softmax_chain(const Problem&, const DeviceFacts&);
Schedule build_softmax_chain(const Problem&, const DeviceFacts&);

/// Refuses what every folding strategy refuses: nothing to read, or nothing to fold.
Verdict can_fold(const Problem&);

/// Whether its rows had better come in bundles.
bool suits_bundles(const Problem&, const DeviceFacts&);

/// Whether lines of columns had better come in bundles.
bool suits_columns_in_bundles(const Problem&, const DeviceFacts&);

/// Whether a reduction's line of few columns, whole packs that follow one another, is long enough for a block.
bool is_long_narrow_line(const Problem&);

/// Whether lines of few columns and few rows had better be folded by lanes of a warp.
bool suits_columns_in_lanes(const Problem&, const DeviceFacts&);

/// Yes, or which other way than `strategy` a CPU had better go.
Verdict or_better_on_cpu(std::string_view strategy, const Problem&, const DeviceFacts&);

/// Whether a row is short enough for a warp: its registers hold it, or some batches of it are all.
bool fits_warp(const Problem&);

/// Whether there are rows enough for all warps that a GPU has room for.
bool has_rows_for_warps(const Problem&, const DeviceFacts&);

/// Whether a warp folds each row of a reduction of two looks, though it is longer than its registers.
bool wants_warps_for_long_rows(const Problem&, const DeviceFacts&);

}  // namespace ndfold
