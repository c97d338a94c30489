// The free functions: plan through the process's cache, find a workspace, run.
#include <ndfold/plan.h>
#include <ndfold/plan_cache.h>

#include "lib/api/no_exceptions.h"
#include "lib/api/plan_state.h"
#include "plans/validate.h"

#include <cstdlib>

namespace ndfold {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

Status check_devices(const ConstTensorView& in, const TensorView& out) {
  for (const auto& [device, argument] : {std::pair(in.device, "in"), std::pair(out.device, "out")})
    if (device.kind != DeviceKind::cpu)
      return Status(Code::unsupported,
                    std::string(argument) + " lies on a GPU, and this build of ndfold runs on a CPU only");
  return {};
}

Status run(const Result<ReducePlan>& plan, const ConstTensorView& in, const TensorView& out, const Stream& stream) {
  if (!plan) return plan.error();
  const std::size_t bytes = plan->workspace_bytes();
  if (bytes == 0) return plan->run(in.data, out.data, {}, stream);
  const std::unique_ptr<void, Free> memory(std::aligned_alloc(kWorkspaceAlignment, bytes));
  if (memory == nullptr)
    return Status(Code::out_of_memory, "a workspace of " + std::to_string(bytes) + " bytes could not be allocated");
  return plan->run(in.data, out.data, {.data = memory.get(), .bytes = bytes}, stream);
}

template <class Plan>
Status plan_and_run(const ConstTensorView& in, const TensorView& out, const Stream& stream, const Plan& plan) {
  return or_out_of_memory([&] {
    const Status status = check_devices(in, out);
    return status.ok() ? run(plan(), in, out, stream) : status;
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
  return plan_and_run(in, out, stream, [&] { return process_plan_cache().reduce(in.desc, out.desc, spec); });
}

Status softmax(const ConstTensorView& in, const TensorView& out, const SoftmaxSpec& spec, Stream stream) {
  return plan_and_run(in, out, stream, [&] { return process_plan_cache().softmax(in.desc, out.desc, spec); });
}

Status permute(const ConstTensorView& in, const TensorView& out, const Order& order, Stream stream) {
  return plan_and_run(in, out, stream, [&] { return process_plan_cache().permute(in.desc, out.desc, order); });
}

}  // namespace ndfold
