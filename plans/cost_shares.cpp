#include "plans/cost_shares.h"

#include <ndfold/travelling.h>

#include "plans/build/fit_columns.h"
#include "plans/build/geometry.h"
#include "plans/build/keep_columns.h"
#include "plans/build/lines.h"
#include "plans/build/steps.h"
#include "plans/build/travel.h"
#include "plans/cost_rows.h"
#include "plans/cost_tables.h"

#include <algorithm>

namespace ndfold {

bool maps(const Step& step) { return maps_elements(step.kernel.sink); }

bool reads_twice(const Step& step) { return maps(step) && step.kernel.residency == Residency::none; }

bool writes_elements(const Step& step) {
  return maps(step) || step.kernel.body == Body::permute || step.kernel.body == Body::elementwise;
}

bool has_no_room_beside(const Step& step) {
  return 2 * tile_bytes(step) > std::max(step.launch.shared_bytes, step.launch.block * kRingBytesOfThread);
}

bool crosses(const Step& step) { return !step.kept.empty() && step.kept.back().out != 1; }

namespace {

// What lies side by side where lanes walk, through as many axes as continue one another; `used`: the share of its bytes
// that are wanted where neighbours lie a few elements apart, in either direction.
struct Run {
  double bytes, used;
};

// `stride` picks in or out.
Run run_of(const Step& step, Index Axis::*stride, DType type) {
  const auto pitch = [&](const Axis& axis) { return axis.*stride < 0 ? -(axis.*stride) : axis.*stride; };
  const Index size = static_cast<Index>(size_bytes(type));
  Index nearest = kSectorBytes / size;
  for (const auto* group : {&step.reduced, &step.kept})
    for (const Axis& axis : *group)
      if (axis.size > 1 && pitch(axis) > 0) nearest = std::min(nearest, pitch(axis));
  Index run = nearest;
  const bool line =  // which a block takes alone
      step.kernel.body == Body::columns && step.kernel.scope != Scope::lanes && !step.kept.empty();
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto* group : {&step.reduced, &step.kept})
      for (const Axis& axis : *group)
        if (pitch(axis) == run && axis.size > 1 && !(line && group == &step.kept && &axis != &step.kept.back()))
          run *= axis.size, grew = true;
  }
  if (run == nearest) return {static_cast<double>(size), 1};  // nothing lies as near as that
  const Index panel = panel_elements(step) * nearest;
  if (line && step.kept.back().size * nearest > panel) run = std::min(run, panel);
  return {static_cast<double>(run * size), 1.0 / static_cast<double>(nearest)};
}

// Whether a permute moves runs, which are neighbours on both sides.
bool moves_runs(const Step& step) {
  return step.kernel.body == Body::permute && step.kept.size() > 1 && step.kept.back().in == 1 && !crosses(step);
}

double one_by_one(const Step& step) {
  if (travels_in_packs(step)) return 1;
  if (step.kernel.body == Body::columns) return has_even_rows(step) ? kElementsOfColumns : kElementsOfUnevenColumns;
  if (step.reduced.size() < 2) return kElementsOfRows;
  return kElementsOfRuns * (size_bytes(step.kernel.input) == 2 ? kHalfElementsOfRuns : 1);
}

// Columns of which registers keep a part, where panels overlap, or have more lanes than columns: what is read more
// often than it is written.
double share_of_tall_sectors(const Step& step, bool half) {
  const double read = static_cast<double>(columns_read(step)) / static_cast<double>(step.kept.back().size);
  const double across = rows_begin_alike(step, kTallColumns) ? 1 : half ? kHalfTallAcross : kTallAcross;
  return 2 * kTallSectors / (1 + read) * (half ? kHalfTallSectors : 1) * across;
}

// Lanes that have packs.
double share_of_joined(const Step& step) {
  if (!travels_joined(step)) return 1;
  const int threads = step.launch.block, columns = travelling_columns(step);
  const auto pack = static_cast<int>(pack_of(step.kernel.input));
  const double uneven = columns % pack == 0 ? 1 : passes_the_rings(step) ? kUnevenPassing : kUnevenJoined;
  return static_cast<double>(joined_lanes(threads, columns, pack)) / threads * uneven;
}

double travelling_efficiency(const Step& step, double blocks) {
  if (passes_the_rings(step)) return one_by_one(step) * kPassingRows * share_of_joined(step);
  const bool half = size_bytes(step.kernel.input) == 2;
  if (step.kernel.body == Body::columns && !travels_joined(step))
    return (overlaps(step) ? 1 : one_by_one(step)) * on_stairs(kTravellingPanels, blocks) *
           (half ? on_stairs(kHalfTravellingPanels, blocks) : 1);
  const double cut = !is_of_cut_lines(step) ? 1 : half ? kHalfTravellingCutRows : kTravellingCutRows;
  return one_by_one(step) * cut * share_of_joined(step) * on_stairs(kTravellingRows, blocks) *
         (half ? kHalfTravellingRows : 1) * (has_no_room_beside(step) ? kTravellingAlone : 1);
}

