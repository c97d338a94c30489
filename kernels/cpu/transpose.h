// Transposes in registers: lanes change places with vectors, half of them at a time.
#pragma once
#include "kernels/cpu/states.h"

namespace ndfold::simd {

/// Where blocks of kHalf lanes that are odd in `a` and even in `b` change places.
template <int kHalf>
struct EvenBlocks {
  template <int kWidth>
  static constexpr int pick(int i) {
    return i / kHalf % 2 == 0 ? i : kWidth + i - kHalf;
  }
};
template <int kHalf>
struct OddBlocks {
  template <int kWidth>
  static constexpr int pick(int i) {
    return i / kHalf % 2 == 0 ? i + kHalf : kWidth + i;
  }
};

template <class Blocks, int kWidth>
struct PickOf {
  constexpr int operator()(int i) const { return Blocks::template pick<kWidth>(i); }
};

/// Each square of kSize vectors × kSize lanes is transposed: lane b · kSize + i of v[j] becomes lane b · kSize + j of
/// v[i].
template <int kSize, class V>
[[gnu::always_inline]] inline void transpose_squares(V* v) {
  constexpr int kWidth = kLanes<V>;
  const auto exchange = [v]<int kHalf>(std::integral_constant<int, kHalf>) {
    [v]<int... I>(std::integer_sequence<int, I...>) {
      const auto pair = [v](int i) {
        const V a = v[i], b = v[i + kHalf];
        v[i] = shuffled(a, b, PickOf<EvenBlocks<kHalf>, kWidth>());
        v[i + kHalf] = shuffled(a, b, PickOf<OddBlocks<kHalf>, kWidth>());
      };
      (pair(I / kHalf * 2 * kHalf + I % kHalf), ...);
    }
    (std::make_integer_sequence<int, kSize / 2>());
  };
  if constexpr (kSize > 8) exchange(std::integral_constant<int, 8>());
  if constexpr (kSize > 4) exchange(std::integral_constant<int, 4>());
  if constexpr (kSize > 2) exchange(std::integral_constant<int, 2>());
  if constexpr (kSize > 1) exchange(std::integral_constant<int, 1>());
}

}  // namespace ndfold::simd
