#include "plans/problem.h"

#include "plans/checked.h"
#include "plans/typing.h"
#include "plans/validate.h"

#include <cmath>
#include <string>

namespace ndfold {
namespace {

Index alignment_of(const ViewDesc& view) {
  const Index element = static_cast<Index>(size_bytes(view.dtype));
  return view.alignment_bytes > element ? view.alignment_bytes : element;
}

std::vector<RoleAxis> input_axes(const ViewDesc& in, const std::vector<bool>& reduced) {
  std::vector<RoleAxis> axes;
  for (std::size_t i = 0; i < in.sizes.size(); ++i)
    axes.push_back({{.size = in.sizes[i], .in = in.strides[i], .out = 0}, reduced[i]});
  return axes;
}

// Sizes beside an axis of size 0 are not bounded by the element count, so this may not fit.
Result<Index> folded_elements(const ViewDesc& in, const std::vector<bool>& reduced) {
  Checked count = 1;
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) count *= in.sizes[i];
  if (count.fits()) return count.value();
  return Status(Code::overflow, "in of sizes " + text_of(in.sizes) + " folds more than 2^63 elements into one output");
}

// What all three kinds share once roles and output strides are known.
void finish(Problem& problem, const Request& request, std::vector<RoleAxis> axes, ReducedOut role) {
  problem.kind = request.kind;
  problem.input = request.in.dtype;
  problem.output = request.out.dtype;
  problem.inputs = element_count(request.in);
  problem.outputs = element_count(request.out);
  problem.in_alignment_bytes = alignment_of(request.in);
  problem.out_alignment_bytes = alignment_of(request.out);
  problem.block_limit = request.options.block_limit;
  if (problem.inputs == 0) {  // only where to write identities is left to know
    std::erase_if(axes, [](const RoleAxis& a) { return a.reduced; });
    for (RoleAxis& a : axes) a.axis.in = 0;
    if (problem.outputs == 0) axes.clear();
  }
  problem.as_given = literal(axes);
  problem.axes = canonicalize(std::move(axes), role);
}

Status check_reduce(const ReduceSpec& spec, const ViewDesc& in, const ViewDesc& out, Index count) {
  if (spec.compensated && fold_of(spec.op, true) == FoldKind::none)
    return Status(Code::unsupported,
                  "compensated accumulation is offered for sum and mean, not for " + std::string(name(spec.op)));
  if (spec.compensated && !is_floating(in.dtype))
    return Status(Code::unsupported,
                  "compensated accumulation is offered for floating input, not for " + std::string(name(in.dtype)));
  if (spec.ddof < 0)
    return Status(Code::invalid_argument, "ddof is " + std::to_string(spec.ddof) + ", it must be at least 0");
  if (const Status status = check_output_type(spec.op, in.dtype, out.dtype); !status.ok()) return status;
  if (facts(spec.op).needs_elements && count == 0 && element_count(out) > 0)
    return Status(Code::empty_reduction,
                  std::string(name(spec.op)) + " of no elements has no value: in has sizes " + text_of(in.sizes));
  if (facts(spec.op).output == OutputRule::index) {
    const int bits = static_cast<int>(size_bytes(out.dtype)) * 8 - is_signed_integer(out.dtype);
    if (bits < 63 && count > (Index{1} << bits))
      return Status(Code::unsupported, "out of type " + std::string(name(out.dtype)) + " cannot hold the indices of " +
                                           std::to_string(count) + " elements");
  }
  return {};
}

Result<Problem> reduce_problem(const Request& request) {
  const ReduceSpec& spec = request.reduce;
  if (!is_known(spec.op)) return Status(Code::invalid_argument, "op is not one of the known reductions");
  if (!is_known(spec.accumulate)) return Status(Code::invalid_argument, "accumulate is not one of the known types");
  auto flags = axis_flags(spec.axes, request.in.rank());
  if (!flags) return flags.error();
  const auto count = folded_elements(request.in, *flags);
  if (!count) return count.error();
  std::vector<Index> expected;
  for (std::size_t i = 0; i < flags->size(); ++i) {
    if (!(*flags)[i]) expected.push_back(request.in.sizes[i]);
    if ((*flags)[i] && spec.keep_axes) expected.push_back(1);
  }
  if (const Status status = check_sizes(request.out, expected); !status.ok()) return status;
  if (const Status status = check_reduce(spec, request.in, request.out, *count); !status.ok()) return status;
  const auto accumulate = accumulate_type(spec.op, request.in.dtype, spec.accumulate);
  if (!accumulate) return accumulate.error();

  auto axes = input_axes(request.in, *flags);
  const bool indexed = facts(spec.op).output == OutputRule::index;
  Index weight = 1;
  std::size_t out_axis = request.out.sizes.size();
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].reduced) {
      if (spec.keep_axes) --out_axis;
      axes[i].axis.out = indexed ? weight : 0;
      if (*count > 0) weight *= axes[i].axis.size;  // of no elements there is no index, and this may not fit
    } else {
      axes[i].axis.out = request.out.strides[--out_axis];
    }
  }
  Problem problem;
  problem.fold = fold_of(spec.op, spec.compensated);
  problem.accumulate = *accumulate;
  problem.ddof = spec.ddof;
  problem.count = *count;
  finish(problem, request, std::move(axes), indexed ? ReducedOut::index_weight : ReducedOut::unused);
  return problem;
}

