// What bench/gpu.py holds ndfold against on a GPU: a stream that only reads, and launches of kernels that do nothing.
#pragma once

/// Queues a stream over device memory, the ceiling of reductions; `scratch` has 4 bytes. 0, or a cudaError_t.
extern "C" [[gnu::visibility("default")]] int ndfold_bench_read(const void* from, long long bytes, void* scratch,
                                                                void* stream);

/// The host's nanoseconds of a launch in the stream, without ndfold; -1 when one failed. `with_arguments`: of a kernel
/// that has ndfold's parameters, which CUDA copies.
extern "C" [[gnu::visibility("default")]] double ndfold_bench_launch_ns(int with_arguments, void* stream, int calls);