// Of a permute whose runs are no whole packs, or begin anywhere in one.
double share_of_moved_runs(const Step& step) {
  const Index pack = pack_of(step.kernel.input);
  const auto is_cut = [&](const Axis& axis) { return axis.in % pack != 0 || axis.out % pack != 0; };
  const bool cut = step.kept.back().size % pack != 0 || std::any_of(step.kept.begin(), step.kept.end() - 1, is_cut);
  return !cut ? 1 : size_bytes(step.kernel.input) == 2 ? kHalfMovesOfCutRuns : kMovesOfCutRuns;
}

// Of rows of several panels that are whole packs, but no whole sectors.
double share_of_sectors(const Step& step) {
  const bool cuts = !overlaps(step) && panels(step) > 1 && has_even_rows(step) && !are_whole_sectors(step);
  return cuts ? on_stairs(kCutSectors, step.kernel.tuning.panel_bytes) : 1;
}

// Columns of which registers keep all rows. Those apart of f32 are read as lines, and so written where rows are whole
// sectors.
double share_in_registers(const Step& step, bool half) {
  if (has_even_rows(step)) return share_of_sectors(step);
  return !half && are_whole_sectors(step) ? kApartInRegisters
                                          : on_stairs(kUnevenInRegisters, step.kernel.tuning.panel_bytes);
}

// Whether what lies side by side is a run of each of many rows.
bool maps_runs(const Step& step) {
  return step.kernel.body == Body::elementwise && step.reduced.size() > 1 && step.reduced.back().in == 1;
}

// Whether rows of neighbouring columns lie along several axes, and begin elsewhere in a pack from one to the next. Not
// where so many follow one another that loads of f32 do as well as along one axis.
bool has_uneven_rows_of_runs(const Step& step) {
  if (step.reduced.size() < 2 || !has_uneven_rows(step)) return false;
  const Index columns = step.kept.back().size,
              follows = step.reduced.back().in == columns ? step.reduced.back().size : 1;
  return size_bytes(step.kernel.input) == 2 || follows * columns < kLongStretch;
}

bool maps_uneven_rows(const Step& step) {
  return step.kernel.body == Body::elementwise && !step.kept.empty() && step.kept.back().in == 1 &&
         has_uneven_rows_of_runs(step);
}

// Whether neighbouring columns are mapped to neighbours that begin elsewhere in a pack, from one row to the next.
bool maps_across(const Step& step) {
  return step.kernel.body == Body::elementwise && step.reduced.size() == 1 && are_neighbours(step) &&
         !rows_begin_alike(step, pack_of(step.kernel.input));
}

// Whether what lies side by side are few columns, and elements between them are others'.
bool maps_narrow_lines(const Step& step) {
  if (step.kernel.body != Body::elementwise || step.kept.empty() || step.kept.back().in != 1) return false;
  const Index columns = step.kept.back().size;
  const auto follows = [&](const Axis& axis) { return axis.in == columns; };
  return columns * static_cast<Index>(size_bytes(step.kernel.input)) < kSectorBytes &&
         std::none_of(step.kept.begin(), step.kept.end(), follows) &&
         std::none_of(step.reduced.begin(), step.reduced.end(), follows);
}

// A state of a column for few elements.
double share_of_few_rows(const Step& step) {
  const bool leaves = step.kernel.body == Body::columns && step.kernel.sink == SinkKind::store_state;
  if (!leaves) return 1;
  const double rows = static_cast<double>(step.part);
  return on_stairs(kStatesOfFewRows, rows) *
         on_stairs(kStatesOfSmallTiles, rows * static_cast<double>(std::min(columns_of(step), step.kept.back().size)));
}

// Columns of a reduction.
double share_of_folded_columns(const Step& step, bool half) {
  const bool across = loads_across(step), uneven = !across && has_uneven_rows(step);
  if (!across && has_uneven_rows_of_runs(step))
    return on_stairs(kUnevenRowsOfRuns, static_cast<double>(step.kept.back().size)) *
           (half ? kHalfUnevenRowsOfRuns : 1);
  const bool twice = looks_twice(step.kernel.fold);
  const double axes = step.reduced.size() < 2 ? 1 : twice ? kLooksOverAxes : kColumnsOverAxes;
  const double looks = !twice ? 1 : (half ? kHalfLooksAtColumns : 1) * (uneven ? kLooksAtUnevenColumns : 1);
  return axes * looks * (across ? kColumnsAcross : 1);
}

Index pitch_bytes(const Step& step) {
  return std::abs(step.kept.back().in) * static_cast<Index>(size_bytes(step.kernel.input));
}