Result<Problem> softmax_problem(const Request& request) {
  const SoftmaxSpec& spec = request.softmax;
  const std::string_view op = name(spec.kind);
  if (spec.kind != SoftmaxKind::softmax && spec.kind != SoftmaxKind::log_softmax)
    return Status(Code::invalid_argument, "kind is neither softmax nor log_softmax");
  auto flags = axis_flags(spec.axes, request.in.rank());
  if (!flags) return flags.error();
  if (const Status status = check_sizes(request.out, request.in.sizes); !status.ok()) return status;
  for (const DType type : {request.in.dtype, request.out.dtype})
    if (!is_floating(type))
      return Status(Code::unsupported, std::string(op) + " of " + std::string(name(request.in.dtype)) + " into " +
                                           std::string(name(request.out.dtype)) + ": both must be floating types");
  if (!std::isfinite(spec.scale) || !std::isfinite(spec.alpha))
    return Status(Code::invalid_argument, "scale is " + std::to_string(spec.scale) + " and alpha is " +
                                              std::to_string(spec.alpha) + ": both must be finite");
  const auto count = folded_elements(request.in, *flags);
  if (!count) return count.error();
  auto axes = input_axes(request.in, *flags);
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i].axis.out = request.out.strides[i];
  Problem problem;
  problem.fold = FoldKind::softmax;
  problem.count = *count;
  problem.sink = spec.kind == SoftmaxKind::softmax ? SinkKind::softmax : SinkKind::log_softmax;
  problem.accumulate = floating_accumulator(request.in.dtype);
  problem.scale = spec.scale;
  problem.alpha = spec.alpha;
  finish(problem, request, std::move(axes), ReducedOut::written);
  return problem;
}

Result<Problem> permute_problem(const Request& request) {
  const int rank = request.in.rank();
  const auto& order = request.order.axes;
  if (static_cast<int>(order.size()) != rank)
    return Status(Code::invalid_argument,
                  "order names " + std::to_string(order.size()) + " axes, the input has " + std::to_string(rank));
  if (const auto flags = axis_flags(AxisSet(order), rank, "order"); !flags) return flags.error();
  if (request.in.dtype != request.out.dtype)
    return Status(Code::unsupported, "permute of " + std::string(name(request.in.dtype)) + " cannot be written as " +
                                         std::string(name(request.out.dtype)) + ": it moves elements unchanged");
  std::vector<Index> expected;
  std::vector<RoleAxis> axes;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t from = static_cast<std::size_t>(order[i] < 0 ? order[i] + rank : order[i]);
    expected.push_back(request.in.sizes[from]);
    axes.push_back({{.size = request.in.sizes[from], .in = request.in.strides[from], .out = 0}, false});
  }
  if (const Status status = check_sizes(request.out, expected); !status.ok()) return status;
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i].axis.out = request.out.strides[i];
  Problem problem;
  problem.count = 1;
  problem.accumulate = request.in.dtype;
  finish(problem, request, std::move(axes), ReducedOut::unused);
  return problem;
}

}  // namespace

bool Problem::innermost_is_reduced() const {
  const auto nearest = [](const std::vector<Axis>& list) { return list.empty() ? Index{0} : list.back().in; };
  const Index kept = nearest(axes.kept), reduced = nearest(axes.reduced);
  return reduced != 0 && (kept == 0 || reduced <= kept);
}

double Problem::bytes_in() const {
  double distinct = static_cast<double>(size_bytes(input));
  for (const auto* group : {&axes.kept, &axes.reduced})
    for (const Axis& axis : *group)
      if (axis.in != 0) distinct *= static_cast<double>(axis.size);
  return reads_nothing() ? 0 : distinct;
}

double Problem::bytes_out() const { return static_cast<double>(outputs) * static_cast<double>(size_bytes(output)); }

Result<Problem> make_problem(const Request& request) {
  for (const auto& [view, argument] : {std::pair(&request.in, "in"), std::pair(&request.out, "out")})
    if (const Status status = check_view(*view, argument); !status.ok()) return status;
  if (request.options.block_limit < 0)
    return Status(Code::invalid_argument,
                  "block_limit is " + std::to_string(request.options.block_limit) + ", it must be at least 0");
  auto problem = request.kind == RequestKind::reduce    ? reduce_problem(request)
                 : request.kind == RequestKind::softmax ? softmax_problem(request)
                                                        : permute_problem(request);
  if (!problem) return problem;
  if (const Status status = check_writes_are_distinct(request.out); !status.ok()) return status;
  return problem;
}

}  // namespace ndfold
