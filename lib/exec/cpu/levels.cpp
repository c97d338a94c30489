#include "lib/exec/cpu/levels.h"

#include <ndfold/workers.h>

#include <cstdlib>
#include <string>

// Each level's objects rename the namespace of the kernels to one of these (kernels/CMakeLists.txt).
namespace ndfold::simd_baseline {
const cpu::Catalog& catalog();
}
namespace ndfold::simd_avx2 {
const cpu::Catalog& catalog();
}
namespace ndfold::simd_avx512 {
const cpu::Catalog& catalog();
}

namespace ndfold::cpu {
namespace {

constexpr Level kLevels[] = {
    {"baseline", simd_baseline::catalog, [] { return true; }},
#ifdef NDFOLD_HAS_avx2
    {"avx2", simd_avx2::catalog,
     [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"); }},
#endif
#ifdef NDFOLD_HAS_avx512
    {"avx512", simd_avx512::catalog,
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
     }},
#endif
};

const char* asked_level() { return std::getenv("NDFOLD_CPU"); }

const Level* choose_level() {
  const char* const asked = asked_level();
  const Level* widest = nullptr;
  for (const Level& level : kLevels)
    if (level.is_here() && (asked == nullptr || level.name == asked)) widest = &level;
  return widest;
}

}  // namespace

std::span<const Level> levels() { return kLevels; }

const Level* chosen_level() {
  static const Level* const level = choose_level();
  return level;
}

Status refused_level() {
  std::string here;
  for (const Level& level : kLevels)
    if (level.is_here()) here += (here.empty() ? "" : ", ") + std::string(level.name);
  const char* const asked = asked_level();
  return Status(Code::unsupported, "NDFOLD_CPU asks for " + std::string(asked == nullptr ? "" : asked) +
                                       ", this machine and build have " + here);
}

}  // namespace ndfold::cpu

namespace ndfold {

std::string_view cpu_level() {
  const cpu::Level* const level = cpu::chosen_level();
  return level == nullptr ? std::string_view() : level->name;
}

}  // namespace ndfold
