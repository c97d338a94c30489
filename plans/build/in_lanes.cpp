// rows_in_lanes: a few lanes of a warp fold a short row; a block takes many rows side by side, and the lanes of a row
// as many rows at once as fill their loads.
#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/lines.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

// What the 32 lanes of a warp load before they fold it: eight vectors of 16 bytes each. A softmax keeps them: four.
constexpr Index kLongestRowBytes = 4096;
constexpr Index kLongestKeptBytes = 2048;
// Of runs a block first finds out where they lie: warps share that, and do not wait for each other.
constexpr Index kLongestRunsBytes = 16384;
// Two looks at such rows: what meets in a block costs more than a warp's longer way, where there are warps enough. var
// f32 of 8192 rows of 102 runs of 48 47 and 77 us (an H200).
constexpr Index kLongestLooksBytes = 32768;
// And whatever is folded of short runs: of 8192 rows sums f32 of 200 runs of 33 58 and 66 us, of 500 runs of 20 82 and
// 104, var 84 and 128; of 4032 rows of 64 runs of 129 36 and 43.
constexpr Index kShortRunBytes = 256, kShortCutRunBytes = 1024, kLongestShortRunsBytes = 49152;
constexpr Index kWarpsOfMultiprocessor = 24;  // that registers have room for
constexpr Index kLoadsOfCutRuns = 4;

// Lanes have several short rows at once; where there are few rows, sooner one, and all multiprocessors are busy.
Index blocks_of(const Step& step, const DeviceFacts& device) {
  const Index rows = elements(step.kept),
              most = ceil_divide(rows, step.launch.block / step.kernel.tuning.lanes_per_row);
  return std::clamp<Index>(ceil_divide(rows, tiles_of_block(step)), std::min<Index>(most, device.multiprocessors),
                           most);
}

// Two looks at short lines of 16 bits, us of 128 MiB by blocks that stay and by all at once: var of rows of 64 36 and
// 37, of 16 37 and 40; logsumexp 42 and 42, argmax 42 and 43. Sums took 36 and 33, var f32 40 and 34.
void stay_for_looks(const Problem& problem, const DeviceFacts& device, Step& step) {
  constexpr Index kBlocksOfSpreads = 4, kBlocksOfOthers = 8;  // of a multiprocessor
  const FoldKind fold = problem.fold;
  const bool stays = problem.kind == RequestKind::reduce && size_bytes(problem.input) == 2 && looks_twice(fold) &&
                     has_whole_lines(problem, device) && has_packs_for_lanes(problem);
  if (!stays) return;
  const bool spreads = fold == FoldKind::var || fold == FoldKind::std_dev;
  step.launch.grid[1] =
      std::min(step.launch.grid[1], device.multiprocessors * (spreads ? kBlocksOfSpreads : kBlocksOfOthers));
}

// Few rows are shared by all multiprocessors: a graph node for a softmax of [256,256] f32 takes 1.69 us in 64 blocks of
// 64 threads, 1.96 us in 16 of 256.
void share_few_rows(Step& step, const DeviceFacts& device) {
  const Index lanes = elements(step.kept) * step.kernel.tuning.lanes_per_row, fewest = 2 * device.lanes;
  const Index each = ceil_power_of_two(ceil_divide(lanes, device.multiprocessors));
  step.launch.block = static_cast<int>(std::min<Index>(step.launch.block, std::max(each, fewest)));
}

// Of a reduction's runs, few: rows side by side share what a warp does besides, and loads beyond a row do nothing. But
// lines of memory that lanes read bit by bit leave the cache: sums f32 of [992,16,64,33] axes 1 and 3 by 1, 4, 8, 16
// and 32 lanes 46, 37, 39, 42 and 56 us (gpu-history.md). Few rows keep all multiprocessors busy.
Index lanes_of_runs(const Problem& problem, const Step& step, const DeviceFacts& device) {
  constexpr Index kPacksOfRow = 16, kPacksOfCutRow = 20, kPacksOfRun = 2, kPacksOfCutRun = 4;  // of a lane
  constexpr Index kFewestLanes = 768;                                                          // of a multiprocessor
  const bool cut = !has_whole_runs(problem);
  const Index pack = pack_of(step.kernel.input), run = step.reduced.back().size;
  const Index packs = cut ? ceil_divide(run + pack - 1, pack) : run / pack,
              of_row = packs * (elements(step.reduced) / run);
  const Index of_rows = cut ? of_row / kPacksOfCutRow : ceil_power_of_two(ceil_divide(of_row, kPacksOfRow));
  const Index wanted = std::max(of_rows, packs / (cut ? kPacksOfCutRun : kPacksOfRun));
  const Index busy = ceil_divide(kFewestLanes * device.multiprocessors, elements(step.kept));
  const Index few = std::min<Index>(step.kernel.tuning.lanes_per_row, ceil_power_of_two(busy));
  return std::min<Index>(device.lanes, std::max(few, floor_power_of_two(std::max<Index>(1, wanted))));
}

