// Stores that pass the caches by, for results nobody reads soon, and lines asked for long before they are needed.
#pragma once
#include "kernels/cpu/lanes.h"

namespace ndfold::simd {

inline constexpr Index kLineBytes = 64;

/// Whether lanes stored from here on fill lines of memory: what stream() asks for.
inline bool begins_line(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % kLineBytes == 0; }

#if defined(__AVX512F__)
inline void stream(float* to, Lanes<float> lanes) { _mm512_stream_ps(to, lanes.value); }
inline void stream(double* to, Lanes<double> lanes) { _mm512_stream_pd(to, lanes.value); }
#elif defined(__AVX__)
inline void stream(float* to, Lanes<float> lanes) { _mm256_stream_ps(to, lanes.value); }
inline void stream(double* to, Lanes<double> lanes) { _mm256_stream_pd(to, lanes.value); }
#elif defined(__SSE2__)
inline void stream(float* to, Lanes<float> lanes) { _mm_stream_ps(to, lanes.value); }
inline void stream(double* to, Lanes<double> lanes) { _mm_stream_pd(to, lanes.value); }
#else
template <class A>
void stream(A* to, Lanes<A> lanes) {
  store(to, lanes);
}
#endif

/// Before another thread may read what was streamed.
inline void finish_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Into the second cache: it waits for more lines at a time than the first, whose sets a few rows would fill.
[[gnu::always_inline]] inline void prefetch_far(const std::byte* line) { __builtin_prefetch(line, 0, 2); }

}  // namespace ndfold::simd
