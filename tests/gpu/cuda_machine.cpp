// The GPU, through CUDA's runtime.
#include "tests/gpu/machine.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

namespace ndfold::test {
namespace {

void check(cudaError_t error, int line = __builtin_LINE()) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // or a later launch would report it again
  throw std::runtime_error("cuda_machine.cpp:" + std::to_string(line) + ": " + cudaGetErrorString(error));
}

cudaStream_t stream_of(const Queue& queue) { return static_cast<cudaStream_t>(queue.get().handle); }

const Result<DeviceFacts>& first_gpu() {
  static const Result<DeviceFacts> gpu = DeviceFacts::cuda(0);
  return gpu;
}

}  // namespace

const std::string& absence() {
  static const std::string why = first_gpu() ? "" : "no GPU to test on: " + first_gpu().error().message();
  return why;
}

const DeviceFacts& facts() {
  static const DeviceFacts kNobody = {.name = "no GPU", .kind = DeviceKind::cuda};
  return first_gpu() ? *first_gpu() : kNobody;
}

int device_count() {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  return count;
}

int current_device() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  return ordinal;
}

void make_current(int ordinal) { check(cudaSetDevice(ordinal)); }
void wait_for_device() { check(cudaDeviceSynchronize()); }

void leave_an_error() { (void)cudaSetDevice(device_count()); }
bool finds_the_error() { return cudaGetLastError() != cudaSuccess; }

std::size_t free_bytes() {
  std::size_t unused = 0, total = 0;
  check(cudaMemGetInfo(&unused, &total));
  return unused;
}

Memory::Memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes == 0 ? 1 : bytes));
  data_ = static_cast<std::byte*>(memory);
}
Memory::~Memory() { (void)cudaFree(data_); }

Queue::Queue() {
  if (!absence().empty()) return;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  handle_ = stream;
}
Queue::~Queue() {
  if (handle_ != nullptr) (void)cudaStreamDestroy(stream_of(*this));
}

void Queue::upload(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(*this)));
}

void Queue::download(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_of(*this)));
  wait();
}

void Queue::fill(void* to, int byte, std::size_t bytes) { check(cudaMemsetAsync(to, byte, bytes, stream_of(*this))); }
void Queue::wait() { check(cudaStreamSynchronize(stream_of(*this))); }

struct Graph::Parts {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
};

Graph::Graph(Queue& queue, const std::function<Status()>& work) : queue_(queue), parts_(new Parts) {
  check(cudaStreamBeginCapture(stream_of(queue), cudaStreamCaptureModeGlobal));
  status_ = work();
  const cudaError_t ended = cudaStreamEndCapture(stream_of(queue), &parts_->graph);
  if (!status_) {
    (void)cudaGetLastError();
    return;
  }
  check(ended);
  check(cudaGraphInstantiate(&parts_->executable, parts_->graph, 0));
}

Graph::~Graph() {
  if (parts_->executable != nullptr) (void)cudaGraphExecDestroy(parts_->executable);
  if (parts_->graph != nullptr) (void)cudaGraphDestroy(parts_->graph);
  delete parts_;
}

void Graph::launch() { check(cudaGraphLaunch(parts_->executable, stream_of(queue_))); }

std::string Graph::other_than_kernels(std::size_t kernels) const {
  std::size_t count = 0;
  check(cudaGraphGetNodes(parts_->graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) check(cudaGraphGetNodes(parts_->graph, nodes.data(), &count));
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeKernel;
    check(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel)
      return "the graph has a node of type " + std::to_string(static_cast<int>(type));
  }
  if (count == kernels) return {};
  return "the graph has " + std::to_string(count) + " kernels, the plan " + std::to_string(kernels) + " steps";
}

}  // namespace ndfold::test
