#include "kernels/cpu/asking.h"

namespace ndfold::cpu {
namespace {

struct Guesses {
  bool better = false, from_few_places = false;
};

Guesses guesses() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  const bool zen_3_or_4 = __builtin_cpu_is("amdfam19h") != 0;
  return {.better = zen_3_or_4, .from_few_places = zen_3_or_4 && __builtin_cpu_supports("avx512f") == 0};
#else
  return {};
#endif
}

}  // namespace

const bool kAsksAhead = !guesses().better;
const bool kReadsInTurns = guesses().from_few_places;

}  // namespace ndfold::cpu
