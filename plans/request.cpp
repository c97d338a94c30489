#include "plans/request.h"

#include <functional>
#include <string>

namespace ndfold {
namespace {

class Hasher {
 public:
  void add(std::uint64_t word) { state_ = (state_ ^ word) * 0x9E3779B97F4A7C15u, state_ ^= state_ >> 29; }
  template <class T>
  void add_all(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) add(static_cast<std::uint64_t>(value));
  }
  void add(const ViewDesc& view) {
    add(static_cast<std::uint64_t>(view.dtype));
    add(static_cast<std::uint64_t>(view.alignment_bytes));
    add_all(view.sizes);
    add_all(view.strides);
  }
  void add(const AxisSet& axes) { add(axes.is_all()), add_all(axes.list()); }
  void add(const ReduceSpec& spec) { add(static_cast<std::uint64_t>(spec.op)), add(spec.axes); }
  void add(const SoftmaxSpec& spec) { add(spec.axes); }
  void add(const Order& order) { add_all(order.axes); }
  std::size_t result() const { return static_cast<std::size_t>(state_); }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

}  // namespace

RequestView view_of(const Request& request) {
  RequestView view{.in = &request.in, .out = &request.out, .spec = {}, .options = &request.options};
  switch (request.kind) {
    case RequestKind::reduce: view.spec = &request.reduce; break;
    case RequestKind::softmax: view.spec = &request.softmax; break;
    case RequestKind::permute: view.spec = &request.order; break;
  }
  return view;
}

Request copy_of(const RequestView& view) {
  return std::visit([&](const auto* spec) { return request_of(*view.in, *view.out, *spec, *view.options); }, view.spec);
}

bool operator==(const RequestView& a, const RequestView& b) {
  const auto is_spec_of_b = [&b](const auto* spec) { return *spec == **std::get_if<decltype(spec)>(&b.spec); };
  return a.spec.index() == b.spec.index() && *a.in == *b.in && *a.out == *b.out && std::visit(is_spec_of_b, a.spec) &&
         *a.options == *b.options;
}

// Only buckets depend on it: keys are compared by value, so what is left out here costs a comparison, never an answer.
std::size_t hash(const RequestView& request) {
  Hasher hasher;
  hasher.add(request.spec.index());
  hasher.add(*request.in);
  hasher.add(*request.out);
  std::visit([&](const auto* spec) { hasher.add(*spec); }, request.spec);
  hasher.add(std::hash<std::string>{}(request.options->strategy));
  hasher.add(static_cast<std::uint64_t>(request.options->device.architecture));
  return hasher.result();
}

Result<std::vector<bool>> axis_flags(const AxisSet& set, int rank, std::string_view argument) {
  std::vector<bool> flags(static_cast<std::size_t>(rank), set.is_all());
  for (int named : set.list()) {
    const int axis = named < 0 ? named + rank : named;
    if (axis < 0 || axis >= rank)
      return Status(Code::invalid_argument, std::string(argument) + " names axis " + std::to_string(named) +
                                                ", but the input has " + std::to_string(rank) +
                                                (rank == 1 ? " axis" : " axes"));
    if (flags[static_cast<std::size_t>(axis)])
      return Status(Code::invalid_argument, std::string(argument) + " names axis " + std::to_string(axis) + " twice");
    flags[static_cast<std::size_t>(axis)] = true;
  }
  return flags;
}

}  // namespace ndfold
