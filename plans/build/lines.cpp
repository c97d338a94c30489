#include "plans/build/lines.h"

#include "plans/build/builders.h"

#include <algorithm>

namespace ndfold {
namespace {

constexpr Index kVectorBytes = 16;

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
  return has_whole_lines(problem, device) && fits_warp(problem);
}

}  // namespace ndfold