Index row_bytes(const Problem& problem) {
  return problem.axes.reduced_elements() * static_cast<Index>(size_bytes(problem.input));
}

}  // namespace

bool fits_warp(const Problem& problem) {
  const bool runs = problem.axes.reduced.size() > 1 && has_many_kernels(problem);
  const Index longest = problem.kind == RequestKind::softmax ? kLongestKeptBytes
                        : runs                               ? kLongestRunsBytes
                                                             : kLongestRowBytes;
  return row_bytes(problem) <= longest;
}

bool has_rows_for_warps(const Problem& problem, const DeviceFacts& device) {
  // Sums f32 of 8192 rows of 16 runs of 256 take 50 us by blocks, 33 by warps.
  const Index each = problem.kind == RequestKind::reduce ? kWarpsOfMultiprocessor
                                                         : Index{device.threads_per_multiprocessor / device.lanes};
  return problem.inputs / problem.axes.reduced_elements() >= device.multiprocessors * each;
}

bool wants_warps_for_long_rows(const Problem& problem, const DeviceFacts& device) {
  if (problem.kind != RequestKind::reduce || !has_many_kernels(problem)) return false;
  if (problem.axes.reduced.size() < 2) return false;
  const Index rows = problem.inputs / problem.axes.reduced_elements(), bytes = row_bytes(problem);
  const Index run_bytes = problem.axes.reduced.back().size * static_cast<Index>(size_bytes(problem.input));
  const Index longest = run_bytes <= (has_whole_runs(problem) ? kShortRunBytes : kShortCutRunBytes)
                            ? kLongestShortRunsBytes
                        : looks_twice(problem.fold) ? kLongestLooksBytes
                                                    : 0;
  return bytes > kLongestRowBytes && bytes <= longest && rows >= kWarpsOfMultiprocessor * device.multiprocessors;
}

Verdict can_rows_in_lanes(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (device.kind == DeviceKind::cpu) return no("a CPU's lanes share a row in rows_in_block");
  if (Verdict verdict = rows_are_apt(problem, device); verdict.kind != Verdict::Kind::yes) return verdict;
  if (suits_bundles(problem, device)) return unwise("short rows come in bundles");
  if (wants_warps_for_long_rows(problem, device)) return yes();
  const Index cut = lanes_of_cut_line(problem, device), packs = packs_of_cut_runs(problem, device);
  const bool fits = keeps_in_warp(problem, device) || (cut > 0     ? cut <= device.lanes
                                                       : packs > 0 ? packs <= device.lanes * kLoadsOfCutRuns
                                                                   : fits_warp(problem));
  if (fits && cut == 0 && packs == 0 && row_bytes(problem) > kLongestRowBytes && !has_rows_for_warps(problem, device))
    return unwise("a warp a row would leave multiprocessors idle");
  return fits ? yes() : unwise("a row is longer than the registers of a warp");
}

Schedule build_rows_in_lanes(const Problem& problem, const DeviceFacts& device) {
  const Index cut = lanes_of_cut_line(problem, device);
  const bool keeps = cut > 0 && problem.kind == RequestKind::softmax;
  const TuningRow& tuned = tuning_for(device, question_of("rows_in_lanes", problem, keeps));
  Step step = fold_step(problem, Body::rows, tuned);
  step.kernel.scope = Scope::lanes;
  if (has_whole_lines(problem, device) && has_packs_for_lanes(problem))
    step.kernel.tuning.lanes_per_row = static_cast<int>(ceil_power_of_two(packs_of_line(problem)));
  settle(step, tuned.residency, device);
  if (cut > 0 && cut <= device.lanes) step.kernel.tuning.lanes_per_row = static_cast<int>(ceil_power_of_two(cut));
  if (const Index packs = packs_of_cut_runs(problem, device); packs > 0 && packs <= device.lanes * kLoadsOfCutRuns)
    step.kernel.tuning.lanes_per_row = static_cast<int>(ceil_power_of_two(ceil_divide(packs, kLoadsOfCutRuns)));
  if (problem.kind == RequestKind::reduce && step.reduced.size() > 1 && step.reduced.back().in == 1 &&
      has_many_kernels(problem))
    step.kernel.tuning.lanes_per_row = static_cast<int>(lanes_of_runs(problem, step, device));
  share_few_rows(step, device);
  step.launch.grid = {1, blocks_of(step, device), 1};
  stay_for_rows(problem, device, step);
  stay_for_looks(problem, device, step);
  return {.steps = {step}};
}

}  // namespace ndfold
