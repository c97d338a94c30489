// rows_in_cluster and columns_in_cluster: the blocks of a cluster keep one tile among them and exchange states.
#include <ndfold/few_rows.h>
#include <ndfold/kept_columns.h>

#include "plans/build/builders.h"
#include "plans/build/fit_columns.h"
#include "plans/build/geometry.h"
#include "plans/build/keep_columns.h"
#include "plans/build/lines.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kSmallestTileBytes = 32 * 1024;  // below it, the barrier costs more than a block alone
constexpr Index kSmallestPartBytes = 8 * 1024;   // of a block: less does not pay for its share of the barrier
constexpr int kWidestCluster = 8;                // of those that only share work: more wait longer than they gain
constexpr Index kNarrowestPanelBytes = 32;       // a sector
constexpr Index kWidePanelBytes = 128;           // of two blocks a multiprocessor
constexpr Index kMostBatches = 2;                // of a lane of a reduction: for more a grid has more blocks

// Whether few tiles leave half of the multiprocessors without work that they could share. Two blocks of a softmax's
// rows share one: [17,65537] takes 6.4 us by eight blocks a row and 10.5 by four, but [64,32768] 6.8 by four and 6.5 by
// two.
bool is_idle(const Step& step, int blocks, const DeviceFacts& device) {
  const bool rows = step.kernel.body == Body::rows && maps_elements(step.kernel.sink);
  const Index halves = !rows ? 2 : blocks > 2 ? 4 : 3;  // of multiprocessors, then busy
  return step.launch.grid[1] * blocks * 4 <= device.multiprocessors * halves &&
         waiting_bytes(step) >= kSmallestPartBytes * blocks * 2;
}

// Whether all blocks of a softmax's rows, two of a multiprocessor, begin together.
bool are_at_once(const Step& step, int blocks, const DeviceFacts& device) {
  return step.launch.grid[1] * blocks <= 2 * Index{device.multiprocessors};
}

// Whether they keep so much then that shorter parts, of which some load while others store, come sooner: [64,131072]
// and [32,2^18] f32 take 25.1 and 27.6 us by 256 blocks, 22.6 and 24.7 by 512, [64,128256] bf16 15.3 by 128, 16.6 by
// 256, 13.1 by 512.
bool keep_much(const Step& step, int blocks) {
  constexpr Index kMuch = 96 * 1024;
  return waiting_bytes(step) > kMuch * blocks;
}

// What all lanes of a block load at once.
Index batch_bytes(const Tuning& tuning) { return Index{tuning.threads} * tuning.vector_bytes * tuning.unroll; }

// Panels of a reduction are as narrow as lets lanes load all their rows at once.
int panel_bytes_of_batch(const Tuning& tuning, Index rows) {
  const Index wanted = ceil_power_of_two(batch_bytes(tuning) * tuning.cluster_blocks / std::max<Index>(1, rows));
  return static_cast<int>(std::min<Index>(tuning.panel_bytes, std::max(wanted, kNarrowestPanelBytes)));
}

// As few blocks as keep a row, a power of two: bf16 rows of 151 936 take 83 us by eight, 87 by five.
int blocks_of_registers(const Problem& problem, const Tuning& tuning, const DeviceFacts& device) {
  const Index blocks = ceil_divide(packs_of_line(problem), packs_of_block(tuning, device));
  return static_cast<int>(std::max<Index>(2, ceil_power_of_two(blocks)));
}

// So many blocks of a cluster share each tile.
void share(Step& step, int blocks) {
  step.kernel.scope = Scope::cluster;
  step.parts = step.launch.cluster = blocks;
  const Index wanted = ceil_divide(elements(step.reduced), Index{blocks}), unit = unit_of_parts(step, wanted);
  step.part = ceil_divide(wanted, unit) * unit;
  step.launch.grid[0] = blocks;
}

// Of panels that overlap: f16 [4341,12593] axis 0 takes 114 us in two launches, 129 by eight blocks.
constexpr int kMostOfUnevenHalves = 4;

// Columns of which registers keep a part, where a block does not keep them all: by as few blocks as do, a power of two,
// or by more whose panels overlap less, if each multiprocessor has two of them. Of whole packs a grid is as fast as
// eight, and as four of 16 bits. [1000,65001] and [64,1000,1001] f32 take 206 and 197 us by two blocks, 192 and 184 by
// four.
// Uneven ones of 16 bits have no other way that is quick: few blocks do, bf16 [1024,4095] 58 us by 64 of one block,
// 19 in two launches, 14 by 172 so.
// Where rows cut sectors wider panels are worth more blocks: f32 [2000,16780] axis 0 takes 96 us by four, 107 by eight,
// 113 by two; but bf16 [2000,33560] 115 by four and 105 by two.
bool keep_in_tall_parts(Step& step, const DeviceFacts& device) {
  if (Step alone = step; keep_tall_columns(alone, device) && !cuts_many_sectors(alone)) return false;
  const Step whole = step;
  const bool half = size_bytes(whole.kernel.input) < 4, uneven = !has_even_rows(whole);
  const int wide = whole.kernel.tuning.cluster_blocks;
  const int most = !uneven ? wide : half ? std::min(wide, kMostOfUnevenHalves) : 2 * wide;
  Index fewest = 0;
  for (int blocks = 2; blocks <= std::min(most, device.cluster_blocks); blocks *= 2) {
    Step shared = whole;
    share(shared, blocks);
    if (!keep_tall_columns(shared, device)) continue;
    const bool wider = !half && !are_whole_sectors(whole) && panel_elements(shared) > panel_elements(step);
    if (fewest > 0 && !(uneven ? columns_read(shared) < fewest : wider)) continue;
    fewest = columns_read(shared);
    step = shared;
  }
  const Index blocks = step.launch.grid[1] * step.parts;
  return fewest > 0 && (half && uneven ? 2 * blocks >= device.multiprocessors : blocks >= 2 * device.multiprocessors);
}

