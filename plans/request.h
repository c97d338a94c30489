// A request: exactly what the caller said, compared by value. It is the key of the plan cache: looking a plan up must
// not cost a canonicalization.
#pragma once
#include <ndfold/spec.h>
#include <ndfold/status.h>

namespace ndfold {

enum class RequestKind : std::uint8_t { reduce, softmax, permute };

struct Request {
  RequestKind kind = RequestKind::reduce;
  ViewDesc in = {}, out = {};
  ReduceSpec reduce = {};
  SoftmaxSpec softmax = {};
  Order order = {};
  PlanOptions options = {};
  friend bool operator==(const Request&, const Request&) = default;
};

inline Request request_of(const ViewDesc& in, const ViewDesc& out, const ReduceSpec& spec, const PlanOptions& options) {
  return {.kind = RequestKind::reduce, .in = in, .out = out, .reduce = spec, .options = options};
}
inline Request request_of(const ViewDesc& in, const ViewDesc& out, const SoftmaxSpec& spec,
                          const PlanOptions& options) {
  return {.kind = RequestKind::softmax, .in = in, .out = out, .softmax = spec, .options = options};
}
inline Request request_of(const ViewDesc& in, const ViewDesc& out, const Order& order, const PlanOptions& options) {
  return {.kind = RequestKind::permute, .in = in, .out = out, .order = order, .options = options};
}

std::size_t hash(const Request&);

/// The axes of `set` as one flag for each axis of a tensor of this rank; refuses what is out of range or named twice.
/// `argument` is what the sentence blames.
Result<std::vector<bool>> axis_flags(const AxisSet& set, int rank, std::string_view argument = "axes");

}  // namespace ndfold
