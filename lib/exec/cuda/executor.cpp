#include "lib/exec/cuda/executor.h"

#include <algorithm>
#include <string>

namespace ndfold::cuda {
namespace {

std::string words(const KernelKey& key) {
  std::string text(name(key.body));
  if (key.fold != FoldKind::none) text += " " + std::string(name(key.fold));
  if (key.map != MapKind::none) text += " " + std::string(name(key.map));
  return text + " of " + std::string(name(key.input)) + " in " + std::string(name(key.accumulate)) + " to " +
         std::string(name(key.output));
}

// Blocks that wait for each other all have to be there: a launch that does not fit would hang, or be refused. `device`
// is the GPU as it is: the plan's facts may promise more.
Status check_residence(const Bound& bound, const DeviceFacts& device, Prepared& prepared) {
  const GpuApi& api = *backend().api;
  const LaunchShape& shape = bound.launch;
  const Kernel kernel = bound.kernel(KernelOf::all).kernel;
  Index shared_bytes = 0;
  for (const StepKernel& one : bound.kernels) shared_bytes = std::max(shared_bytes, one.shared_bytes);
  if (shared_bytes > device.shared_bytes_per_block)
    return Status(Code::unsupported, "a block takes " + std::to_string(shared_bytes) + " bytes of shared memory, on " +
                                         device.name + " it may have " + std::to_string(device.shared_bytes_per_block));
  if (shape.cooperative) {
    prepared.too_many_blocks = !device.cooperative;
    if (prepared.too_many_blocks) return Status(Code::unsupported, device.name + " has no cooperative launch");
    int blocks = 0;
    if (const ErrorCode error = api.resident_blocks(&blocks, kernel, shape); error != 0)
      return failed("blocks of a cooperative launch cannot be counted", error);
    const Index resident = Index{blocks} * device.multiprocessors;
    prepared.too_many_blocks = shape.grid_x * shape.grid_y > resident;
    if (prepared.too_many_blocks)
      return Status(Code::unsupported, "a cooperative launch of " + std::to_string(shape.grid_x * shape.grid_y) +
                                           " blocks does not fit on " + device.name + ", which holds " +
                                           std::to_string(resident) + " at once");
  }
  if (shape.cluster > 1) {
    int clusters = 0;
    if (const ErrorCode error = api.resident_clusters(&clusters, kernel, shape); error != 0)
      return failed("clusters of " + std::to_string(shape.cluster) + " blocks cannot be counted", error);
    prepared.too_wide_clusters = clusters == 0;
    if (prepared.too_wide_clusters)
      return Status(Code::unsupported,
                    "a cluster of " + std::to_string(shape.cluster) + " blocks does not fit on " + device.name);
  }
  return {};
}

// Blocks that come while others end lie unevenly: some multiprocessors have three where others have one. That matters
// where they are long and the only ones: rows of 1 MiB, 256 of them, took 105 us for 90 (an H100).
Result<bool> may_begin_early(const Step& step, Kernel kernel, const LaunchShape& shape, const DeviceFacts& device) {
  constexpr double kShortBytes = 16 << 20;
  if (step.bytes_read + step.bytes_written <= kShortBytes) return true;
  int resident = 0;
  if (const ErrorCode error = backend().api->resident_blocks(&resident, kernel, shape); error != 0)
    return failed("blocks of a multiprocessor cannot be counted", error);
  return shape.grid_x * shape.grid_y >= Index{resident} * device.multiprocessors;
}

Status prepare_step(const Step& step, const DeviceFacts& device, Prepared& prepared) {
  constexpr int kPortableClusterBlocks = 8, kUsualSharedBytes = 48 * 1024;  // what kernels may have unasked
  const Found found = backend().find_kernel(step.kernel, layout_of(step));
  if (found.kernel == nullptr) return Status(Code::internal, "the CUDA catalog has no row for " + words(step.kernel));
  Bound bound = bind(step, found);
  const bool wide = bound.launch.cluster > kPortableClusterBlocks;
  // All or nothing, whatever the plan's facts say: a later plan must not take it from an earlier one.
  for (int i = 0; i < kKernelsOfStep; ++i) {
    const auto of = static_cast<KernelOf>(i);
    StepKernel& one = bound.kernel(of);
    if (one.kernel == nullptr) continue;
    const bool much = one.shared_bytes > kUsualSharedBytes;
    const int shared = much ? static_cast<int>(device.shared_bytes_per_block) : 0;
    bool awaits = false;
    if (const ErrorCode error = backend().api->prepare(one.kernel, shared, wide, &awaits); error != 0)
      return failed("the kernel " + words(step.kernel) + " cannot be loaded", error);
    if (!awaits) continue;
    const Result<bool> early = may_begin_early(step, one.kernel, bound.shape(of), device);
    if (!early) return early.error();
    one.begins_early = *early;
  }
  if (Status status = check_residence(bound, device, prepared); !status.ok()) return status;
  prepared.program.launches.push_back(bound);
  return {};
}

}  // namespace

Prepared prepare(const Schedule& schedule, int ordinal) {
  Prepared prepared;
  prepared.program.ordinal = ordinal;
  const auto device = facts_of(ordinal);
  if (!device) {
    prepared.status = device.error();
    return prepared;
  }
  const OnDevice on(ordinal);
  if (on.error() != 0) {
    prepared.status = failed("cuda:" + std::to_string(ordinal) + " cannot be made current", on.error());
    return prepared;
  }
  for (const Step& step : schedule.steps) {
    prepared.status = prepare_step(step, **device, prepared);
    if (!prepared.status.ok()) break;
  }
  return prepared;
}

Status run(const Program& program, const Pointers& pointers, void* stream) {
  const OnDevice on(program.ordinal);
  if (on.error() != 0) return failed("cuda:" + std::to_string(program.ordinal) + " cannot be made current", on.error());
  const GpuApi& api = *backend().api;
  for (const Bound& bound : program.launches) {
    const Arguments arguments = place(bound, pointers);
    const Kernel kernel = bound.kernel(arguments.kernel).kernel;
    const LaunchShape shape = bound.shape(arguments.kernel);
    if (const ErrorCode error = api.launch(kernel, arguments, shape, stream); error != 0)
      return failed("launch " + std::to_string(&bound - program.launches.data() + 1) + " of " +
                        std::to_string(program.launches.size()),
                    error);
  }
  return {};
}

Result<void*> allocate(std::size_t bytes, int ordinal, void* stream) {
  if (const auto here = facts_of(ordinal); !here) return here.error();
  const OnDevice on(ordinal);
  void* memory = nullptr;
  const ErrorCode error = on.error() != 0 ? on.error() : backend().api->allocate(&memory, bytes, stream);
  if (error == 0) return memory;
  return Status(Code::out_of_memory, "a workspace of " + std::to_string(bytes) +
                                         " bytes could not be allocated on cuda:" + std::to_string(ordinal) + ": " +
                                         backend().api->words(error));
}

void free(void* memory, int ordinal, void* stream) {
  const OnDevice on(ordinal);
  backend().api->free(memory, stream);
}

}  // namespace ndfold::cuda
