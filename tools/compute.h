// The way of every verb that computes: read a file, plan, run, write a file.
#pragma once
#include <ndfold/workers.h>

#include "lib/io/host_bytes.h"
#include "tools/work.h"

#include <memory>
#include <string>

namespace ndfold::cli {

/// Where a computation reads, writes and runs.
struct Files {
  std::string input, output;
  int threads = 0;  ///< 0: the process's default
};

/// IN.npy, -o, --device and --threads.
void add_files(CLI::App& verb, Files& files, Work& work);
/// --threads alone.
void add_threads(CLI::App& verb, int& threads);

/// The refusal of --threads where `device` computes.
Status threads_are_of_the_cpu(const DeviceFacts& device);

/// The workers that `threads` asks for; default_workers() when that is 0.
class ChosenWorkers {
 public:
  explicit ChosenWorkers(int threads) : own_(threads > 0 ? make_workers(threads) : nullptr) {}
  Workers& get() const { return own_ ? *own_ : default_workers(); }

 private:
  std::unique_ptr<Workers> own_;
};

/// The memory that one run of a plan on a CPU needs besides its input.
struct RunMemory {
  io::HostBytes out, scratch;
  Workspace workspace() { return {.data = scratch.data(), .bytes = static_cast<std::size_t>(scratch.size())}; }
};
Result<RunMemory> allocate(const Planned& planned);

/// Unless all went well, files.output is not touched. `verb` is for the line that shows progress.
Status compute(const std::string& verb, const Work& work, const Files& files);

}  // namespace ndfold::cli
