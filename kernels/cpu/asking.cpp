#include "kernels/cpu/asking.h"

namespace ndfold::cpu {
namespace {

bool guesses_better() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  return __builtin_cpu_is("amdfam19h") != 0;  // Zen 3 and Zen 4
#else
  return false;
#endif
}

}  // namespace

const bool kAsksAhead = !guesses_better();

}  // namespace ndfold::cpu
