// Memory whose near axis is not the one that lanes lie along: squares of it are transposed in registers on their way in
// and out.
#pragma once
#include "kernels/cpu/slots.h"
#include "kernels/cpu/softmax_looks.h"
#include "kernels/cpu/transpose.h"

namespace ndfold::simd {

/// As many runs as there are lanes, `stride` elements apart, of `length` neighbours each: no more than lanes. Fewer
/// runs are possible; what stands for the missing ones does not matter.
template <class T>
struct Runs {
  static constexpr int kMost = kLanes<LanesOf<NumberOf<std::remove_const_t<T>>>>;
  T* start;
  Index stride;
  int count, length;
};

/// Runs that lie one behind the other.
template <class T>
bool is_packed(const Runs<T>& runs) {
  return runs.stride == runs.length && runs.count == Runs<T>::kMost;
}

/// v[i] = runs i · kRuns and on, kSlots lanes each.
template <int kSlots, class T, class V>
[[gnu::always_inline]] inline void load_slots(const Runs<const T>& runs, V* v) {
  constexpr int kWidth = kLanes<V>, kRuns = kWidth / kSlots;
  const int length = runs.length;
  if constexpr (kExpandsLanes<ScalarOf<V>>)
    if (is_packed(runs)) {
      unrolled<kSlots>([&](auto i) {
        const Index at = i * kRuns * length;
        for (Index line = 0; line < kRuns * length * static_cast<Index>(sizeof(T)); line += 64)
          prefetch(runs.start + at + line / static_cast<Index>(sizeof(T)));
        const bool inside = at + kWidth <= kWidth * length;
        const V some = inside ? load_elements(runs.start + at) : load_elements(runs.start + at, kRuns * length);
        v[i] = expand<kSlots>(some, length);
      });
      return;
    }
  alignas(64) ScalarOf<V> all[kWidth * kSlots + kWidth];
  const T* x = runs.start;
  for (int i = 0; i < kWidth; ++i, x += i < runs.count ? runs.stride : 0)
    store(all + i * kSlots, load_elements(x, length));
  unrolled<kSlots>([&](auto i) { v[i] = load<V>(all + i * kWidth); });
}

template <int kSlots, bool kStreams, class T, class V>
[[gnu::always_inline]] inline void store_slots(const Runs<T>& runs, const V* v) {
  constexpr int kWidth = kLanes<V>, kRuns = kWidth / kSlots;
  const int length = runs.length;
  if constexpr (kExpandsLanes<ScalarOf<V>>)
    if (is_packed(runs)) {
      if constexpr (!kStreams && kSlots > 1) {  // of which each vector writes what the one before wrote too much
        unrolled<kSlots - 1>(
            [&](auto i) { store_elements(runs.start + i * kRuns * length, compress<kSlots>(v[i], length)); });
        return store_elements(runs.start + (kSlots - 1) * kRuns * length, compress<kSlots>(v[kSlots - 1], length),
                              kRuns * length);
      }
      alignas(64) T all[kWidth * kSlots + kWidth];
      unrolled<kSlots>([&](auto i) { store_elements(all + i * kRuns * length, compress<kSlots>(v[i], length)); });
      for (int i = 0; i < length; ++i) {
        const V part = load_elements(all + i * kWidth);
        if constexpr (kStreams)
          stream_elements(runs.start + i * kWidth, part);
        else
          store_elements(runs.start + i * kWidth, part);
      }
      return;
    }
  // Two copies of a known length: of an unknown one each waits for its store.
  constexpr int kHalf = std::max(1, kSlots / 2);
  alignas(64) T all[kWidth * kSlots];
  unrolled<kSlots>([&](auto i) { store_elements(all + i * kWidth, v[i]); });
  for (int i = 0; i < runs.count; ++i) {
    T* const to = runs.start + i * runs.stride;
    std::memcpy(to, all + i * kSlots, kHalf * sizeof(T));
    if constexpr (kSlots > 1) std::memcpy(to + length - kHalf, all + i * kSlots + length - kHalf, kHalf * sizeof(T));
  }
}

/// Whether whole vectors are stored, each at a multiple of its bytes.
template <class T>
bool fills_lanes(const Runs<T>& runs) {
  constexpr Index kMost = Runs<T>::kMost;
  const bool packed = kExpandsLanes<NumberOf<T>> && is_packed(runs);
  return unaligned_elements(runs.start) == 0 && (packed || (runs.length == kMost && runs.stride % kMost == 0));
}

/// As many runs as lanes, each as long as lanes: all of it in registers.
template <class T, class V>
[[gnu::flatten, gnu::noinline]] V load_square(const T* x, Index stride, V scale, V most, ScalarOf<V>* to, Index pitch) {
  constexpr int kWidth = kLanes<V>;
  V v[kWidth];
  unrolled<kWidth>([&](auto i) { v[i] = load_elements(x + i * stride); });
  transpose_squares<kWidth>(v);
  V other = most;
  unrolled<kWidth>([&](auto j) {
    const V value = v[j] * scale;
    (j % 2 == 0 ? most : other) = any_maximum(j % 2 == 0 ? most : other, value);
    store(to + j * pitch, value);
  });
  return any_maximum(most, other);
}

template <bool kStreams, class T, class V = LanesOf<NumberOf<T>>>
[[gnu::flatten, gnu::noinline]] void store_square(T* to, Index stride, const NumberOf<T>* from, Index pitch) {
  constexpr int kWidth = kLanes<V>;
  V v[kWidth];
  unrolled<kWidth>([&](auto j) { v[j] = load<V>(from + j * pitch); });
  transpose_squares<kWidth>(v);
  unrolled<kWidth>([&](auto i) {
    if constexpr (kStreams)
      stream_elements(to + i * stride, v[i]);
    else
      store_elements(to + i * stride, v[i]);
  });
}

/// As many groups of runs, one behind the other, and where each group's square is in memory next to the core: element j
/// of a group's runs at j · pitch, the next group `group` further.
struct Squares {
  Index groups, group, pitch;
};

/// load_across, its numbers in registers: fields that a caller has just stored are slow to load as a struct.
template <class T, class V>
[[gnu::flatten, gnu::noinline]] V load_runs_across(const T* start, Index stride, int count, int length, V scale, V most,
                                                   ScalarOf<V>* to, Squares squares) {
  constexpr int kWidth = kLanes<V>;
  with_slots<kWidth>(length, [&](auto slots) {
    constexpr int kSlots = slots();
    for (Index left = squares.groups; left > 0; --left, start += kWidth * stride, to += squares.group) {
      V v[kSlots];
      load_slots<kSlots>(Runs<const T>{start, stride, count, length}, v);
      transpose_squares<kSlots>(v);
      unrolled<kSlots>([&](auto j) {
        if (j >= length) return;
        const V value = shuffled(v[j], v[j], InOrder<kSlots, kWidth>()) * scale;
        most = any_maximum(most, value);
        store(to + j * squares.pitch, value);
      });
    }
  });
  return most;
}

template <bool kStreams, class T, class V = LanesOf<NumberOf<T>>>
[[gnu::flatten, gnu::noinline]] void store_runs_across(T* start, Index stride, int count, int length,
                                                       const NumberOf<T>* from, Squares squares) {
  constexpr int kWidth = kLanes<V>;
  with_slots<kWidth>(length, [&](auto slots) {
    constexpr int kSlots = slots();
    for (Index left = squares.groups; left > 0; --left, start += kWidth * stride, from += squares.group) {
      V v[kSlots];
      unrolled<kSlots>([&](auto j) {
        const V value = load<V>(from + (j < length ? j : 0) * squares.pitch);
        v[j] = shuffled(value, value, OutOfOrder<kSlots, kWidth>());
      });
      transpose_squares<kSlots>(v);
      store_slots<kSlots, kStreams>(Runs<T>{start, stride, count, length}, v);
    }
  });
}

/// to[j · pitch] and on = scale · element j of every run, a run to a lane; returns their maxima and `most`.
template <class T, class V>
[[gnu::always_inline]] inline V load_across(const Runs<const T>& runs, V scale, V most, ScalarOf<V>* to, Index pitch) {
  if (runs.length == kLanes<V> && runs.count == kLanes<V>)
    return load_square(runs.start, runs.stride, scale, most, to, pitch);
  return load_runs_across(runs.start, runs.stride, runs.count, runs.length, scale, most, to, Squares{1, 0, pitch});
}

/// Element j of every run = from[j · pitch] and on.
template <bool kStreams, class T>
[[gnu::always_inline]] inline void store_across(const Runs<T>& runs, const NumberOf<T>* from, Index pitch) {
  if (runs.length == Runs<T>::kMost && runs.count == Runs<T>::kMost)
    return store_square<kStreams>(runs.start, runs.stride, from, pitch);
  store_runs_across<kStreams>(runs.start, runs.stride, runs.count, runs.length, from, Squares{1, 0, pitch});
}

}  // namespace ndfold::simd
