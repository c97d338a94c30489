// The way of every verb that computes: read a file, plan, run, write a file.
#include "tools/compute.h"

#include "lib/io/npy.h"
#include "tools/device_table.h"
#include "tools/gpu.h"
#include "tools/progress.h"

namespace ndfold::cli {
namespace {

Result<io::HostBytes> allocate_output(const Planned& planned) {
  const auto bytes = io::array_bytes(planned.out.dtype, planned.out.sizes);
  return bytes ? io::HostBytes::allocate(*bytes) : bytes.error();
}

Result<io::HostBytes> computed_on_cpu(const Planned& planned, const io::HostBytes& in, int threads) {
  auto memory = allocate(planned);
  if (!memory) return memory.error();
  const ChosenWorkers workers(threads);
  auto status = planned.plan.run(in.data(), memory->out.data(), memory->workspace(), {.workers = &workers.get()});
  if (!status.ok()) return status;
  return std::move(memory->out);
}

Result<io::HostBytes> computed_on_gpu(const Planned& planned, const io::HostBytes& in, int ordinal) {
  auto out = allocate_output(planned);
  if (!out) return out;
  if (auto status = use_gpu(ordinal); !status.ok()) return status;
  const auto source = GpuBytes::allocate(in.size()), result = GpuBytes::allocate(out->size()),
             scratch = GpuBytes::allocate(static_cast<Index>(planned.plan.workspace_bytes()));
  for (const auto* memory : {&source, &result, &scratch})
    if (!*memory) return memory->error();
  if (auto status = copy_to_gpu(source->data(), in.span()); !status.ok()) return status;
  const Workspace workspace = {.data = scratch->data(), .bytes = static_cast<std::size_t>(scratch->size())};
  if (auto status = planned.plan.run(source->data(), result->data(), workspace); !status.ok()) return status;
  if (auto status = copy_from_gpu(out->span(), result->data()); !status.ok()) return status;
  return out;
}

}  // namespace

void add_files(CLI::App& verb, Files& files, Work& work) {
  verb.add_option("IN.npy", files.input, "The array to read")->required()->type_name("");
  verb.add_option("-o,--output", files.output, "The array to write; appears only when it is complete")
      ->required()
      ->type_name("OUT.npy");
  add_running_device(verb, work.options.device);
  add_threads(verb, files.threads);
}

void add_threads(CLI::App& verb, int& threads) {
  constexpr int kMostThreads = 1024;
  add_number(verb, "--threads", threads, "Threads to use; default: all cores. Results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
}

Status threads_are_of_the_cpu(const DeviceFacts& device) {
  return {Code::invalid_argument, "--threads is for the cpu, --device is " + name_of(device)};
}

Result<RunMemory> allocate(const Planned& planned) {
  auto out = allocate_output(planned);
  if (!out) return out.error();
  auto scratch = io::HostBytes::allocate(static_cast<Index>(planned.plan.workspace_bytes()));
  if (!scratch) return scratch.error();
  return RunMemory{.out = *std::move(out), .scratch = *std::move(scratch)};
}

Status compute(const std::string& verb, const Work& work, const Files& files) {
  if (work.output == DType::bf16)
    return {Code::unsupported, "--dtype is bf16, which .npy files cannot hold; f16 and f32 can be written"};
  const Progress progress(verb + " " + files.input);
  const auto array = io::read_npy(files.input);
  if (!array) return array.error();
  const auto planned = make_plan(work, array->desc);
  if (!planned) return planned.error();

  const auto& device = work.options.device;
  if (device.kind == DeviceKind::cuda && files.threads > 0) return threads_are_of_the_cpu(device);
  const auto out = device.kind == DeviceKind::cuda ? computed_on_gpu(*planned, array->bytes, device.ordinal)
                                                   : computed_on_cpu(*planned, array->bytes, files.threads);
  if (!out) return out.error();
  return io::write_npy(files.output, ConstTensorView(out->data(), planned->out));
}

}  // namespace ndfold::cli
