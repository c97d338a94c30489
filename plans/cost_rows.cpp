#include "plans/cost_rows.h"

#include <ndfold/kept_columns.h>

#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/steps.h"
#include "plans/cost_shares.h"
#include "plans/cost_tables.h"

#include <algorithm>
#include <cstdlib>

namespace ndfold {

double run_bytes(const Step& step) {
  return static_cast<double>(step.reduced.back().size) * static_cast<double>(size_bytes(step.kernel.input));
}

namespace {

// Whether runs begin and end anywhere in a pack.
bool are_cut(const Step& step) {
  const Index pack = pack_of(step.kernel.input);
  const auto is_cut = [&](const Axis& axis) { return axis.in % pack != 0; };
  return step.reduced.back().size % pack != 0 || std::any_of(step.reduced.begin(), step.reduced.end() - 1, is_cut) ||
         std::any_of(step.kept.begin(), step.kept.end(), is_cut);
}

}  // namespace

bool has_cut_runs(const Step& step) {
  const bool rows = !maps(step) && step.kernel.body == Body::rows && step.kernel.source == SourceKind::dense;
  return rows && step.reduced.size() > 1 && are_cut(step);
}

bool is_of_cut_lines(const Step& step) {
  return step.kernel.body == Body::rows && step.reduced.size() == 1 && step.reduced.back().in == 1 && are_cut(step);
}

bool has_near_short_runs(const Step& step) {
  const bool rows = maps(step) && step.kernel.body == Body::rows && step.kernel.scope != Scope::grid;
  if (!rows || step.reduced.size() < 2 || step.reduced.back().in != 1) return false;
  const Axis& run = step.reduced.back();
  const Index pitch = std::abs(step.reduced[step.reduced.size() - 2].in);
  return run_bytes(step) < kSectorBytes && pitch > run.size &&
         pitch * static_cast<Index>(size_bytes(step.kernel.input)) <= 4 * kSectorBytes &&
         lie_apart(step.kept, step.reduced);
}

namespace {

double length_of_run(const Step& step) { return static_cast<double>(step.reduced.back().size); }

// Of a reduction by lanes of a warp.
double share_of_cut_runs_of_lanes(const Step& step) {
  const bool half = size_bytes(step.kernel.input) == 2;
  const double run = length_of_run(step);
  if (looks_twice(step.kernel.fold))
    return half ? on_stairs(kHalfCutRunsOfLanesTwice, run) : on_stairs(kCutRunsOfLanesTwice, run);
  return half ? on_stairs(kHalfCutRunsOfLanes, run) : on_stairs(kCutRunsOfLanes, run);
}

double share_of_cut_runs(const Step& step) {
  if (!has_cut_runs(step)) return 1;
  if (step.kernel.scope == Scope::lanes) return share_of_cut_runs_of_lanes(step);
  const double share = on_stairs(looks_twice(step.kernel.fold) ? kCutRunsTwice : kCutRuns, length_of_run(step));
  return share * (size_bytes(step.kernel.input) == 2 ? kHalfCutRuns : 1);
}

// Two looks at rows of 16 bits.
double share_of_half_looks(const Step& step) {
  const bool leaves_states = step.kernel.sink == SinkKind::store_state;
  if (step.reduced.size() < 2)
    return !leaves_states ? 1 : are_cut(step) ? kHalfStatesOfCutLines : on_stairs(kHalfStatesOfLines, run_bytes(step));
  if (has_cut_runs(step) && step.kernel.scope == Scope::lanes) return share_of_cut_runs_of_lanes(step);
  if (has_cut_runs(step))
    return on_stairs(kHalfShortRunsTwice, run_bytes(step)) * on_stairs(kHalfCutRunsTwice, length_of_run(step));
  const bool powers_of_part = leaves_states && step.kernel.fold == FoldKind::logsumexp;
  return on_stairs(kHalfLooksAtRuns, run_bytes(step)) * (powers_of_part ? kHalfPowersOfPart : 1);
}

// Rows that are no whole packs, where a merge follows.
double share_of_states_of_lines(const Step& step) {
  if (step.kernel.sink != SinkKind::store_state || step.reduced.size() > 1 || !are_cut(step)) return 1;
  if (step.kernel.residency != Residency::shared) return on_stairs(kStatesOfCutLines, run_bytes(step));
  return looks_twice(step.kernel.fold)        ? kLooksOfBundles
         : size_bytes(step.kernel.input) == 2 ? kHalfStatesOfBundles
                                              : kStatesOfBundles;
}

}  // namespace

double share_of_runs(const Step& step) {
  const bool rows = step.kernel.body == Body::rows && step.kernel.source != SourceKind::states;
  const bool looks = rows && size_bytes(step.kernel.input) == 2 && looks_twice(step.kernel.fold);
  if (looks) return share_of_half_looks(step);
  return rows ? share_of_cut_runs(step) * share_of_states_of_lines(step) : 1;
}

double share_of_short_runs(const Step& step) {
  const bool half = size_bytes(step.kernel.input) == 2;
  const Index pack = pack_of(step.kernel.input);
  const bool block = step.kernel.scope == Scope::block || step.kernel.scope == Scope::lanes;
  if (step.reduced.back().size % pack == 0)
    return block ? on_stairs(kWholeRunsOfBlock, run_bytes(step)) : on_stairs(kWholeRuns, run_bytes(step));
  const double again = !reads_twice(step) ? 1 : half ? kHalfCutRunsAgain : kCutRunsAgain;
  if (block)
    return again *
           (half ? on_stairs(kHalfShortRunsOfBlock, run_bytes(step)) : on_stairs(kShortRunsOfBlock, run_bytes(step)));
  return half ? on_stairs(kHalfShortRuns, run_bytes(step)) : on_stairs(kShortRuns, run_bytes(step));
}

double share_of_shared_runs(const Step& step) {
  const bool half = size_bytes(step.kernel.input) == 2;
  if (step.kernel.residency != Residency::shared || step.kernel.source != SourceKind::dense) return 1;
  if (step.kernel.scope == Scope::grid) return on_stairs(kShortRunsInGrid, run_bytes(step));
  const bool whole = step.reduced.back().size % pack_of(step.kernel.input) == 0 && run_bytes(step) >= kLongRunBytes;
  return step.kernel.scope == Scope::cluster || whole ? 1 : half ? kHalfRunsInShared : kRunsInShared;
}

}  // namespace ndfold
