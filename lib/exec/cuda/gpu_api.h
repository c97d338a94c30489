// Every call to CUDA goes through this table: plain types, so that it builds where there is no CUDA, and so that tests
// can put a table of their own in its place, one that records, refuses, or fails the n-th call.
#pragma once
#include "kernels/cuda/bind.h"

#include <cstddef>

namespace ndfold::cuda {

/// 0 is success; a cudaError_t otherwise.
using ErrorCode = int;

/// What the driver says of a GPU.
struct GpuNumbers {
  char name[256] = {};
  int architecture = 0;  ///< 90 for sm_90
  int multiprocessors = 0;
  int warp = 0;
  int threads_per_block = 0, threads_per_multiprocessor = 0;
  int shared_bytes_per_block = 0, shared_bytes_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;  ///< of 4 bytes
  int cache_bytes = 0;
  int memory_kilohertz = 0, memory_bits = 0;
  int cooperative = 0;
};

/// Functions are called on the device that is current, unless they are told one.
struct GpuApi {
  ErrorCode (*device_count)(int* count);
  ErrorCode (*describe)(GpuNumbers* numbers, int ordinal);
  ErrorCode (*current_device)(int* ordinal);
  ErrorCode (*make_current)(int ordinal);
  /// Loads the kernel; lets it take so many dynamic shared bytes, when they are more than 0, and clusters of any size.
  /// `awaits`: whether it waits for the launch before by itself, as kernels compiled for sm_90 do (dialect.h).
  ErrorCode (*prepare)(Kernel kernel, int shared_bytes, bool wide_cluster, bool* awaits);
  /// Blocks of the launch that one multiprocessor holds at once.
  ErrorCode (*resident_blocks)(int* blocks, Kernel kernel, const LaunchShape& shape);
  /// Clusters of the launch that the whole device holds at once.
  ErrorCode (*resident_clusters)(int* clusters, Kernel kernel, const LaunchShape& shape);
  ErrorCode (*launch)(Kernel kernel, const Arguments& arguments, const LaunchShape& shape, void* stream);
  ErrorCode (*allocate)(void** memory, std::size_t bytes, void* stream);
  ErrorCode (*free)(void* memory, void* stream);
  const char* (*words)(ErrorCode error);
};

/// What runs plans for a GPU: CUDA's functions, and the kernels that were compiled.
struct Backend {
  const GpuApi* api = nullptr;
  Found (*find_kernel)(const KernelKey&, const Layout&) = nullptr;
};

/// This build's; without CUDA both are null.
Backend built_backend();

/// The one in use: built_backend(), unless a test put another in its place.
const Backend& backend();
void use_backend(const Backend& other);

}  // namespace ndfold::cuda
