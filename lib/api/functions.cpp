// The free functions: plan through the process's cache, find a workspace, run.
#include <ndfold/plan.h>
#include <ndfold/plan_cache.h>

#include "lib/api/no_exceptions.h"
#include "lib/exec/cuda/devices.h"
#include "plans/validate.h"

namespace ndfold {
namespace {

std::string name_of(const Device& device) {
  return device.kind == DeviceKind::cpu ? "the CPU" : "cuda:" + std::to_string(device.ordinal);
}

// The options of a plan for the device that both tensors lie on. They stay where they are: a call copies nothing.
Result<const PlanOptions*> options_for(const ConstTensorView& in, const TensorView& out) {
  static const PlanOptions* const kHost = new PlanOptions;  // never destroyed, as the cache
  if (!(in.device == out.device))
    return Status(Code::invalid_argument, "in lies on " + name_of(in.device) + ", out on " + name_of(out.device) +
                                              ": they have to be together");
  if (in.device.kind == DeviceKind::cpu) return kHost;
  const auto options = cuda::options_of(in.device.ordinal);
  if (options) return options;
  return Status(options.error().code(), "in and out lie on " + name_of(in.device) + ": " + options.error().message());
}

Status run(const Result<ReducePlan>& plan, const ConstTensorView& in, const TensorView& out, const Stream& stream) {
  if (!plan) return plan.error();
  const std::size_t bytes = plan->workspace_bytes();
  if (bytes == 0) return plan->run(in.data, out.data, {}, stream);
  const auto workspace = OwnedWorkspace::allocate(bytes, in.device, stream);
  return workspace ? plan->run(in.data, out.data, *workspace, stream) : workspace.error();
}

template <class Plan>
Status plan_and_run(const ConstTensorView& in, const TensorView& out, const Stream& stream, const Plan& plan) {
  return or_out_of_memory([&] {
    const auto options = options_for(in, out);
    return options ? run(plan(**options), in, out, stream) : options.error();
  });
}

Result<ViewDesc> checked_output(const ViewDesc& in, const ReduceSpec& spec) {
  if (Status status = check_view(in, "in"); !status.ok()) return status;
  if (!is_known(spec.op)) return Status(Code::invalid_argument, "op is not one of the known reductions");
  const auto flags = axis_flags(spec.axes, in.rank());
  if (!flags) return flags.error();
  const DType type = default_output(spec.op, in.dtype);
  if (type == DType::best)
    return Status(Code::unsupported,
                  std::string(name(spec.op)) + " takes floating input, not " + std::string(name(in.dtype)));
  std::vector<Index> sizes;
  for (std::size_t i = 0; i < in.sizes.size(); ++i) {
    if (!(*flags)[i]) sizes.push_back(in.sizes[i]);
    if ((*flags)[i] && spec.keep_axes) sizes.push_back(1);
  }
  return dense(type, std::move(sizes));
}

}  // namespace

Result<ViewDesc> output_desc(const ViewDesc& in, const ReduceSpec& spec) {
  return or_out_of_memory([&] { return checked_output(in, spec); });
}

Status reduce(const ConstTensorView& in, const TensorView& out, const ReduceSpec& spec, Stream stream) {
  return plan_and_run(in, out, stream, [&](const PlanOptions& options) {
    return process_plan_cache().reduce(in.desc, out.desc, spec, options);
  });
}

Status softmax(const ConstTensorView& in, const TensorView& out, const SoftmaxSpec& spec, Stream stream) {
  return plan_and_run(in, out, stream, [&](const PlanOptions& options) {
    return process_plan_cache().softmax(in.desc, out.desc, spec, options);
  });
}

Status permute(const ConstTensorView& in, const TensorView& out, const Order& order, Stream stream) {
  return plan_and_run(in, out, stream, [&](const PlanOptions& options) {
    return process_plan_cache().permute(in.desc, out.desc, order, options);
  });
}

}  // namespace ndfold
