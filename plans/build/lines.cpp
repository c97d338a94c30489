#include "plans/build/lines.h"

#include <ndfold/kept_columns.h>

#include "plans/build/builders.h"
#include "plans/build/fit_columns.h"
#include "plans/build/geometry.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace ndfold {
namespace {

constexpr Index kVectorBytes = 16;
constexpr Index kMostLanes = 512;

// Threads of a multiprocessor that the kernels of rows of runs leave registers for: kernels/cuda/softmax_kernel.h.
constexpr Index kFewThreads = 256, kThreadsOfRuns = 1024, kThreadsOfHalves = 768;
constexpr Index kKeptLoads = 4, kFoldedLoads = 8;  // in flight, of a lane: kernels/cuda/catalog.h
constexpr Tuning kLongLines = {.threads = kMostLanes, .unroll = kLongLinePacks};

// Lines of a reduction, in us of 2^28 elements by lanes and in bundles: sums of 12 and 40 f32 270 and 315, 273 and 299,
// of 40 bf16 137 and 154; variances of 24, 48 and 60 f32 294 and 306, 318 and 299, 284 and 296, of 56 and 64 bf16 170
// and 155, 150 and 183.
constexpr Index kShortLinePacks = 16, kMostIdleLanes = 2;

bool is_half(const Problem& problem) { return size_bytes(problem.input) == 2; }

// Neighbours along one axis, and their results as well.
bool is_line(const Problem& problem) {
  return problem.axes.reduced.size() == 1 && problem.axes.reduced.back().in == 1 &&
         (problem.kind != RequestKind::softmax || problem.axes.reduced.back().out == 1);
}

}  // namespace

bool step_over_packs(const Problem& problem, std::span<const Axis> axes) {
  const Index pack = pack_of(problem.input);
  const bool maps = problem.kind == RequestKind::softmax;
  return std::all_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return axis.in % pack == 0 && (!maps || axis.out % pack == 0); });
}

bool raises_powers(const Problem& problem) {
  return problem.kind == RequestKind::softmax || problem.fold == FoldKind::logsumexp;
}

bool looks_twice(FoldKind fold) {
  switch (fold) {
    case FoldKind::var:
    case FoldKind::std_dev:
    case FoldKind::logsumexp:
    case FoldKind::argmax:
    case FoldKind::argmin: return true;
    default: return false;
  }
}

bool has_many_kernels(const Problem& problem) {
  if (problem.kind == RequestKind::softmax) return problem.output == problem.input;
  return has_many_kernels(problem.fold, problem.input, problem.accumulate);
}

bool has_many_kernels(FoldKind fold, DType input, DType accumulate) {
  if (!is_floating(input) || input == DType::f64 || accumulate != DType::f32) return false;
  switch (fold) {
    case FoldKind::sum:
    case FoldKind::mean:
    case FoldKind::sumsq:
    case FoldKind::var:
    case FoldKind::std_dev:
    case FoldKind::l1:
    case FoldKind::l2:
    case FoldKind::linf:
    case FoldKind::logsumexp:
    case FoldKind::max:
    case FoldKind::min:
    case FoldKind::argmax:
    case FoldKind::argmin: return true;
    default: return false;
  }
}

bool loads_across(const Problem& problem) {
  const Canonical& axes = problem.axes;
  if (problem.kind != RequestKind::reduce || !has_many_kernels(problem) || size_bytes(problem.input) != 2) return false;
  return !axes.kept.empty() && axes.kept.back().in == 1 && are_rows_anywhere(axes.reduced, axes.kept.back().size);
}

