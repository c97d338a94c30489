// Which way lanes lie, and when several blocks should fold one output together.
#pragma once
#include "plans/strategy.h"
#include "plans/tuning/tuning.h"

namespace ndfold {

/// Rows when the contiguous axis is reduced and long enough for lanes, else columns.
Body preferred_body(const Problem& problem, const DeviceFacts& device);

/// Whether anyone would want rows, or columns, of this problem; every refusal here is one of taste but "no axis is
/// kept".
Verdict rows_are_apt(const Problem& problem, const DeviceFacts& device);
Verdict columns_are_apt(const Problem& problem, const DeviceFacts& device);

/// A CPU's few blocks and much to fold: depends on the problem alone, never on how many cores there are, so that
/// results don't either.
bool wants_split(const Problem& problem, const DeviceFacts& device);

/// What a tuning table is asked about this problem; of a line perhaps without its ends, which have vectors of their
/// own: 513 elements are as 512.
TuningQuestion question_of(std::string_view strategy, const Problem& problem, bool without_ends = false);

}  // namespace ndfold
