// The memory ceilings: streams that read, and streams that copy, once for each SIMD level. No std template is used
// here: the linker could give another level's machine code to everybody.
#include "bench/level_parts.h"

#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ndfold::bench::NDFOLD_BENCH_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif
using Vector [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = int;

constexpr std::size_t kChains = 8;
constexpr std::size_t kChunk = kChains * kVectorBytes;  // divides kStreamBlock
constexpr std::size_t kAhead = 4096;                    // of a prefetch, in bytes
constexpr std::size_t kLine = 64;

volatile int sink;  // what was read is used

[[gnu::always_inline]] inline void leave(const Vector (&sums)[kChains]) {
  Vector all = sums[0];
  for (std::size_t i = 1; i < kChains; ++i) all += sums[i];
  sink = all[0];
}

[[gnu::always_inline]] inline void prefetch(const char* address) {
  for (std::size_t i = 0; i < kChunk; i += kLine) __builtin_prefetch(address + i);
}

// Each line looked at `twice` and dropped keeps a Zen 4's memory busier than one look does.
enum class Help { none, prefetch, twice };

template <Help kHelp>
void read_one(const void* in, void*, std::size_t bytes) {
  const char* from = static_cast<const char*>(in);
  Vector sums[kChains] = {};
  for (std::size_t at = 0; at < bytes; at += kChunk) {
    if constexpr (kHelp == Help::prefetch) prefetch(from + at + kAhead);
    for (std::size_t i = 0; i < kChains; ++i) {
      const char* here = from + at + i * kVectorBytes;
      sums[i] += *reinterpret_cast<const Vector*>(here);
      if constexpr (kHelp == Help::twice) {
        __builtin_prefetch(here, 0, 0);
        static_cast<void>(*static_cast<const volatile char*>(here + kVectorBytes / 2));
      }
    }
  }
  leave(sums);
}

// Four streams at once: more pages of DRAM and more of the hardware's prefetchers at work.
void read_four(const void* in, void*, std::size_t bytes) {
  constexpr std::size_t kStreams = 4;
  constexpr std::size_t kEach = kChains / kStreams;
  const std::size_t quarter = bytes / kStreams / kStreamBlock * kStreamBlock;
  const char* from = static_cast<const char*>(in);
  Vector sums[kChains] = {};
  for (std::size_t at = 0; at < quarter; at += kEach * kVectorBytes)
    for (std::size_t i = 0; i < kChains; ++i)
      sums[i] += *reinterpret_cast<const Vector*>(from + i / kEach * quarter + at + i % kEach * kVectorBytes);
  for (std::size_t at = kStreams * quarter; at < bytes; at += kChunk)
    for (std::size_t i = 0; i < kChains; ++i) sums[i] += *reinterpret_cast<const Vector*>(from + at + i * kVectorBytes);
  leave(sums);
}

[[gnu::always_inline]] inline void stream(char* to, Vector value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(value));
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(value));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
#else
  *reinterpret_cast<Vector*>(to) = value;
#endif
}

[[gnu::always_inline]] inline void fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <bool kPrefetch, bool kNonTemporal>
void copy_chunks(const void* in, void* out, std::size_t bytes) {
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  for (std::size_t at = 0; at < bytes; at += kChunk) {
    if constexpr (kPrefetch) prefetch(from + at + kAhead);
    Vector values[kChains];
    for (std::size_t i = 0; i < kChains; ++i)
      values[i] = *reinterpret_cast<const Vector*>(from + at + i * kVectorBytes);
    for (std::size_t i = 0; i < kChains; ++i) {
      if constexpr (kNonTemporal)
        stream(to + at + i * kVectorBytes, values[i]);
      else
        *reinterpret_cast<Vector*>(to + at + i * kVectorBytes) = values[i];
    }
  }
  if constexpr (kNonTemporal) fence();
}

void copy_memcpy(const void* in, void* out, std::size_t bytes) { std::memcpy(out, in, bytes); }

#if defined(__x86_64__)
void copy_movsb(const void* in, void* out, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
}
#endif

}  // namespace

const NamedStream kReads[] = {{"one stream", read_one<Help::none>},
                              {"one stream, prefetch", read_one<Help::prefetch>},
                              {"one stream, lines twice", read_one<Help::twice>},
                              {"four streams", read_four},
                              {}};

const NamedStream kCopies[] = {{"stores", copy_chunks<false, false>},
                               {"non-temporal stores", copy_chunks<false, true>},
                               {"non-temporal stores, prefetch", copy_chunks<true, true>},
                               {"memcpy", copy_memcpy},
#if defined(__x86_64__)
                               {"rep movsb", copy_movsb},
#endif
                               {}};

}  // namespace ndfold::bench::NDFOLD_BENCH_LEVEL
