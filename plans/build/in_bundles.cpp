// rows_in_bundles: short rows that lie one after the other, brought into shared memory by the bundle, as if they were
// one long row; a lane, or a few, fold a row from there.
#include "plans/build/builders.h"
#include "plans/build/geometry.h"
#include "plans/build/orientation.h"
#include "plans/build/steps.h"

#include <algorithm>
#include <bit>

namespace ndfold {
namespace {

constexpr Index kWarp = 32;
constexpr Index kKept = 32;        // numbers of a row that a lane of a softmax keeps: kernels/cuda/arguments.h
constexpr Index kBatches = 16;     // that a lane folds one after the other, of kBatchLoads loads each
constexpr Index kBatchLoads = 4;   // of one element, or half as many of whole packs
constexpr Index kBankBytes = 128;  // what shared memory hands out at a time
constexpr Index kTimesABank = 2;   // that a load may ask for a bank and still keep up with memory
constexpr Index kThreads = 768;    // of a multiprocessor, for which kernels/cuda/kernel_of.h leaves registers
constexpr Index kBundles = 2;      // of a block: one is folded while the next is on its way

// Rows of whole packs that lanes of a warp read as quickly from memory, but where there are few: regret.csv and
// sweep.csv of docs/measurements/gpu. [4194304,64] f32 takes 261 us in bundles and 279 by lanes, argmax 306 and 412; a
// softmax of [1048576,64] 150 and 130; of [256,256] 2.1 and 2.8.
constexpr Index kLongPackedRow = 1024, kLongPackedSoftmaxRow = 128;
constexpr double kFewBytes = 512 * 1024;
constexpr Index kLongestSoftmaxRow =
    896;  // f32 rows of 1023: 0.60 of a copy here, 0.69 in a block; of 513 0.64 and 0.47

Index floor_of_two(Index n) {
  return static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(std::max<Index>(n, 1))));
}
Index ceil_of_two(Index n) {
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max<Index>(n, 1))));
}

struct Row {
  Index length, element_bytes;
  Index pack;  // elements of a load from shared memory
  Index loads() const { return length / pack; }
  Index bytes() const { return length * element_bytes; }
};

Row row_of(const Problem& problem, const Tuning& tuning) {
  const Index element = static_cast<Index>(size_bytes(problem.input));
  const Index length = problem.axes.reduced_elements(), pack = std::max<Index>(1, tuning.vector_bytes / element);
  return {.length = length, .element_bytes = element, .pack = length % pack == 0 ? pack : 1};
}

Index blocks_of(const DeviceFacts& device, const Tuning& tuning) {
  return device.multiprocessors * std::max<Index>(1, kThreads / tuning.threads);
}

// Bytes of a bundle.
Index room_of(const Tuning& tuning, const DeviceFacts& device) {
  return std::min(Index{tuning.threads} * tuning.vector_bytes * tuning.unroll, shared_bytes_for(1, device) / kBundles);
}

// Bundles begin at whole packs if the first does.
Index unit_of_rows(const Row& row, const Tuning& tuning) {
  return tuning.vector_bytes / std::min<Index>(row.element_bytes, tuning.vector_bytes);
}

Index rows_of_bundle(const Row& row, Index rows, const Tuning& tuning, const DeviceFacts& device) {
  const Index unit = unit_of_rows(row, tuning);
  const Index room = room_of(tuning, device) / row.bytes();
  const Index busy = ceil_divide(rows, blocks_of(device, tuning));  // leaves none idle
  const Index wanted = std::min(room, ceil_divide(busy, unit) * unit);
  const Index turn = wanted >= 4 * tuning.threads ? tuning.threads : unit;  // little is lost by whole turns of lanes
  return std::max(unit, wanted / turn * turn);
}

// Few enough that no bank of shared memory is asked for too often, as many as keep a row, and as many as there are.
Index lanes_of_row(const Row& row, Index rows, bool softmax, const Tuning& tuning) {
  const Index load_bytes = row.pack * row.element_bytes;
  const Index even = row.loads() & -row.loads();
  const Index for_banks = std::min(even, kBankBytes / load_bytes) / kTimesABank;
  const Index of_lane = softmax ? kKept / row.pack : kBatches * kBatchLoads / (row.pack > 1 ? 2 : 1);
  const Index for_length = ceil_of_two(ceil_divide(row.loads(), of_lane));
  const Index idle = floor_of_two(tuning.threads / rows);
  const Index useful = std::min(kWarp, ceil_of_two(row.loads()));
  return std::clamp(std::max({for_banks, for_length, idle}), Index{1}, useful);
}

// The folds that have kernels for bundles: kernels/cuda/catalog.cmake. Others are folded by lanes of a warp.
bool has_kernels(const Problem& problem) {
  if (problem.kind == RequestKind::softmax) return true;
  if (!is_floating(problem.input) || problem.accumulate != DType::f32) return false;
  switch (problem.fold) {
    case FoldKind::sum:
    case FoldKind::mean:
    case FoldKind::var:
    case FoldKind::std_dev:
    case FoldKind::l2:
    case FoldKind::logsumexp:
    case FoldKind::max:
    case FoldKind::min:
    case FoldKind::argmax:
    case FoldKind::argmin: return problem.input != DType::f64;
    default: return false;
  }
}

bool lie_one_after_the_other(const Problem& problem) {
  Index run = 1;
  const auto continues = [&](const Axis& axis) {
    const bool follows = axis.in == run && (problem.kind != RequestKind::softmax || axis.out == run);
    run *= axis.size;
    return follows;
  };
  return std::all_of(problem.axes.reduced.rbegin(), problem.axes.reduced.rend(), continues) &&
         problem.axes.reduced.size() < 2 &&
         std::all_of(problem.axes.kept.rbegin(), problem.axes.kept.rend(), continues);
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
  if (row.length > kWarp * kKept || row.bytes() * unit_of_rows(row, tuned.use) > room_of(tuned.use, device))
    return no("a bundle has no room for such rows");
  if (softmax && row.length > kLongestSoftmaxRow) return unwise("a block has registers enough for such rows");
  const bool packed = row.bytes() % tuned.use.vector_bytes == 0 && problem.bytes_in() > kFewBytes;
  if (packed && row.bytes() >= (softmax ? kLongPackedSoftmaxRow : kLongPackedRow))
    return unwise("rows of whole packs come as quickly from memory");
  if (!has_kernels(problem)) return unwise("there is no kernel of its own for this fold");
  return yes();
}

bool suits_bundles(const Problem& problem, const DeviceFacts& device) {
  return can_rows_in_bundles(problem, device).kind == Verdict::Kind::yes;
}

Schedule build_rows_in_bundles(const Problem& problem, const DeviceFacts& device) {
  const TuningRow& tuned = tuning_for(device, question_of("rows_in_bundles", problem));
  Step step = fold_step(problem, Body::rows, tuned);
  const Row row = row_of(problem, tuned.use);
  const Index all = elements(step.kept), rows = rows_of_bundle(row, all, tuned.use, device);
  step.kernel.scope = Scope::lanes;
  step.kernel.residency = Residency::shared;
  step.kernel.tuning.lanes_per_row =
      static_cast<int>(lanes_of_row(row, rows, problem.kind == RequestKind::softmax, tuned.use));
  step.launch.shared_bytes = kBundles * rows * row.bytes();
  const Index resident = device.multiprocessors * resident_blocks(step, device);
  step.launch.grid = {1, std::min({ceil_divide(all, rows), blocks_of(device, tuned.use), resident}), 1};
  return {.steps = {step}};
}

}  // namespace ndfold