// Columns of a softmax that lie apart; every other one is read with the rest of its sector.
double share_of_strided_columns(const Step& step, bool half) {
  if (step.kernel.source != SourceKind::strided) return 1;
  const Index pitch = pitch_bytes(step);
  const double grid = step.kernel.scope == Scope::grid && pitch >= kSectorBytes ? kStridedInGrid : 1;
  return grid * (half ? kHalfStridedColumns : pitch < kSectorBytes ? 1 : kStridedColumns);
}

// Columns of a softmax that blocks do not keep in registers, by how their rows lie.
double share_of_columns(const Step& step, bool half) {
  const bool in_runs = half && step.reduced.size() > 1;
  if (step.kernel.source == SourceKind::strided) return share_of_strided_columns(step, half);
  if (has_even_rows(step)) return share_of_sectors(step);
  if (step.kernel.scope == Scope::grid) return kUnevenInGrid;
  if (step.kernel.scope == Scope::cluster)
    return in_runs ? kHalfUnevenRunsInCluster : kUnevenInCluster * (half ? kHalfUnevenInCluster : 1);
  return kUnevenColumns * (in_runs ? kHalfUnevenRunsInBlock : half ? kHalfUnevenInBlock : 1);
}

double share_of_looked_up(const Step& step, bool half) {
  if (step.reduced.size() < 2) return 1;
  const bool twice = looks_twice(step.kernel.fold), short_runs = step.reduced.back().size <= kShortRunOfBundles;
  if (half && !twice && !maps(step)) return kHalfSumsLookedUp;
  return maps(step) || !short_runs ? kLookedUp : half ? kHalfShortLooksLookedUp : kShortLookedUp;
}

double share_of_bundles(const Step& step, bool half) {
  const bool twice = looks_twice(step.kernel.fold) || maps(step);
  return on_stairs(kLinesInBundles, static_cast<double>(elements(step.reduced))) * (half ? kHalfLinesInBundles : 1) *
         (twice ? kLooksInBundles : 1) * share_of_looked_up(step, half);
}

}  // namespace

// Reads and writes share the bus; the shorter of the two runs sets its pace.
double run_efficiency(const Step& step) {
  if (step.kernel.source == SourceKind::states || has_near_short_runs(step)) return 1;
  if (moves_runs(step))
    return on_stairs(kCopyByRun,
                     static_cast<double>(step.kept.back().size * static_cast<Index>(size_bytes(step.kernel.input))));
  const Run in = run_of(step, &Axis::in, step.kernel.input);
  if (!writes_elements(step)) return on_stairs(kReadByRun, in.bytes) * in.used;
  const Run out = run_of(step, &Axis::out, step.kernel.output);
  return on_stairs(kCopyByRun, std::min(in.bytes, out.bytes)) * std::min(in.used, out.used);
}

double work_beside_short_runs(const Step& step) {
  const bool far = step.kernel.scope == Scope::grid && step.kernel.source == SourceKind::strided &&
                   pitch_bytes(step) >= kFarColumnBytes;
  return kWorkBesideShortRuns * (far ? kStridedInGrid : 1);
}

bool passes_the_rings(const Step& step) { return step.kernel.residency == Residency::ring && share_again(step) > 0; }

double sharing_efficiency(const Step& step) {
  if (!maps(step) || step.parts < 2 || reads_twice(step)) return 1;
  const double blocks = static_cast<double>(step.parts);
  const bool rows = step.kernel.body == Body::rows;
  if (step.kernel.residency == Residency::ring) return travelling_efficiency(step, blocks);
  if (rows && step.kernel.scope == Scope::grid && step.launch.grid[1] == 1 && elements(step.kept) > 1)
    return std::min(kWholeGridInTurns, on_stairs(kRowShareByGroup, blocks));
  if (step.kernel.scope != Scope::cluster)
    return rows ? on_stairs(kRowShareByGroup, blocks) : on_stairs(kColumnShareByGroup, blocks);
  const bool half = size_bytes(step.kernel.input) == 2;
  if (keeps_tall_sectors(step)) return kTallSectorsByCluster;
  if (keeps_tall_columns(step)) return on_stairs(kTallByCluster, blocks) * (half ? kHalfTallByCluster : 1);
  if (!rows) return on_stairs(kColumnShareByCluster, blocks) * (half ? kHalfColumnsByCluster : 1);
  if (step.kernel.residency == Residency::registers) {
    const double cut = !is_of_cut_lines(step) ? 1 : half ? kHalfCutLinesByCluster : kCutLinesByCluster;
    return on_stairs(kLinesByCluster, blocks) * (half ? kHalfLinesByCluster : 1) * cut *
           on_stairs(kLinesByClusterPart, static_cast<double>(tile_bytes(step)));
  }
  const bool slow = blocks > 2 && half;
  return on_stairs(kRowShareByCluster, blocks) * (slow ? kHalfRowsInLargeClusters : 1) *
         on_stairs(kRowShareByClusterPart, static_cast<double>(tile_bytes(step)));
}