bool has_whole_lines(const Problem& problem, const DeviceFacts& device) {
  return device.kind == DeviceKind::cuda && problem.kind != RequestKind::permute && problem.axes.reduced.size() == 1 &&
         has_many_kernels(problem) && has_whole_runs(problem);
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

Index lanes_of_cut_line(const Problem& problem, const DeviceFacts& device) {
  // Fewer come sooner in bundles. Rows of 100 bf16, us of 128 MiB in bundles and so: sums 43 and 38, var 53 and 44,
  // argmax 88 and 49; of 65 42 and 57, 56 and 92, 90 and 98.
  constexpr Index kFewestFolded = 16, kFewestHalves = 12, kFewestKept = 24;
  if (device.kind != DeviceKind::cuda || problem.kind == RequestKind::permute || !has_many_kernels(problem)) return 0;
  if (!is_line(problem) || has_whole_lines(problem, device)) return 0;
  const bool maps = problem.kind == RequestKind::softmax;
  const Index pack = pack_of(problem.input);
  const Index packs = problem.axes.reduced_elements() / pack;
  const bool is_long = packs > kMostLanes * kKeptLoads;
  const Index lanes = ceil_divide(packs, maps && !is_long ? kKeptLoads : kFoldedLoads);
  const bool fits = maps ? packs <= packs_of_block(kLongLines, device) : lanes <= device.lanes;
  const Index fewest = maps ? kFewestKept : is_half(problem) ? kFewestHalves : kFewestFolded;
  return pack > 1 && packs >= fewest && fits ? std::min(lanes, kMostLanes) : 0;
}

bool keeps_in_warp(const Problem& problem, const DeviceFacts& device) {
  constexpr Index kMostWhole = 160, kMostHalves = 192, kMostCutHalves = 208;  // packs
  const bool whole = has_whole_lines(problem, device), half = is_half(problem);
  if (problem.kind != RequestKind::softmax || !(whole || (half && lanes_of_cut_line(problem, device) > 0)))
    return false;
  if (!half && problem.input != DType::f32) return false;
  const Index packs = packs_of_line(problem), most = !half ? kMostWhole : whole ? kMostHalves : kMostCutHalves;
  return packs > device.lanes * kKeptLoads && packs <= most && has_rows_for_warps(problem, device);
}

Index packs_of_cut_runs(const Problem& problem, const DeviceFacts& device) {
  constexpr Index kEmptiest = 4;  // times what belongs: emptier packs cost more than elements one by one
  const auto& axes = problem.axes;
  const bool suits = device.kind == DeviceKind::cuda && problem.kind == RequestKind::softmax &&
                     has_many_kernels(problem) && axes.reduced.size() > 1 && !has_whole_runs(problem);
  const Index pack = pack_of(problem.input);
  if (!suits || pack < 2 || axes.reduced.back().in != 1 || axes.reduced.back().out != 1) return 0;
  const Index length = axes.reduced.back().size, runs = axes.reduced_elements() / length;
  Index unit = pack;  // runs begin later in a pack than the first by its multiples
  bool alike = true;
  const auto look = [&](const Axis& axis) {
    unit = std::gcd(unit, axis.in);
    alike = alike && (axis.in - axis.out) % pack == 0;
  };
  std::for_each(axes.kept.begin(), axes.kept.end(), look);
  std::for_each(axes.reduced.begin(), axes.reduced.end() - 1, look);
  const Index packs = runs * ceil_divide(length + pack - unit, pack);
  const Index most = kMostLanes * (pack <= 4 ? kFoldedLoads : kKeptLoads);
  return alike && packs <= most && packs * pack <= kEmptiest * axes.reduced_elements() ? packs : 0;
}

bool keeps_long_lines(const Problem& problem, const DeviceFacts& device) {
  if (problem.kind != RequestKind::softmax || problem.axes.reduced.empty()) return false;
  return has_whole_lines(problem, device) || (has_many_kernels(problem) && lie_one_after_the_other(problem));
}

bool lie_apart(std::span<const Axis> kept, std::span<const Axis> reduced) {
  Index last = 0;
  for (const Axis& axis : reduced) last += (axis.size - 1) * std::abs(axis.in);
  return std::all_of(kept.begin(), kept.end(), [&](const Axis& axis) { return std::abs(axis.in) > last; });
}

bool has_whole_runs(const Problem& problem) {
  const Index pack = pack_of(problem.input);
  const std::span reduced = problem.axes.reduced;
  const Axis& run = reduced.back();
  return run.in == 1 && (problem.kind != RequestKind::softmax || run.out == 1) && run.size % pack == 0 &&
         step_over_packs(problem, problem.axes.kept) && step_over_packs(problem, reduced.first(reduced.size() - 1));
}

void stay_for_rows(const Problem& problem, const DeviceFacts& device, Step& step) {
  constexpr Index kFewestWaves = 4, kMostWaves = 16, kRowsOfBlock = 4;  // measured; all at once took up to 1.2 times
  if (device.kind != DeviceKind::cuda || problem.axes.reduced.size() < 2) return;
  const bool maps = problem.kind == RequestKind::softmax, whole = has_whole_runs(problem);
  const bool stays =
      maps ? step.kernel.residency == Residency::registers && !whole
           : has_many_kernels(problem) && (step.kernel.scope == Scope::lanes || !whole || looks_twice(problem.fold));
  if (!stays) return;
  const Index threads = is_half(problem) && step.launch.block <= kFewThreads ? kThreadsOfHalves : kThreadsOfRuns;
  const Index blocks = device.multiprocessors * std::max<Index>(1, threads / step.launch.block);
  const Index wanted = std::clamp(step.launch.grid[1] / kRowsOfBlock, kFewestWaves * blocks, kMostWaves * blocks);
  step.launch.grid[1] = std::min(step.launch.grid[1], wanted);
}

Index packs_of_line(const Problem& problem) {
  return problem.axes.reduced_elements() * static_cast<Index>(size_bytes(problem.input)) / kVectorBytes;
}

int threads_of_packs(Index packs, const Tuning& tuning, const DeviceFacts& device) {
  return static_cast<int>(std::min(round_up(ceil_divide(packs, Index{tuning.unroll}), device.lanes), kMostLanes));
}

bool has_packs_for_lanes(const Problem& problem) {
  const Index packs = packs_of_line(problem), lanes = ceil_power_of_two(packs);
  if (problem.kind == RequestKind::softmax) return packs <= (packs == lanes ? 8 : 4);
  const Index idle = !looks_twice(problem.fold) ? lanes : is_half(problem) ? 0 : kMostIdleLanes;
  return packs == lanes ? packs <= 32 : packs <= kShortLinePacks && lanes - packs <= idle;
}

bool suits_lines(const Problem& problem, const DeviceFacts& device) {
  if (!has_whole_lines(problem, device) || !fits_warp(problem)) return false;
  return problem.kind == RequestKind::softmax || packs_of_line(problem) > kShortLinePacks ||
         has_packs_for_lanes(problem);
}

}  // namespace ndfold
