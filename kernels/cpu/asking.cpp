#include "kernels/cpu/asking.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#endif

namespace ndfold::cpu {
namespace {

struct Guesses {
  bool better = false, from_few_places = false, not_of_rows = false;
};

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
unsigned family() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 0;
  const unsigned base = a >> 8 & 0xf, extended = a >> 20 & 0xff;
  return base == 0xf ? base + extended : base;
}

Guesses guesses() {
  constexpr unsigned kZen5 = 0x1a;
  __builtin_cpu_init();
  const bool zen_3_or_4 = __builtin_cpu_is("amdfam19h") != 0;
  return {.better = zen_3_or_4,
          .from_few_places = zen_3_or_4 && __builtin_cpu_supports("avx512f") == 0,
          .not_of_rows = __builtin_cpu_is("amd") != 0 && family() == kZen5};
}
#else
Guesses guesses() { return {}; }
#endif

}  // namespace

const bool kAsksAhead = !guesses().better;
const bool kReadsInTurns = guesses().from_few_places;
const bool kAsksForRows = guesses().not_of_rows;

}  // namespace ndfold::cpu
