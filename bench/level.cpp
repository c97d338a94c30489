// The level that ndfold runs with here: the widest of this machine, or the one that NDFOLD_CPU forces.
#include "bench/level.h"

#include <ndfold/workers.h>

namespace ndfold::bench {

namespace baseline {
extern const Level kLevel;
}
#ifdef NDFOLD_X86_LEVELS
namespace avx2 {
extern const Level kLevel;
}
namespace avx512 {
extern const Level kLevel;
}
#endif

const Level& level() {
#ifdef NDFOLD_X86_LEVELS
  static const std::string_view name = cpu_level();
  if (name == "avx512") return avx512::kLevel;
  if (name == "avx2") return avx2::kLevel;
#endif
  return baseline::kLevel;
}

}  // namespace ndfold::bench
