// Stores that pass the caches by, for results nobody reads soon, and lines asked for long before they are needed.
#pragma once
#include "kernels/cpu/lanes.h"

#include <array>

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

/// The last `count` lanes of `a`, then the first of `b`: how vectors that lie `count` lanes after a line fill lines.
template <class A>
class Joining {
  using V = Lanes<A>;
  static constexpr int kWidth = kLanes<V>;

 public:
#if defined(__AVX512F__)
  explicit Joining(int count) {
    using Number = std::conditional_t<sizeof(A) == 4, std::int32_t, std::int64_t>;
    alignas(64) static constexpr auto kNumbers = [] {
      std::array<Number, 2 * kWidth> all{};
      for (int i = 0; i < 2 * kWidth; ++i) all[static_cast<std::size_t>(i)] = static_cast<Number>(i);
      return all;
    }();
    from_ = _mm512_loadu_si512(kNumbers.data() + kWidth - count);
  }
  [[gnu::always_inline]] V operator()(V a, V b) const {
    if constexpr (sizeof(A) == 4)
      return {_mm512_permutex2var_ps(a.value, from_, b.value)};
    else
      return {_mm512_permutex2var_pd(a.value, from_, b.value)};
  }

 private:
  __m512i from_;
#else
  explicit Joining(int count) : from_(kWidth - count) {}
  V operator()(V a, V b) const {
    alignas(64) A both[2 * kWidth];
    store(both, a);
    store(both + kWidth, b);
    return load<V>(both + from_);
  }

 private:
  int from_;
#endif
};

/// Before another thread may read what was streamed.
inline void finish_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Into the second cache: it waits for more lines at a time than the first, whose sets a few rows would fill.
[[gnu::always_inline]] inline void prefetch_far(const std::byte* line) { __builtin_prefetch(line, 0, 2); }

}  // namespace ndfold::simd
