// What the command line needs of CUDA: memory of a GPU, copies there and back, and the time of what is queued.
// In a build without CUDA all of it is refused (no_gpu.cpp); no plan for a GPU is made there that would ask for it.
#pragma once
#include <ndfold/workspace.h>

#include <functional>
#include <memory>
#include <span>

namespace ndfold::cli {

/// Memory of the GPU that use_gpu() named, freed with it.
class GpuBytes {
 public:
  /// Where every address of ours is a multiple of.
  static constexpr Index kAlignment = 256;

  /// @return out_of_memory when there is not that much; the content is not initialized.
  static Result<GpuBytes> allocate(Index bytes);

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  Index size() const { return size_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  Index size_ = 0;
};

/// What this thread allocates, copies and queues from now on belongs to this GPU.
Status use_gpu(int ordinal);

/// Return when the bytes are there. copy_from_gpu() waits for all that was queued before, and says whether it failed.
Status copy_to_gpu(std::byte* to, std::span<const std::byte> from);
Status copy_from_gpu(std::span<std::byte> to, const std::byte* from);
/// Queues a copy within the GPU.
Status copy_on_gpu(std::byte* to, const std::byte* from, Index bytes, Stream stream = {});

/// Work recorded in a CUDA graph: replayed without what it costs the host to queue each launch.
class Recording {
 public:
  /// `queue` queues the work in the stream that it is given, and nothing else.
  static Result<Recording> record(const std::function<Status(Stream)>& queue);

  /// Replays the work once and waits: how long it took by the GPU's own clock.
  Result<double> seconds();

 private:
  struct Graph;
  struct Destroy {
    void operator()(Graph* graph) const;
  };
  std::unique_ptr<Graph, Destroy> graph_;
};

}  // namespace ndfold::cli
