// The instruction sets that CPU kernels were built for, and the one that this process runs.
#pragma once
#include <ndfold/status.h>

#include "kernels/cpu/catalog.h"

#include <span>

namespace ndfold::cpu {

struct Level {
  std::string_view name;
  const Catalog& (*catalog)();
  bool (*is_here)();  ///< this machine has the instructions, and its system saves their registers
};

/// Narrowest first; the first is always here.
std::span<const Level> levels();

/// The widest that is here, or what NDFOLD_CPU names: asked once. Null when NDFOLD_CPU names none of those.
const Level* chosen_level();

/// Why chosen_level() is null.
Status refused_level();

}  // namespace ndfold::cpu