Schedule build(std::string_view strategy, Body body, const Problem& problem, const DeviceFacts& device) {
  const bool keeps = body == Body::rows && keeps_long_lines(problem, device);
  TuningQuestion question = question_of(strategy, problem, keeps);
  question.registers = keeps || body == Body::columns;
  TuningRow tuned = tuning_for(device, question);
  if (body == Body::columns && tuned.residency == Residency::registers) {
    Step tall = fold_step(problem, body, tuned);
    if (keep_in_tall_parts(tall, device)) return {.steps = {tall}};
    question.registers = false;
    tuned = tuning_for(device, question);
  }
  if (body == Body::columns && problem.kind != RequestKind::softmax)
    tuned.use.panel_bytes = panel_bytes_of_batch(tuned.use, problem.axes.reduced_elements());
  Step step = fold_step(problem, body, tuned);
  int blocks = std::min(tuned.use.cluster_blocks, device.cluster_blocks);
  if (tuned.residency == Residency::registers)
    blocks = std::min(blocks, blocks_of_registers(problem, tuned.use, device));
  while (blocks * 2 <= std::min(kWidestCluster, device.cluster_blocks) && is_idle(step, blocks, device)) blocks *= 2;
  if (tuned.residency == Residency::registers && keep_much(step, blocks)) {
    const int most = std::min(device.cluster_blocks, std::max(kWidestCluster, 2 * blocks));
    while (blocks * 2 <= most && are_at_once(step, blocks, device)) blocks *= 2;
  }
  share(step, blocks);
  settle(step, tuned.residency, device);
  if (step.kernel.residency == Residency::registers) {
    const Index of_block = ceil_divide(packs_of_line(problem), Index{blocks});
    step.launch.block = threads_of_packs(of_block, tuned.use, device);
  }
  return {.steps = {step}};
}

// Whether a reduction is so small that it is a matter of barriers, of which a cluster's costs a fifth of a grid's: each
// lane has two batches at most, of panels of 64 and 128 bytes whose elements are looked at once one of two blocks a
// multiprocessor. Sums f32 of [4096,512] axis 0 take 5.6 us so and 6.7 over the grid, [2048,1024] 5.9 and 6.5, but by
// 32 bytes [8192,256] 7.3 and 6.9; logsumexp of [4096,512] 10.3 and 8.3.
bool is_quick(const Step& step, const DeviceFacts& device) {
  const bool columns = step.kernel.body == Body::columns;
  if (columns && (has_uneven_rows(step) || elements(step.reduced) <= kFewRows)) return false;
  const Index batches = ceil_divide(tile_bytes(step), batch_bytes(step.kernel.tuning));
  const Index blocks = step.launch.grid[1] * step.parts, panel = panel_elements(step) * element_bytes(step);
  if (blocks <= device.multiprocessors) return batches <= kMostBatches;
  return columns && !looks_twice(step.kernel.fold) && batches <= 1 && blocks <= 2 * Index{device.multiprocessors} &&
         panel > kNarrowestPanelBytes && panel <= kWidePanelBytes;
}

Verdict can(std::string_view strategy, Body body, const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (device.kind == DeviceKind::cpu) return no("a CPU has no clusters");
  if (device.cluster_blocks < 2) return no("sm_" + std::to_string(device.architecture) + " has no clusters");
  const Verdict apt = body == Body::rows ? rows_are_apt(problem, device) : columns_are_apt(problem, device);
  if (apt.kind != Verdict::Kind::yes) return apt;
  const Step step = build(strategy, body, problem, device).steps.front();
  const Index tile = tile_bytes(step);
  if (problem.kind != RequestKind::softmax)
    return is_quick(step, device) ? yes() : unwise("a reduction keeps nothing on the chip");
  if (tile * step.parts < kSmallestTileBytes) return unwise("a block is enough for so few elements");
  return step.kernel.residency != Residency::none ? yes()
                                                  : unwise("its elements do not fit the shared memory of a cluster");
}

}  // namespace

Verdict can_rows_in_cluster(const Problem& problem, const DeviceFacts& device) {
  return can("rows_in_cluster", Body::rows, problem, device);
}

Schedule build_rows_in_cluster(const Problem& problem, const DeviceFacts& device) {
  return build("rows_in_cluster", Body::rows, problem, device);
}

Verdict can_columns_in_cluster(const Problem& problem, const DeviceFacts& device) {
  return can("columns_in_cluster", Body::columns, problem, device);
}

Schedule build_columns_in_cluster(const Problem& problem, const DeviceFacts& device) {
  return build("columns_in_cluster", Body::columns, problem, device);
}

}  // namespace ndfold
