// Which rows share vectors in a softmax or in its fold (packed_softmax.h), and for which lengths that is built.
#pragma once
#include "kernels/cpu/packed_softmax.h"

namespace ndfold::simd {

/// Whether rows of n elements, so many in all, are better taken so than each in vectors of its own, by a scale that
/// keeps the largest the largest. A softmax of 2 and 4 around maxima is quicker in slots; few rows are not worth the
/// tables. Longer ones are where results are streamed, unless their last vectors are nearly full.
template <class T, MapKind kMap>
bool are_packed_rows(Index rows, Index n, const Arguments& step) {
  using A = NumberOf<T>;
  constexpr Index kWidth = kLanes<LanesOf<A>>, kWorthwhile = 8192;  // elements
  if constexpr (kExpandsLanes<A>) {
    if (n < 2 || rows * n < kWorthwhile || !(step.scale >= 0)) return false;
    if (n <= kVectorsOfTables * kWidth) return kRaisesPowers<A> || kMap == MapKind::log_softmax || (n != 2 && n != 4);
    return step.past_caches && n <= kPackedVectors<LanesOf<A>> * kWidth && n % kWidth <= kWidth / 2;
  }
  return false;
}

/// Whether they are better folded so: where 3/8 of the lanes of their own vectors would idle (logsumexp of rows of 2,
/// 5, 9, 17, 20 and 24 f32 on a Zen 4: 3.4, 1.7, 1.2, 1.2, 1.04 and 0.92 times as fast).
template <class T>
bool folds_packed_rows(Index rows, Index n) {
  using A = NumberOf<T>;
  constexpr Index kWidth = kLanes<LanesOf<A>>, kWorthwhile = 8192;  // elements
  const Index lanes = (n + kWidth - 1) / kWidth * kWidth;
  return kExpandsLanes<A> && n >= 2 && rows * n >= kWorthwhile && n <= kVectorsOfTables * kWidth && 8 * n <= 5 * lanes;
}

/// Calls work(integer sequence of kSlots, kVectors) for rows of n elements.
template <class T, MapKind kMap, class Work>
void with_packed_rows(Index n, const Work& work) {
  using A = NumberOf<T>;
  constexpr int kWidth = kLanes<LanesOf<A>>;
  if constexpr (kExpandsLanes<A>) {
    if (n <= kWidth)
      return with_slots<kWidth>(static_cast<int>(n), [&](auto slots) {
        if constexpr (slots() > 2 || (slots() == 2 && (kRaisesPowers<A> || kMap == MapKind::log_softmax)))
          work(std::integer_sequence<int, slots(), 1>());
      });
    if constexpr (kVectorsOfTables < kPackedVectors<LanesOf<A>>)
      if (n > kVectorsOfTables * kWidth) return work(std::integer_sequence<int, kWidth, 0>());
    unrolled<kVectorsOfTables - 1>([&](auto i) {
      if ((n - 1) / kWidth == i + 1) work(std::integer_sequence<int, kWidth, i + 2>());
    });
  }
}

template <class T, MapKind kMap>
void softmax_of_packed_rows(const T* x, T* y, Index rows, Index n, const Arguments& step) {
  with_packed_rows<T, kMap>(n, [&]<int kSlots, int kVectors>(std::integer_sequence<int, kSlots, kVectors>) {
    PackedSoftmax<T, kMap, kSlots, kVectors>(n, step.scale, step.alpha, step.past_caches).map(x, y, rows);
  });
}

/// take(logarithms of the sums of some rows' powers, how many), row after row.
template <class T, class Take>
requires kRaisesPowers<NumberOf<T>>
void logarithms_of_packed_rows(const T* x, Index rows, Index n, double scale, const Take& take) {
  constexpr MapKind kMap = MapKind::log_softmax;
  with_packed_rows<T, kMap>(n, [&]<int kSlots, int kVectors>(std::integer_sequence<int, kSlots, kVectors>) {
    PackedSoftmax<T, kMap, kSlots, kVectors>(n, scale, 1, false).logarithms(x, rows, take);
  });
}

}  // namespace ndfold::simd
