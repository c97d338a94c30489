// Where runs are queued, and the scratch memory that they may need.
#pragma once
#include <ndfold/status.h>
#include <ndfold/view.h>
#include <ndfold/workers.h>

#include <cstddef>

namespace ndfold {

/// Where a run is queued: a cudaStream_t on a GPU; the workers to use on a CPU (none: default_workers()).
struct Stream {
  void* handle = nullptr;
  Workers* workers = nullptr;
};

/// The caller's scratch memory for one run: at least workspace_bytes() bytes, aligned to 64 bytes, on the plan's
/// device. Its content before does not matter. Two runs that may overlap in time need two workspaces; a CUDA graph that
/// recorded a run needs its workspace whenever it is replayed.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Scratch memory that frees itself. On a GPU it is allocated and freed in the order of a stream: it may be destroyed
/// as soon as the run that uses it is queued there.
class OwnedWorkspace {
 public:
  /// @return out_of_memory; unsupported when the device is not there.
  static Result<OwnedWorkspace> allocate(std::size_t bytes, Device device = {}, Stream stream = {});

  OwnedWorkspace() = default;
  OwnedWorkspace(OwnedWorkspace&& other) noexcept;
  OwnedWorkspace& operator=(OwnedWorkspace&& other) noexcept;
  ~OwnedWorkspace();

  operator Workspace() const { return memory_; }

 private:
  Workspace memory_;
  Device device_;
  Stream stream_;
};

}  // namespace ndfold
