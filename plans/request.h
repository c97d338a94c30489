// A request: exactly what the caller said, compared by value. It is the key of the plan cache: looking a plan up must
// not cost a canonicalization.
#pragma once
#include <ndfold/spec.h>
#include <ndfold/status.h>

#include <variant>

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

/// A request by reference: what the plan cache is asked with, so that a plan that is there costs no copy.
struct RequestView {
  const ViewDesc* in = nullptr;
  const ViewDesc* out = nullptr;
  std::variant<const ReduceSpec*, const SoftmaxSpec*, const Order*> spec;  // in the order of RequestKind
  const PlanOptions* options = nullptr;
};

RequestView view_of(const Request&);
Request copy_of(const RequestView&);

/// By value, as the requests that they stand for.
bool operator==(const RequestView&, const RequestView&);
std::size_t hash(const RequestView&);
inline std::size_t hash(const Request& request) { return hash(view_of(request)); }

/// The axes of `set` as one flag for each axis of a tensor of this rank; refuses what is out of range or named twice.
/// `argument` is what the sentence blames.
Result<std::vector<bool>> axis_flags(const AxisSet& set, int rank, std::string_view argument = "axes");

}  // namespace ndfold
