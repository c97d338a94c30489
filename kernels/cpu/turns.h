// Runs that lie apart, read in turns: a machine that guesses what comes from each of a few streams fetches them all at
// once, where one stream waits at the end of each page. A Zen 3 reads 64 MiB at 25 GB/s one after the other, at 34 in
// turns of 512 bytes from four places 16 KiB apart, at 41 from 64 KiB apart. What is asked for spoils it: 15 to 18.
#pragma once
#include "kernels/cpu/accumulators.h"
#include "kernels/cpu/asking.h"
#include "kernels/cpu/integers.h"
#include "kernels/cpu/odometer.h"

#include <array>

namespace ndfold::simd {

inline constexpr int kInTurns = 4;
inline constexpr Index kBytesApart = 64 << 10;  // at least, where there are so many

inline constexpr Index kLeastBytesApart = 8 << 10;  // or they are read in the order of memory
inline constexpr Index kLeastTurnBytes = 128;       // of a run: shorter ones are read in the order of memory

/// Whether there are kernels for it: where lanes have the 32 bytes of the machines that read so.
inline constexpr bool kHasTurns = kRegisterBytes == 32;

/// Whether rows are more than a second cache holds, on a machine that reads such so.
template <class T>
bool are_read_in_turns(const Arguments& step) {
  constexpr Index kNear = 1 << 20;
  return kReadsInTurns && elements(step.kept) * elements(step.reduced) > kNear / Index{sizeof(T)};
}

template <class T>
using Starts = std::array<const T*, kInTurns>;

/// sums[s].add(x[s], n) for each s, 16 vectors at a time.
template <class Sums, class T>
[[gnu::always_inline]] inline void add_in_turns(std::array<Sums, kInTurns>& sums, const Starts<T>& x, Index n) {
  constexpr Index kTurn = 16 * Sums::kWidth;
  const auto each = [&]<std::size_t... S>(std::index_sequence<S...>) {
    Index at = 0;
    for (; at + kTurn <= n; at += kTurn) (sums[S].add(x[S] + at, kTurn, Help{}), ...);
    (sums[S].add(x[S] + at, n - at, Help{}), ...);
  };
  each(std::make_index_sequence<kInTurns>());
}

}  // namespace ndfold::simd
