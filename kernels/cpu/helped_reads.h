// What helps a machine to read a run while it is folded: lines that come are asked for, or each is looked at again.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/integers.h"

namespace ndfold::simd {

/// Lines that lie `ahead` elements further on are asked for unless that is 0; or each is looked at `again`.
struct Help {
  Index ahead = 0;
  bool again = false;
};

/// Whether vectors are as wide as the lines of the machine that is helped by a second look.
inline constexpr bool kHasLines = kRegisterBytes == 64;

/// A line that was just loaded is looked at again, and need not be kept: what a Zen 4 guesses keeps its memory busier
/// so. A loop that adds up 64 MiB of f32: 29 GB/s, with such a load 31, with such a prefetch 31, with both 33. In its
/// caches it takes 1.02 to 1.2 times as long.
template <class T>
[[gnu::always_inline]] inline void look_again(const T* x) {
  __builtin_prefetch(x, 0, 0);
  static_cast<void>(*(reinterpret_cast<const volatile char*>(x) + kRegisterBytes / 2));
}

/// Whether lines of a step's input are looked at again.
inline bool is_looked_at_again(const Arguments& step) { return kHasLines && asks_from_far() && step.from_memory; }

/// Whether what is done with each line of it holds memory up.
inline bool is_waited_for(const Arguments& step) { return kAsksForRows && step.from_memory; }

/// kBytes of integers that were just loaded; less than a line is not looked at again.
template <int kBytes = kRegisterBytes, class T>
[[gnu::always_inline]] inline void help_reading(const T* x, bool again) {
  prefetch(x);
  if constexpr (kHasLines && kBytes == kRegisterBytes)
    if (again) look_again(x);
}

}  // namespace ndfold::simd
