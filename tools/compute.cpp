// The way of every verb that computes: read a file, plan, run, write a file.
#include "tools/compute.h"

#include "lib/io/npy.h"
#include "tools/progress.h"

namespace ndfold::cli {

void add_files(CLI::App& verb, Files& files) {
  verb.add_option("IN.npy", files.input, "The array to read")->required()->type_name("");
  verb.add_option("-o,--output", files.output, "The array to write; appears only when it is complete")
      ->required()
      ->type_name("OUT.npy");
  const auto check_device = [](const std::string& device) {
    if (device != "cpu")
      throw CLI::ValidationError("--device", "'" + device + "' cannot run anything in this build, which has cpu only");
  };
  verb.add_option_function<std::string>("--device", check_device, "Where to compute: cpu")->type_name("NAME");
  add_threads(verb, files.threads);
}

void add_threads(CLI::App& verb, int& threads) {
  constexpr int kMostThreads = 1024;
  add_number(verb, "--threads", threads, "Threads to use; default: all cores. Results do not depend on it")
      ->check(CLI::Range(1, kMostThreads));
}

Result<RunMemory> allocate(const Planned& planned) {
  const auto out_bytes = io::array_bytes(planned.out.dtype, planned.out.sizes);
  if (!out_bytes) return out_bytes.error();
  auto out = io::HostBytes::allocate(*out_bytes);
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

  auto memory = allocate(*planned);
  if (!memory) return memory.error();
  const ChosenWorkers workers(files.threads);
  const auto status =
      planned->plan.run(array->bytes.data(), memory->out.data(), memory->workspace(), {.workers = &workers.get()});
  if (!status.ok()) return status;
  return io::write_npy(files.output, ConstTensorView(memory->out.data(), planned->out));
}

}  // namespace ndfold::cli
