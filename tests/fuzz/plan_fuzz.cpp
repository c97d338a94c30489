// The planner against hostile requests: sizes to 2^63, any strides, axes, types, devices and options. Whatever they
// say, the answer is a sentence or a schedule within the limits of its device.
#include "plans/explain.h"
#include "tests/plans/launch_limits.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace ndfold;

// Reads numbers from the fuzzer's bytes; zeros when they run out.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  template <class T>
  T take() {
    T value{};
    const std::size_t bytes = std::min(sizeof value, left_);
    std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }
  int below(int limit) { return take<std::uint8_t>() % limit; }

  // Small, near a power of two, or anything: uniform numbers would overflow always.
  Index number() {
    const int kind = below(8);
    if (kind == 7) return take<Index>();
    if (kind == 6) return (Index{1} << below(63)) + below(3) - 1;
    if (kind == 5) return take<std::int16_t>();
    if (kind == 4) return take<std::int32_t>();
    return below(kind == 0 ? 3 : 70);
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

constexpr int kMostAxes = 9;

DType any_type(Bytes& bytes) { return static_cast<DType>(bytes.below(kDTypeCount + 1)); }

ViewDesc any_view(Bytes& bytes) {
  ViewDesc view = dense(any_type(bytes), {});
  const int rank = bytes.below(kMostAxes);
  for (int i = 0; i < rank; ++i) view.sizes.push_back(bytes.number());
  view.strides = row_major_strides(view.sizes);
  const int touched = bytes.below(4);  // mostly dense, or all would be refused
  for (int i = 0; i < touched && rank > 0; ++i) {
    const auto axis = static_cast<std::size_t>(bytes.below(rank));
    view.strides[axis] = bytes.number();
  }
  if (bytes.below(32) == 0) view.strides.push_back(1);
  view.alignment_bytes = bytes.below(4) == 0 ? bytes.number() : 0;
  return view;
}

AxisSet any_axes(Bytes& bytes, int rank) {
  if (bytes.below(8) == 0) return AxisSet::all();
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i)
    if (bytes.below(2) == 0) axes.push_back(bytes.below(8) == 0 ? i - rank : i);
  if (bytes.below(16) == 0) axes.push_back(bytes.take<std::int8_t>());
  return AxisSet(axes);
}

// What the result would be, so that most requests come past the first check.
std::vector<Index> result_sizes(const Request& request) {
  const auto flags = axis_flags(request.reduce.axes, request.in.rank());
  std::vector<Index> sizes;
  for (std::size_t i = 0; flags && i < flags->size(); ++i) {
    if (!(*flags)[i]) sizes.push_back(request.in.sizes[i]);
    if ((*flags)[i] && request.reduce.keep_axes) sizes.push_back(1);
  }
  return sizes;
}

void ask_reduce(Bytes& bytes, Request& request) {
  request.reduce.op = static_cast<ReduceOp>(bytes.below(kReduceOpCount + 1));
  request.reduce.axes = any_axes(bytes, request.in.rank());
  request.reduce.accumulate = bytes.below(4) == 0 ? any_type(bytes) : DType::best;
  request.reduce.keep_axes = bytes.below(2) == 0;
  request.reduce.ddof = bytes.below(4) == 0 ? bytes.number() : 0;
  request.reduce.compensated = bytes.below(8) == 0;
  request.out = dense(default_output(request.reduce.op, request.in.dtype), result_sizes(request));
}

void ask_softmax(Bytes& bytes, Request& request) {
  request.softmax.axes = any_axes(bytes, request.in.rank());
  request.softmax.kind = static_cast<SoftmaxKind>(bytes.below(3));
  request.softmax.scale = bytes.below(4) == 0 ? bytes.take<double>() : 1;
  request.softmax.alpha = bytes.below(4) == 0 ? bytes.take<double>() : 1;
  request.out = bytes.below(2) == 0 ? request.in : dense(request.in.dtype, request.in.sizes);
}

void ask_permute(Bytes& bytes, Request& request) {
  for (int i = 0; i < request.in.rank(); ++i) request.order.axes.push_back(i);
  const int swaps = bytes.below(4);
  for (int i = 0; i < swaps && request.in.rank() > 0; ++i)
    std::swap(request.order.axes[static_cast<std::size_t>(bytes.below(request.in.rank()))], request.order.axes[0]);
  std::vector<Index> sizes;
  for (int axis : request.order.axes) sizes.push_back(request.in.sizes[static_cast<std::size_t>(axis)]);
  request.out = dense(request.in.dtype, sizes);
}

DeviceFacts any_device(Bytes& bytes) {
  DeviceFacts (*const kDevices[])() = {DeviceFacts::host, DeviceFacts::h200, DeviceFacts::a100};
  DeviceFacts device = kDevices[bytes.below(3)]();
  if (bytes.below(8) == 0) device.multiprocessors = 1 + bytes.below(200);
  if (bytes.below(8) == 0) device.cooperative = false;
  if (bytes.below(8) == 0 && device.kind == DeviceKind::cuda) device.shared_bytes_per_block = 1024 * bytes.below(100);
  return device;
}

Request any_request(Bytes& bytes) {
  Request request;
  request.kind = static_cast<RequestKind>(bytes.below(3));
  request.options.device = any_device(bytes);
  request.options.block_limit = bytes.below(4) == 0 ? bytes.number() : 0;
  request.in = any_view(bytes);
  (request.kind == RequestKind::reduce    ? ask_reduce
   : request.kind == RequestKind::softmax ? ask_softmax
                                          : ask_permute)(bytes, request);
  if (bytes.below(8) == 0) request.out = any_view(bytes);
  return request;
}

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void require_sentence(const Status& status) {
  require(!status.ok() && status.code() != Code::internal, "refused without a reason: " + status.message());
  require(status.message().size() > 8 && status.message().find('\n') == std::string::npos, "not one sentence");
}

void require_plan(Request request, const Problem& problem, std::string_view strategy) {
  request.options.strategy = strategy;
  const auto choice = choose(problem, request.options);
  if (!choice) return require_sentence(choice.error());
  const std::string broken = test::broken_limit(choice->schedule, request.options.device);
  require(broken.empty(), std::string(choice->strategy) + ", " + broken);
  require(std::isfinite(choice->microseconds) && choice->microseconds >= 0, "the estimate is not a time");
  require(!explain(request, problem, *choice).empty(), "no explanation");
  if (strategy.empty()) require(explain_json(request, problem, *choice).size() > 2, "no JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const Request request = any_request(bytes);
  const auto problem = make_problem(request);
  if (!problem) return require_sentence(problem.error()), 0;
  require_plan(request, *problem, "");
  for (const Strategy& row : strategies()) require_plan(request, *problem, row.name);
  return 0;
}