double wait_for_loads(const Step& step) {
  const bool twice = looks_twice(step.kernel.fold);
  if (has_cut_runs(step)) return twice ? kWaitForCutRunsTwice : kWaitForCutRuns;
  const bool columns = step.kernel.body == Body::columns && step.kernel.source == SourceKind::dense && !maps(step);
  return columns && twice && size_bytes(step.kernel.input) == 2 ? kWaitForHalfLooks : 1;
}

// What a kernel reaches of what its runs and its blocks allow.
double share_of_body(const Step& step, const Residents& blocks) {
  if (maps_runs(step)) return on_stairs(kMapOfRuns, run_bytes(step));
  if (maps_narrow_lines(step)) return kMapOfNarrowLines;
  if (maps_uneven_rows(step))
    return on_stairs(kMapOfUnevenRows, static_cast<double>(step.kept.back().size)) *
           (size_bytes(step.kernel.input) == 2 ? kHalfMapOfUnevenRows : 1);
  if (maps_across(step)) return size_bytes(step.kernel.input) == 2 ? kHalfMapAcross : kMapAcross;
  if (step.kernel.body == Body::permute && crosses(step)) return kPermuteShare;
  if (moves_runs(step)) return share_of_moved_runs(step);
  const bool half = size_bytes(step.kernel.input) == 2;
  if (step.kernel.fold == FoldKind::softmax && step.kernel.sink == SinkKind::store_state) {
    const bool in_runs = step.reduced.size() > 1;
    const double uneven = step.kernel.body != Body::columns || !has_uneven_rows(step) ? 1
                          : has_uneven_rows_of_runs(step) ? share_of_folded_columns(step, half)
                                                          : kUnevenInTwo;
    return share_of_few_rows(step) * uneven * (has_cut_runs(step) ? kFoldInCutRuns : 1) *
           (!in_runs ? kFoldOfPowers
            : half   ? kHalfFoldInRuns
                     : kFoldInRuns);
  }
  if (are_columns_in_bundles(step)) return share_of_bundles(step, half);
  if (are_columns_in_lanes(step)) return half ? kHalfColumnsInLanes : kColumnsInLanes;
  if (!maps(step) && step.kernel.body == Body::columns)
    return share_of_folded_columns(step, half) * share_of_few_rows(step);
  if (!maps(step)) return share_of_runs(step);
  if (step.kernel.residency == Residency::ring)
    return step.kernel.body == Body::columns ? share_of_sectors(step) * share_of_strided_columns(step, half) : 1;
  if (has_near_short_runs(step)) return on_stairs(kNearShortRuns, run_bytes(step));
  if (step.kernel.body != Body::columns) {
    const double runs = step.reduced.size() < 2 ? 1
                                                : share_of_short_runs(step) * share_of_shared_runs(step) *
                                                      (half ? kHalfRowsInRuns : kRowsInRuns);
    if (reads_twice(step)) return runs * kRowsAgain;
    if (step.kernel.residency == Residency::registers && step.launch.shared_bytes > kMuchBeyondBytes)
      return on_stairs(kLinesBeyond, blocks.of_multiprocessor);
    const bool keeps_line = step.kernel.residency == Residency::registers && step.reduced.size() < 2;
    const bool cut = half && step.kernel.residency == Residency::shared && is_of_cut_lines(step);
    return runs * (keeps_line ? 1 : on_stairs(kRowOverlap, blocks.of_multiprocessor)) *
           (cut ? kHalfCutLinesInShared : 1);
  }
  if (keeps_tall_sectors(step)) return share_of_tall_sectors(step, half);
  if (overlaps(step)) return on_stairs(kOverlappingPanels, step.kernel.tuning.panel_bytes);
  if (keeps_tall_columns(step))
    return kTallPanels * (half ? kHalfTallPanels : 1) *
           (half && cuts_many_sectors(step) ? kHalfCutSectors : share_of_sectors(step));
  if (step.kernel.residency == Residency::registers) return share_in_registers(step, half);
  const double uneven = share_of_columns(step, half);
  if (reads_twice(step))
    return uneven * on_stairs(kColumnsAgain, blocks.of_multiprocessor) * (half ? kHalfColumnsAgain : 1) *
           (step.kernel.scope == Scope::grid ? kColumnsAgainInGrid : 1);
  const double together = step.kernel.scope == Scope::cluster && blocks.are_all_at_once ? kClustersAtOnce : 1;
  return uneven * together * on_stairs(kColumnOverlap, blocks.of_multiprocessor) * (half ? kHalfColumns : 1);
}

}  // namespace ndfold
