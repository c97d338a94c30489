// tools/gpu.h in a build with CUDA.
#include "tools/gpu.h"

#include <cuda_runtime_api.h>

#include <string>

namespace ndfold::cli {
namespace {

constexpr double kMilliseconds = 1e-3;

// Also forgets the error, where it is one that can be forgotten.
Status status_of(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  const Code code = error == cudaErrorMemoryAllocation ? Code::out_of_memory : Code::internal;
  return {code, std::string("the GPU could not ") + what + ": " + cudaGetErrorString(error)};
}

}  // namespace

void GpuBytes::Free::operator()(void* memory) const { (void)cudaFree(memory); }

Result<GpuBytes> GpuBytes::allocate(Index bytes) {
  GpuBytes result;
  void* memory = nullptr;
  const auto at_least = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
  const std::string what = "allocate " + std::to_string(bytes) + " bytes";
  if (auto status = status_of(cudaMalloc(&memory, at_least), what.c_str()); !status.ok()) return status;
  result.memory_.reset(memory);
  result.size_ = bytes;
  return result;
}

Status use_gpu(int ordinal) { return status_of(cudaSetDevice(ordinal), "be used"); }

Status copy_to_gpu(std::byte* to, std::span<const std::byte> from) {
  if (auto status = status_of(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice), "take the input");
      !status.ok())
    return status;
  return status_of(cudaDeviceSynchronize(), "take the input");
}

Status copy_from_gpu(std::span<std::byte> to, const std::byte* from) {
  if (auto status = status_of(cudaDeviceSynchronize(), "run the plan"); !status.ok()) return status;
  return status_of(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost), "give the result");
}

Status copy_on_gpu(std::byte* to, const std::byte* from, Index bytes, Stream stream) {
  return status_of(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                                   static_cast<cudaStream_t>(stream.handle)),
                   "copy");
}

struct Recording::Graph {
  cudaStream_t stream = nullptr;
  cudaEvent_t before = nullptr, after = nullptr;
  cudaGraph_t recorded = nullptr;
  cudaGraphExec_t work = nullptr;

  ~Graph() {
    if (work != nullptr) (void)cudaGraphExecDestroy(work);
    if (recorded != nullptr) (void)cudaGraphDestroy(recorded);
    if (after != nullptr) (void)cudaEventDestroy(after);
    if (before != nullptr) (void)cudaEventDestroy(before);
    if (stream != nullptr) (void)cudaStreamDestroy(stream);
  }
};

void Recording::Destroy::operator()(Graph* graph) const { delete graph; }

Result<Recording> Recording::record(const std::function<Status(Stream)>& queue) {
  Recording recording;
  recording.graph_.reset(new Graph);
  Graph& graph = *recording.graph_;
  const auto failed = [](cudaError_t error) { return status_of(error, "record the work"); };
  if (auto status = failed(cudaStreamCreateWithFlags(&graph.stream, cudaStreamNonBlocking)); !status.ok())
    return status;
  if (auto status = failed(cudaEventCreate(&graph.before)); !status.ok()) return status;
  if (auto status = failed(cudaEventCreate(&graph.after)); !status.ok()) return status;
  if (auto status = failed(cudaStreamBeginCapture(graph.stream, cudaStreamCaptureModeGlobal)); !status.ok())
    return status;
  const Status queued = queue({.handle = graph.stream});
  const Status ended = failed(cudaStreamEndCapture(graph.stream, &graph.recorded));
  if (!queued.ok()) return queued;
  if (!ended.ok()) return ended;
  if (auto status = failed(cudaGraphInstantiate(&graph.work, graph.recorded, 0)); !status.ok()) return status;
  return recording;
}

Result<double> Recording::seconds() {
  const auto& graph = *graph_;
  float milliseconds = 0;
  for (const cudaError_t error :
       {cudaEventRecord(graph.before, graph.stream), cudaGraphLaunch(graph.work, graph.stream),
        cudaEventRecord(graph.after, graph.stream), cudaStreamSynchronize(graph.stream),
        cudaEventElapsedTime(&milliseconds, graph.before, graph.after)})
    if (auto status = status_of(error, "replay the work"); !status.ok()) return status;
  return milliseconds * kMilliseconds;
}

}  // namespace ndfold::cli
