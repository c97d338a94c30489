// Short ways to say a request, for the tests of the planner.
#pragma once
#include "plans/choose.h"

#include <string>
#include <utility>

namespace ndfold::test {

using Dims = std::vector<Index>;

/// A host that is the same on every machine.
inline DeviceFacts fixed_host() {
  return {.name = "host",
          .kind = DeviceKind::cpu,
          .multiprocessors = 8,
          .lanes = 16,
          .cache_bytes = Index{1} << 20,
          .read_gigabytes_per_second = 136,
          .copy_gigabytes_per_second = 200,
          .launch_microseconds = 1};
}

inline Request softmax_of(ViewDesc in, AxisSet axes, const DeviceFacts& device = fixed_host()) {
  Request request;
  request.kind = RequestKind::softmax;
  request.out = dense(in.dtype, in.sizes);
  request.in = std::move(in);
  request.softmax.axes = std::move(axes);
  request.options.device = device;
  return request;
}

inline Request softmax_of(Dims sizes, AxisSet axes, const DeviceFacts& device = fixed_host()) {
  return softmax_of(dense(DType::f32, std::move(sizes)), std::move(axes), device);
}

inline Request reduce_of(ReduceOp op, ViewDesc in, AxisSet axes, const DeviceFacts& device = fixed_host()) {
  Request request;
  request.in = std::move(in);
  const auto flags = axis_flags(axes, request.in.rank());
  Dims kept;
  for (std::size_t i = 0; flags && i < flags->size(); ++i)
    if (!(*flags)[i]) kept.push_back(request.in.sizes[i]);
  request.out = dense(default_output(op, request.in.dtype), std::move(kept));
  request.reduce.op = op;
  request.reduce.axes = std::move(axes);
  request.options.device = device;
  return request;
}

inline Request sum_of(Dims sizes, AxisSet axes, const DeviceFacts& device = fixed_host()) {
  return reduce_of(ReduceOp::sum, dense(DType::f32, std::move(sizes)), std::move(axes), device);
}

inline Request permute_of(ViewDesc in, std::vector<int> order, const DeviceFacts& device = fixed_host()) {
  Request request;
  request.kind = RequestKind::permute;
  Dims sizes;
  for (int axis : order) sizes.push_back(in.sizes[static_cast<std::size_t>(axis)]);
  request.out = dense(in.dtype, std::move(sizes));
  request.in = std::move(in);
  request.order.axes = std::move(order);
  request.options.device = device;
  return request;
}

inline Request on(Request request, const DeviceFacts& device) {
  request.options.device = device;
  return request;
}

inline Request forced(Request request, std::string strategy) {
  request.options.strategy = std::move(strategy);
  return request;
}

/// Throws when the request is refused: a test that asks for a plan expects one.
inline Choice plan(const Request& request) {
  const Problem problem = make_problem(request).value();
  return choose(problem, request.options).value();
}

inline Status refusal(const Request& request) {
  const auto problem = make_problem(request);
  return problem ? choose(*problem, request.options).error() : problem.error();
}

inline const Candidate& candidate(const Choice& choice, std::string_view name) {
  for (const Candidate& row : choice.candidates)
    if (row.name == name) return row;
  throw std::runtime_error("no such strategy: " + std::string(name));
}

}  // namespace ndfold::test
