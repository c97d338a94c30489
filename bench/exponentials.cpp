// The arithmetic ceiling: an f32 exponential alone, from L1 to L1, accurate to about 1 ulp where results are normal and
// with nothing done for infinities and NaN. E is Cephes'; the other one says how far a shorter polynomial would get.
#include "bench/level_parts.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace ndfold::bench::NDFOLD_BENCH_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kLanes = 16;
#elif defined(__AVX2__)
constexpr std::size_t kLanes = 8;
#else
constexpr std::size_t kLanes = 4;
#endif
using Floats [[gnu::vector_size(kLanes * sizeof(float)), gnu::may_alias]] = float;
using Integers [[gnu::vector_size(kLanes * sizeof(float)), gnu::may_alias]] = int;

constexpr std::size_t kChains = 4;  // vectors at a time: their chains of multiplications overlap

// exp(r) on |r| ≤ ½ log 2, highest power first: minimax of relative error 3e-9 with 1 + r held fixed, and Cephes' own,
// p(r) · r² + r + 1 (expf.c of S. L. Moshier's Cephes library).
constexpr float kMinimax[] = {
    1.381461315e-03f, 8.368709826e-03f, 4.166838736e-02f, 1.666652069e-01f, 4.999999345e-01f, 1.f, 1.f};
constexpr float kCephes[] = {1.9875691500e-4f,
                             1.3981999507e-3f,
                             8.3334519073e-3f,
                             4.1665795894e-2f,
                             1.6666665459e-1f,
                             5.0000001201e-1f,
                             1.f,
                             1.f};
constexpr float kRound = 12582912.f;  // 1.5 · 2^23: adding it leaves an integer in the low bits

template <std::size_t kTerms>
[[gnu::always_inline]] inline Floats exponential(Floats x, const float (&terms)[kTerms]) {
#if defined(__AVX512F__)
  const Floats n = _mm512_roundscale_ps(x * 1.44269504f, 0);
#else
  const Floats shifted = x * 1.44269504f + kRound;
  const Floats n = shifted - kRound;
#endif
  const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Floats power = terms[0] * r + terms[1];
  for (std::size_t i = 2; i < kTerms; ++i) power = power * r + terms[i];
#if defined(__AVX512F__)
  return _mm512_scalef_ps(power, n);
#else
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(power) + (reinterpret_cast<Integers>(shifted) << 23));
#endif
}

template <const auto& kTerms>
void exponentials_of(const float* in, float* out, std::size_t count) {
  for (std::size_t at = 0; at < count; at += kChains * kLanes) {
    Floats values[kChains];
    for (std::size_t i = 0; i < kChains; ++i)
      values[i] = exponential(*reinterpret_cast<const Floats*>(in + at + i * kLanes), kTerms);
    for (std::size_t i = 0; i < kChains; ++i) *reinterpret_cast<Floats*>(out + at + i * kLanes) = values[i];
  }
}

}  // namespace

const NamedExponential kExponentials[] = {
    {"Cephes", exponentials_of<kCephes>}, {"minimax of degree 6", exponentials_of<kMinimax>}, {}};

}  // namespace ndfold::bench::NDFOLD_BENCH_LEVEL
