// All groups of a bundle: what shares vectors, what is read in turns, and the others one after the other.
#pragma once
#include "kernels/cpu/bundle_turns.h"

namespace ndfold::simd {

/// The groups of a row whose runs lie one behind the other from `x` on.
template <int kSlots, class LaneFold, class T>
[[gnu::flatten, gnu::noinline]] void fold_packed_groups(const Taking<LaneFold>& take, const Bundle<T>& bundle,
                                                        const T* x) {
  using V = typename LaneFold::Value;
  const LaneFold fold = take.fold;
  const int length = static_cast<int>(bundle.length);
  const PackedRuns<kSlots, V> runs(length);
  for (Index g = 0; g < bundle.pitched; ++g, x += kLanes<V> * bundle.length)
    take(g, fold_packed<kSlots>(fold, runs, x, length, [&](const auto& exact) {
           return fold_group_with_nan(exact, PitchedRuns<T>{x, length}, {length, {}});
         }));
}

/// By what a NaN is seen.
template <template <class> class Watch>
struct Watched {};

/// Groups [g, bundle.groups) of row r.
template <bool kLong, template <class> class Watch, class LaneFold, class T>
[[gnu::flatten, gnu::noinline]] void fold_groups_apart(const Taking<LaneFold>& take, const Bundle<T>& bundle, Index g,
                                                       Index offset) {
  constexpr int kWidth = kLanes<typename LaneFold::Value>;
  const LaneFold fold = take.fold;
  const RunLength run{bundle.length, bundle.help};
  if constexpr (kHasTurns)
    if (bundle.in_turns && groups_lie_apart<kWidth>(bundle))
      g = fold_pitched_groups_in_turns<kLong>(take, bundle, g, offset);
  const T* first = bundle.first + offset + g * kWidth * bundle.pitch;
  for (; g < bundle.pitched; ++g, first += kWidth * bundle.pitch)
    take(g, fold_group<kLong, Watch>(fold, PitchedRuns<T>{first, bundle.pitch}, run));
  for (; g < bundle.groups; ++g) {
    const Index at = (g - bundle.pitched) * kWidth;
    const int count = static_cast<int>(std::min<Index>(bundle.others - at, kWidth));
    take(g, fold_group<kLong, Watch>(fold, ListedRuns<T>{bundle.listed + at, offset, count}, run));
  }
}

/// Runs that share vectors when they lie one behind the other.
template <class V>
bool are_packed(Index length, Index pitch) {
  if (length != pitch || length < 2) return false;
  if constexpr (kExpandsLanes<ScalarOf<V>>) return length <= kLanes<V>;
  return length < kLanes<V> && (length & (length - 1)) == 0;
}

/// to[g] = the states of group g, its rows one after the other.
template <class LaneFold, class T>
void fold_groups(const LaneFold& fold, const Bundle<T>& bundle, typename LaneFold::State* to) {
  using V = typename LaneFold::Value;
  const bool packed = are_packed<V>(bundle.length, bundle.pitch);
  for (int r = 0; r < bundle.rows; ++r) {
    const Taking<LaneFold> take{fold, to, r == 0};
    const Index offset = bundle.offsets[r];
    if (packed)
      with_slots<kLanes<V>>(static_cast<int>(bundle.length), [&](auto slots) {
        if constexpr (slots() > 1 && (slots() < kLanes<V> || kExpandsLanes<ScalarOf<V>>))
          fold_packed_groups<slots()>(take, bundle, bundle.first + offset);
      });
    const Index apart = packed ? bundle.pitched : 0;
    constexpr bool kMayBeLong = !AsksPlaces<LaneFold>;  // whose accumulators wait for memory, however few
    constexpr bool kIsWatched = HasQuick<LaneFold> || AsksPlaces<LaneFold>;
    const auto watched_by = [&]<template <class> class Watch>(Watched<Watch>) {
      if (kMayBeLong && bundle.length >= bundle.long_run_vectors * kLanes<V>)
        fold_groups_apart<kMayBeLong, Watch>(take, bundle, apart, offset);
      else
        fold_groups_apart<false, Watch>(take, bundle, apart, offset);
    };
    if constexpr (kIsWatched && kHasLines)
      if (bundle.is_waited_for) {
        watched_by(Watched<SumWatch>());
        continue;
      }
    watched_by(Watched<NanWatch>());
  }
}

}  // namespace ndfold::simd
