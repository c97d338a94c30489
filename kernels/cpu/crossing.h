// Memory whose near axis is not the one that lanes lie along: squares of it are transposed in registers on their way in
// and out.
#pragma once
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

/// Runs of up to kSlots elements share a vector, kWidth / kSlots of them: vector i has runs i · kRuns and on. What a
/// transposed vector needs to have its lanes in the order of runs, and back.
template <int kSlots, int kWidth>
struct InOrder {
  static constexpr int kRuns = kWidth / kSlots;
  constexpr int operator()(int i) const { return i % kRuns * kSlots + i / kRuns; }
};
template <int kSlots, int kWidth>
struct OutOfOrder {
  static constexpr int kRuns = kWidth / kSlots;
  constexpr int operator()(int i) const { return i % kSlots * kRuns + i / kSlots; }
};

/// Runs that lie one behind the other.
template <class T>
bool is_packed(const Runs<T>& runs) {
  return runs.stride == runs.length && runs.count == Runs<T>::kMost;
}

/// Machines that spread runs of `length` elements to kSlots lanes each, and close the gaps again.
template <class A>
#if defined(__AVX512F__) && defined(__AVX512VL__)
inline constexpr bool kExpandsLanes = true;
#elif defined(__AVX2__)
inline constexpr bool kExpandsLanes = std::is_same_v<A, float>;
#else
inline constexpr bool kExpandsLanes = false;
#endif

#if defined(__AVX512F__) && defined(__AVX512VL__)

/// The first `length` of every kSlots lanes.
template <int kSlots, class A>
auto slots_of(int length) {
  constexpr unsigned kFirst = 0xffffu / ((1u << kSlots) - 1);  // of each kSlots bits
  return static_cast<decltype(Mask<A>::value)>(((1u << length) - 1) * kFirst);
}
template <int kSlots>
Lanes<float> expand(Lanes<float> x, int length) {
  return {_mm512_maskz_expand_ps(slots_of<kSlots, float>(length), x.value)};
}
template <int kSlots>
Lanes<double> expand(Lanes<double> x, int length) {
  return {_mm512_maskz_expand_pd(slots_of<kSlots, double>(length), x.value)};
}
template <int kSlots>
Lanes<float> compress(Lanes<float> x, int length) {
  return {_mm512_maskz_compress_ps(slots_of<kSlots, float>(length), x.value)};
}
template <int kSlots>
Lanes<double> compress(Lanes<double> x, int length) {
  return {_mm512_maskz_compress_pd(slots_of<kSlots, double>(length), x.value)};
}

#elif defined(__AVX2__)

/// Which lane each lane takes, for every length.
template <int kSlots, bool kExpands>
struct SlotLanes {
  alignas(32) std::int32_t from[kSlots + 1][8] = {};
  constexpr SlotLanes() {
    for (int length = 1; length <= kSlots; ++length)
      for (int l = 0; l < 8; ++l)
        from[length][l] = (kExpands ? l / kSlots * length + l % kSlots : l / length * kSlots + l % length) % 8;
  }
};
template <int kSlots, bool kExpands>
Lanes<float> moved(Lanes<float> x, int length) {
  static constexpr SlotLanes<kSlots, kExpands> kLanesOf;
  const auto* from = reinterpret_cast<const __m256i*>(kLanesOf.from[length]);
  return {_mm256_permutevar8x32_ps(x.value, _mm256_load_si256(from))};
}
template <int kSlots>
Lanes<float> expand(Lanes<float> x, int length) {
  return moved<kSlots, true>(x, length);
}
template <int kSlots>
Lanes<float> compress(Lanes<float> x, int length) {
  return moved<kSlots, false>(x, length);
}

#endif

/// Calls work(integral constant) for all below kCount.
template <int kCount, class Work>
[[gnu::always_inline]] inline void unrolled(const Work& work) {
  [&work]<int... I>(std::integer_sequence<int, I...>) { (work(std::integral_constant<int, I>()), ...); }
  (std::make_integer_sequence<int, kCount>());
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
      alignas(64) T all[kWidth * kSlots + kWidth];  // of which each vector writes what the one before wrote too much
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
  alignas(64) ScalarOf<V> all[kWidth * kSlots + kWidth];
  unrolled<kSlots>([&](auto i) { store(all + i * kWidth, v[i]); });
  store(all + kWidth * kSlots, splat<V>(0));
  for (int i = 0; i < runs.count; ++i) store_elements(runs.start + i * runs.stride, load<V>(all + i * kSlots), length);
}

/// Whether whole vectors are stored, each at a multiple of its bytes.
template <class T>
bool fills_lanes(const Runs<T>& runs) {
  constexpr Index kMost = Runs<T>::kMost;
  const bool packed = kExpandsLanes<NumberOf<T>> && is_packed(runs);
  return unaligned_elements(runs.start) == 0 && (packed || (runs.length == kMost && runs.stride % kMost == 0));
}

/// Calls work(integral constant) with the smallest power of two that is no less than `length`.
template <int kMost, class Work>
[[gnu::always_inline]] inline void with_slots(int length, const Work& work) {
  if constexpr (kMost > 1)
    if (length <= kMost / 2) return with_slots<kMost / 2>(length, work);
  work(std::integral_constant<int, kMost>());
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
  unrolled<kWidth>([&](auto i) { put<kStreams>(to + i * stride, v[i]); });
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
