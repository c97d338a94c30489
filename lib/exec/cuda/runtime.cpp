// CUDA's own functions behind the table: the only file that calls them. Links the static runtime and no driver library,
// so the same binary starts on a machine without a GPU, and says so.
#include "kernels/cuda/catalog.h"
#include "lib/exec/cuda/gpu_api.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ndfold::cuda {
namespace {

// A refusal is reported once, by us: the caller's next cudaGetLastError() is about his own calls.
ErrorCode reported(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

const void* address(Kernel kernel) { return reinterpret_cast<const void*>(kernel); }

ErrorCode device_count(int* count) { return reported(cudaGetDeviceCount(count)); }

ErrorCode describe(GpuNumbers* numbers, int ordinal) {
  cudaDeviceProp properties;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal); error != cudaSuccess)
    return reported(error);
  static_assert(sizeof numbers->name == sizeof properties.name);
  std::memcpy(numbers->name, properties.name, sizeof numbers->name);
  numbers->architecture = properties.major * 10 + properties.minor;
  const std::pair<int*, cudaDeviceAttr> wanted[] = {
      {&numbers->multiprocessors, cudaDevAttrMultiProcessorCount},
      {&numbers->warp, cudaDevAttrWarpSize},
      {&numbers->threads_per_block, cudaDevAttrMaxThreadsPerBlock},
      {&numbers->threads_per_multiprocessor, cudaDevAttrMaxThreadsPerMultiProcessor},
      {&numbers->shared_bytes_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {&numbers->shared_bytes_per_multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
      {&numbers->registers_per_multiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
      {&numbers->cache_bytes, cudaDevAttrL2CacheSize},
      {&numbers->memory_kilohertz, cudaDevAttrMemoryClockRate},
      {&numbers->memory_bits, cudaDevAttrGlobalMemoryBusWidth},
      {&numbers->cooperative, cudaDevAttrCooperativeLaunch}};
  for (const auto& [value, attribute] : wanted)
    if (const cudaError_t error = cudaDeviceGetAttribute(value, attribute, ordinal); error != cudaSuccess)
      return reported(error);
  return cudaSuccess;
}

ErrorCode current_device(int* ordinal) { return reported(cudaGetDevice(ordinal)); }
ErrorCode make_current(int ordinal) { return reported(cudaSetDevice(ordinal)); }

// Asking for attributes loads the kernel: a launch that is captured may not. Setting one forgets the error that the
// caller's last call left (CUDA 13.0), so none is set without need.
ErrorCode prepare(Kernel kernel, int shared_bytes, bool wide_cluster, bool* awaits) {
  constexpr int kFirstThatAwaits = 90;
  cudaFuncAttributes attributes = {};
  cudaError_t error = cudaFuncGetAttributes(&attributes, address(kernel));
  if (error == cudaSuccess && shared_bytes > 0)
    error = cudaFuncSetAttribute(address(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 shared_bytes - static_cast<int>(attributes.sharedSizeBytes));
  if (error == cudaSuccess && wide_cluster)
    error = cudaFuncSetAttribute(address(kernel), cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  *awaits = attributes.ptxVersion >= kFirstThatAwaits;  // what it was compiled for, whatever the GPU is
  return reported(error);
}

ErrorCode resident_blocks(int* blocks, Kernel kernel, const LaunchShape& shape) {
  return reported(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, address(kernel), shape.threads,
                                                                static_cast<std::size_t>(shape.shared_bytes)));
}

/// cudaLaunchConfig_t points at its attributes: they stay together.
class Config {
 public:
  Config(const LaunchShape& shape, void* stream) {
    config_.gridDim = {static_cast<unsigned>(shape.grid_x), static_cast<unsigned>(shape.grid_y), 1};
    config_.blockDim = {static_cast<unsigned>(shape.threads), 1, 1};
    config_.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
    config_.stream = static_cast<cudaStream_t>(stream);
    config_.attrs = attributes_;
    if (shape.cluster > 1) {
      cudaLaunchAttribute& cluster = attributes_[config_.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim.x = static_cast<unsigned>(shape.cluster);
      cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    }
    if (shape.cooperative) {
      cudaLaunchAttribute& cooperative = attributes_[config_.numAttrs++];
      cooperative.id = cudaLaunchAttributeCooperative;
      cooperative.val.cooperative = 1;
    }
    if (shape.begins_early) {
      cudaLaunchAttribute& early = attributes_[config_.numAttrs++];
      early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      early.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;
  const cudaLaunchConfig_t& get() const { return config_; }

 private:
  cudaLaunchConfig_t config_ = {};
  cudaLaunchAttribute attributes_[3] = {};
};

ErrorCode resident_clusters(int* clusters, Kernel kernel, const LaunchShape& shape) {
  const Config config(shape, nullptr);
  return reported(cudaOccupancyMaxActiveClusters(clusters, address(kernel), &config.get()));
}

ErrorCode launch(Kernel kernel, const Arguments& arguments, const LaunchShape& shape, void* stream) {
  const Config config(shape, stream);
  void* parameters[] = {const_cast<Arguments*>(&arguments)};  // CUDA copies what it is given
  return reported(cudaLaunchKernelExC(&config.get(), address(kernel), parameters));
}

ErrorCode allocate(void** memory, std::size_t bytes, void* stream) {
  return reported(cudaMallocAsync(memory, bytes, static_cast<cudaStream_t>(stream)));
}
ErrorCode free(void* memory, void* stream) {
  return reported(cudaFreeAsync(memory, static_cast<cudaStream_t>(stream)));
}

const char* words(ErrorCode error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

constexpr GpuApi kApi = {.device_count = device_count,
                         .describe = describe,
                         .current_device = current_device,
                         .make_current = make_current,
                         .prepare = prepare,
                         .resident_blocks = resident_blocks,
                         .resident_clusters = resident_clusters,
                         .launch = launch,
                         .allocate = allocate,
                         .free = free,
                         .words = words};

}  // namespace

Backend built_backend() { return {.api = &kApi, .find_kernel = find_kernel}; }

}  // namespace ndfold::cuda
