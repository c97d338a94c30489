#include "plans/build/lines.h"

#include "plans/build/builders.h"
#include "plans/build/geometry.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kVectorBytes = 16;
constexpr Index kKeptLoads = 4, kFoldedLoads = 8;  // in flight, of a lane: kernels/cuda/catalog.h

// Lines of a reduction: up to here those that leave lanes without a pack come sooner in bundles, and so do those of
// folds that take many instructions to meet, but where they are few. Sums of 1 GiB of rows of 4, 16 and 64 f32 take
// 308, 264 and 256 us by lanes, 315, 290 and 288 in bundles; of 12 and 40 290 and 327; variances of 64 367 and 291.
constexpr Index kShortLinePacks = 16;
constexpr double kFewBytes = 512 * 1024;

bool is_half(const Problem& problem) { return size_bytes(problem.input) == 2; }

bool is_cheap(const Problem& problem) {
  switch (problem.fold) {
    case FoldKind::var:
    case FoldKind::std_dev:
    case FoldKind::logsumexp:
    case FoldKind::argmax:
    case FoldKind::argmin: return false;
    default: return true;
  }
}

}  // namespace

bool has_many_kernels(const Problem& problem) {
  if (problem.kind == RequestKind::softmax) return problem.output == problem.input;
  if (!is_floating(problem.input) || problem.input == DType::f64 || problem.accumulate != DType::f32) return false;
  switch (problem.fold) {
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

bool has_whole_lines(const Problem& problem, const DeviceFacts& device) {
  if (device.kind != DeviceKind::cuda || problem.kind == RequestKind::permute || problem.axes.reduced.size() != 1)
    return false;
  const Axis& line = problem.axes.reduced.back();
  const Index pack = kVectorBytes / static_cast<Index>(size_bytes(problem.input));
  const bool maps = problem.kind == RequestKind::softmax;
  const auto is_whole = [&](const Axis& axis) { return axis.in % pack == 0 && (!maps || axis.out % pack == 0); };
  return has_many_kernels(problem) && line.in == 1 && line.size % pack == 0 && (!maps || line.out == 1) &&
         std::all_of(problem.axes.kept.begin(), problem.axes.kept.end(), is_whole);
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
  constexpr Index kFewestFolded = 16, kFewestKept = 24, kMostLanes = 512;  // fewer come sooner in bundles
  if (device.kind != DeviceKind::cuda || problem.kind == RequestKind::permute || !has_many_kernels(problem)) return 0;
  if (problem.axes.reduced.empty() || !lie_one_after_the_other(problem) || has_whole_lines(problem, device)) return 0;
  const bool maps = problem.kind == RequestKind::softmax;
  const Index pack = kVectorBytes / static_cast<Index>(size_bytes(problem.input));
  const Index packs = problem.axes.reduced_elements() / pack;
  const bool is_long = packs > kMostLanes * kKeptLoads && pack <= 4;  // longer ones of 16-bit floats are not kept
  const Index lanes = ceil_divide(packs, maps && !is_long ? kKeptLoads : kFoldedLoads);
  return pack > 1 && packs >= (maps ? kFewestKept : kFewestFolded) && lanes <= (maps ? kMostLanes : device.lanes)
             ? lanes
             : 0;
}

bool keeps_long_lines(const Problem& problem, const DeviceFacts& device) {
  if (problem.kind != RequestKind::softmax || problem.axes.reduced.empty() || is_half(problem)) return false;
  return has_whole_lines(problem, device) || (has_many_kernels(problem) && lie_one_after_the_other(problem));
}

bool has_whole_runs(const Problem& problem) {
  const Index pack = kVectorBytes / static_cast<Index>(size_bytes(problem.input));
  const Axis& run = problem.axes.reduced.back();
  const auto is_whole = [&](const Axis& axis) { return axis.in % pack == 0 && axis.out % pack == 0; };
  return run.in == 1 && run.out == 1 && run.size % pack == 0 &&
         std::all_of(problem.axes.kept.begin(), problem.axes.kept.end(), is_whole) &&
         std::all_of(problem.axes.reduced.begin(), problem.axes.reduced.end() - 1, is_whole);
}

Index packs_of_line(const Problem& problem) {
  return problem.axes.reduced_elements() * static_cast<Index>(size_bytes(problem.input)) / kVectorBytes;
}

bool has_packs_for_lanes(const Problem& problem) {
  const Index packs = packs_of_line(problem);
  if (problem.kind == RequestKind::softmax) return packs <= (packs == ceil_power_of_two(packs) ? 8 : 4);
  return packs <= 32 && packs == ceil_power_of_two(packs) && (problem.bytes_in() <= kFewBytes || is_cheap(problem));
}

bool suits_lines(const Problem& problem, const DeviceFacts& device) {
  if (!has_whole_lines(problem, device) || !fits_warp(problem)) return false;
  return problem.kind == RequestKind::softmax || packs_of_line(problem) > kShortLinePacks ||
         has_packs_for_lanes(problem);
}

}  // namespace ndfold
