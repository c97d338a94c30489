#include "plans/build/lines.h"

#include "plans/build/builders.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kVectorBytes = 16;

// Lines of a reduction: up to here those that leave lanes without a pack come sooner in bundles. Sums of rows of 12 and
// 40 f32 take 290 and 327 us by lanes where a stream takes 239.
constexpr Index kUnevenPacks = 16;

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

bool suits_lines(const Problem& problem, const DeviceFacts& device) {
  if (!has_whole_lines(problem, device) || !fits_warp(problem)) return false;
  const Index packs = problem.axes.reduced_elements() * static_cast<Index>(size_bytes(problem.input)) / kVectorBytes;
  return problem.kind == RequestKind::softmax || packs > kUnevenPacks || (packs & (packs - 1)) == 0;
}

}  // namespace ndfold
