// rows_in_bundles: short rows that lie one after the other, brought into shared memory by the bundle, as if they were
// one long row; a lane, or a few, fold a row from there. A softmax also takes longer rows, one a bundle, which all
// lanes of a block fold: those that are no whole packs.
#include "plans/build/builders.h"
#include "plans/build/bundles.h"
#include "plans/build/lines.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kWarp = 32;
constexpr Index kBatches = 16;         // that a lane folds one after the other, of kBatchLoads loads each
constexpr Index kBatchLoads = 4;       // of one element, or half as many of whole packs
constexpr Index kBankBytes = 128;      // what shared memory hands out at a time
constexpr Index kTimesABank = 2;       // that a load may ask for a bank and still keep up with memory
constexpr Index kTimesOfTwoLooks = 4;  // of single elements, where what lanes meet over costs more than their elements
constexpr Index kThreads = 768;        // of a multiprocessor that fold short rows
constexpr Index kFewestThreads = 64;   // of a block that folds long ones
constexpr Index kLongestFoldedRow = 1024;  // elements; blocks read longer ones as quickly
// Sums of 2, 3, 4, 5 and 6 bf16 take 67, 56, 76, 49 and 48 us of 2^26 in bundles, 60, 52, 47, 47 and 45 as columns, of
// 2 and 3 f32 108 and 96, 95 and 85; of 5 f32 87 and 89. Of [2^22,2] f32 16 and 19, of [2^23,2] 30 and 27.
constexpr Index kBytesOfLane = 12, kManyOutputs = Index{6} << 20;
constexpr Index kFewMore = 8;             // 1/8 more turns than a block must take
constexpr Index kThreadsOfFewRows = 128;  // a block's only rows, a warp each

struct Row {
  Index length, element_bytes;
  Index pack;         // elements of a load from shared memory
  Index times;        // that it may ask for a bank
  Index of_lane = 0;  // loads, at most
  Index loads() const { return length / pack; }
  Index bytes() const { return length * element_bytes; }
};

Row row_of(const Problem& problem, const Tuning& tuning) {
  const Index element = static_cast<Index>(size_bytes(problem.input)), length = problem.axes.reduced_elements();
  const Index vector = std::max<Index>(1, tuning.vector_bytes / element), pack = length % vector == 0 ? vector : 1;
  const Index kept = kKeptBytes / static_cast<Index>(size_bytes(problem.accumulate));
  const Index of_fold = kBatches * kBatchLoads / (pack > 1 ? 2 : 1);
  const bool softmax = problem.kind == RequestKind::softmax;
  return {.length = length,
          .element_bytes = element,
          .pack = pack,
          .times = !softmax && pack == 1 && looks_twice(problem.fold) ? kTimesOfTwoLooks : kTimesABank,
          .of_lane = softmax ? std::max<Index>(1, kept / pack) : of_fold};
}

// Of a block and of a multiprocessor that fold long rows: kernels/cuda/kernel_of.h leaves registers for them.
struct Threads {
  Index block, all;
};

Threads threads_for_long_rows(const Problem& problem) {
  return problem.accumulate == DType::f64 ? Threads{256, 768} : Threads{512, 1024};
}

bool has_row_of_lanes(const Row& row) { return row.loads() <= kWarp * row.of_lane; }

// How a multiprocessor's threads and shared memory are shared out.
struct Bundles {
  Index threads, lanes, rows, blocks, places;
  Index bytes(const Row& row) const { return rows * row.bytes(); }
};

// Few enough that no bank of shared memory is asked for too often; as many as keep a row, as there are, and as let a
// block's rows into its room.
Index lanes_of_row(const Row& row, Index rows_of_block, Index threads, Index room) {
  const Index load_bytes = row.pack * row.element_bytes;
  const Index even = row.loads() & -row.loads();
  const Index for_banks = std::min(even, kBankBytes / load_bytes) / row.times;
  const bool halves_suit = row.times > kTimesABank && row.loads() > kOwnLoops && row.loads() % 2 == 0;
  const Index for_loops = halves_suit && row.loads() / 2 <= kOwnLoops ? 2 : 1;
  const Index for_length = ceil_power_of_two(ceil_divide(row.loads(), row.of_lane));
  const Index for_room = ceil_power_of_two(ceil_divide(threads * row.bytes(), room + room / 2));
  const Index idle = floor_power_of_two(threads / rows_of_block);
  const Index useful = std::min(kWarp, ceil_power_of_two(row.loads()));
  return std::clamp(std::max({for_banks, for_loops, for_length, for_room, idle}), Index{1}, useful);
}

