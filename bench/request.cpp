#include "bench/request.h"

namespace ndfold::bench {
namespace {

std::vector<Index> list(const std::int64_t* values, int count) { return {values, values + count}; }

}  // namespace

std::optional<Request> request_of(const Case& c, std::string& why) {
  const auto dtype = parse_dtype(c.dtype);
  const auto out_dtype = parse_dtype(c.out_dtype);
  const std::string op = c.op;
  const auto reduction = parse_op(op);
  if (!dtype || !out_dtype || (!reduction && op != "softmax" && op != "log_softmax")) {
    why = "no such operation or element type: " + op + " of " + c.dtype + " to " + c.out_dtype;
    return std::nullopt;
  }
  Request request;
  request.in = {.dtype = *dtype, .sizes = list(c.sizes, c.rank), .strides = list(c.strides, c.rank)};
  request.out = {
      .dtype = *out_dtype, .sizes = list(c.out_sizes, c.out_rank), .strides = list(c.out_strides, c.out_rank)};
  request.in.alignment_bytes = alignment_of(c.in);
  request.out.alignment_bytes = alignment_of(c.out);
  const AxisSet axes(std::vector<int>(c.axes, c.axes + c.axis_count));
  if (reduction)
    request.spec = ReduceSpec{.op = *reduction, .axes = axes};
  else
    request.spec = SoftmaxSpec{.axes = axes, .kind = op == "softmax" ? SoftmaxKind::softmax : SoftmaxKind::log_softmax};
  return request;
}

}  // namespace ndfold::bench
