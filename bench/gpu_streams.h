// A stream over device memory that only reads: the ceiling of reductions.
#pragma once

/// Queues it; `scratch` has 4 bytes. 0, or a cudaError_t.
extern "C" [[gnu::visibility("default")]] int ndfold_bench_read(const void* from, long long bytes, void* scratch,
                                                                void* stream);