// Whole turns of a block's lanes, as many as a place has room for, if no block takes more than an eighth more than it
// must. Where rows are few a block has a warp for each, and no second bundle.
Bundles short_rows(const Row& row, Index rows, const Tuning& tuning, const DeviceFacts& device) {
  Bundles to{.threads = tuning.threads,
             .lanes = 1,
             .rows = 1,
             .blocks = std::max<Index>(1, kThreads / tuning.threads),
             .places = 0};
  const Index of_block = std::max<Index>(1, ceil_divide(rows, device.multiprocessors * to.blocks));
  const Index room = Index{tuning.threads} * tuning.vector_bytes * tuning.unroll;
  if (of_block * kWarp < to.threads) {
    to.threads = std::min(to.threads, std::max(kThreadsOfFewRows, floor_power_of_two(of_block) * kWarp));
    to.rows = std::min(rows, ceil_divide(to.threads, kWarp));
    to.lanes = lanes_of_row(row, to.rows, to.threads, room);
    return to;
  }
  to.lanes = lanes_of_row(row, of_block, to.threads, room);
  const Index at_once = std::max<Index>(1, to.threads / to.lanes), turn_bytes = at_once * row.bytes();
  const Index turns_of_block = ceil_divide(of_block, at_once);
  Index most = std::clamp<Index>((room + turn_bytes / 2) / turn_bytes, 1, turns_of_block);
  while (most > 1 && places_of(to.blocks, most * turn_bytes, 2, device) < 2) --most;
  Index turns = most;
  while (ceil_divide(turns_of_block, turns) * turns * kFewMore > turns_of_block * (kFewMore + 1)) --turns;
  to.rows = std::min(turns * at_once, of_block);
  return to;
}

Bundles long_rows(const Row& row, Threads most) {
  const Index lanes = ceil_power_of_two(ceil_divide(row.loads(), row.of_lane));
  const Index threads = std::clamp(lanes, kFewestThreads, most.block);
  return {.threads = threads, .lanes = threads, .rows = 1, .blocks = most.all / threads, .places = 0};
}

// No places where there is no room for a bundle and the next. A block's only bundle needs one.
Bundles bundles_of(const Problem& problem, const Tuning& tuning, const DeviceFacts& device) {
  const Row row = row_of(problem, tuning);
  const bool softmax = problem.kind == RequestKind::softmax;
  const Index rows = std::max<Index>(1, elements(problem.axes.kept));
  Bundles to = softmax && !has_row_of_lanes(row) ? long_rows(row, threads_for_long_rows(problem))
                                                 : short_rows(row, rows, tuning, device);
  const bool single = ceil_divide(rows, to.rows) <= device.multiprocessors * to.blocks;
  const Index fewest = single ? 1 : 2, most = single ? 1 : softmax ? kMostPlaces : 2;
  to.places = places_of(to.blocks, to.bytes(row), most, device);
  while (to.places < fewest && to.blocks > 1) to.places = places_of(--to.blocks, to.bytes(row), fewest, device);
  if (to.places < fewest) to.places = 0;
  return to;
}

}  // namespace

Verdict can_rows_in_bundles(const Problem& problem, const DeviceFacts& device) {
  if (Verdict verdict = can_fold(problem); !verdict.possible()) return verdict;
  if (device.kind == DeviceKind::cpu) return no("a CPU's short rows are bundled in rows_in_block");
  if (problem.kind == RequestKind::reduce && problem.axes.reduced.empty()) return no("nothing is folded");
  if (!lie_one_after_the_other(problem)) return no("its rows do not lie one after the other");
  const bool softmax = problem.kind == RequestKind::softmax;
  if (softmax && problem.output != problem.input) return no("results do not fit the places of their elements");
  const TuningRow& tuned = tuning_for(device, question_of("rows_in_bundles", problem));
  const Row row = row_of(problem, tuned.use);
  const Index longest = softmax ? threads_for_long_rows(problem).block * row.of_lane * row.pack : kLongestFoldedRow;
  if (row.length > longest || bundles_of(problem, tuned.use, device).places == 0)
    return no("a bundle has no room for such rows");
  // [2^19,1] and [2^21,1] f32 axis 1 take 4.5 and 11.1 us in bundles, 2.9 and 9.1 so; [2^24,1] 48 and 63.
  if (problem.axes.reduced.empty() && elements(problem.axes.kept) * row.element_bytes <= device.cache_bytes / 4)
    return unwise("such rows of one element are a row of columns");
  if (lanes_of_cut_line(problem, device) > 0) return unwise("registers keep the vectors that cover a row");
  if (!softmax && row.length * row.element_bytes <= kBytesOfLane && problem.outputs >= kManyOutputs &&
      !looks_twice(problem.fold))
    return unwise("a lane reads so short a row as quickly where it lies");
  if (suits_lines(problem, device) || (has_whole_lines(problem, device) && !fits_warp(problem)))
    return unwise("rows of whole packs come as quickly from memory");
  if (!has_many_kernels(problem)) return unwise("there is no kernel of its own for this fold");
  return yes();
}

bool suits_bundles(const Problem& problem, const DeviceFacts& device) {
  return can_rows_in_bundles(problem, device).kind == Verdict::Kind::yes;
}

Schedule build_rows_in_bundles(const Problem& problem, const DeviceFacts& device) {
  const TuningRow& tuned = tuning_for(device, question_of("rows_in_bundles", problem));
  Step step = fold_step(problem, Body::rows, tuned);
  const Row row = row_of(problem, tuned.use);
  const Bundles bundles = bundles_of(problem, tuned.use, device);
  step.kernel.scope = Scope::lanes;
  step.kernel.residency = Residency::shared;
  step.kernel.tuning.lanes_per_row = static_cast<int>(bundles.lanes);
  step.kernel.tuning.panel_bytes = static_cast<int>(bundles.bytes(row));
  step.launch.block = static_cast<int>(bundles.threads);
  step.launch.shared_bytes = kArrivalBytes + bundles.places * place_bytes(bundles.bytes(row));
  const Index all = ceil_divide(elements(step.kept), bundles.rows);
  step.launch.grid = {1, std::min(all, device.multiprocessors * bundles.blocks), 1};
  return {.steps = {step}};
}

}  // namespace ndfold
