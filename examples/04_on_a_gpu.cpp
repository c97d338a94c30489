// A softmax on a GPU: a plan for the device that is here, run in a stream, then replayed from a CUDA graph.
#include <ndfold/ndfold.h>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace ndfold;

namespace {

constexpr int kSkipped = 77;

int refuse(const Status& status) { return std::printf("refused: %s\n", status.message().c_str()), 1; }

}  // namespace

int main() {
  const auto gpu = DeviceFacts::cuda(0);
  if (!gpu) return std::printf("%s\n", gpu.error().message().c_str()), kSkipped;

  const auto view = dense(DType::f32, {64, 512, 100});
  const auto plan = ReducePlan::softmax(view, view, {.axes = {1}}, {.device = *gpu});  // kernels are loaded here
  if (!plan) return refuse(plan.error());

  std::vector<float> scores(64 * 512 * 100, 1), weights(scores.size());
  const std::size_t bytes = scores.size() * sizeof(float);
  void *in = nullptr, *out = nullptr;
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocAsync(&in, bytes, stream);
  cudaMallocAsync(&out, bytes, stream);
  cudaMemcpyAsync(in, scores.data(), bytes, cudaMemcpyHostToDevice, stream);
  const Device device = {DeviceKind::cuda, gpu->ordinal};
  const auto scratch = OwnedWorkspace::allocate(plan->workspace_bytes(), device, {.handle = stream});
  if (!scratch) return refuse(scratch.error());

  // run() queues launches and returns; it allocates and waits for nothing, so a graph may record it.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  const auto status = plan->run(in, out, *scratch, {.handle = stream});
  cudaStreamEndCapture(stream, &graph);
  if (!status) return refuse(status);
  cudaGraphInstantiate(&replay, graph, 0);
  for (int time = 0; time < 3; ++time) cudaGraphLaunch(replay, stream);

  cudaMemcpyAsync(weights.data(), out, bytes, cudaMemcpyDeviceToHost, stream);
  const cudaError_t error = cudaStreamSynchronize(stream);  // errors of the work itself appear here
  if (error != cudaSuccess) return std::printf("failed: %s\n", cudaGetErrorString(error)), 1;
  std::printf("%s: %s, the first weight is %.6f\n", gpu->name.c_str(), std::string(plan->strategy()).c_str(),
              static_cast<double>(weights[0]));
  for (const float weight : weights)
    if (std::fabs(weight * 512 - 1) > 1e-5f) return 1;
}
