// The best elements of columns of 16-bit numbers, two columns at a time: a comparison and a selection look at two
// elements, which stay as they are in memory.
#pragma once
#include "kernels/cuda/batch.h"

namespace ndfold::cuda {

/// Folds of values and indices whose elements are pairs of 16-bit numbers.
template <class F, class Source>
concept BestOfPairs = (Source::kSize % 2 == 0) &&
                      ArgFold<F>&& kIs16BitFloat<typename Source::Element>&& std::is_same_v<typename F::Value, float>;

template <class F>
inline constexpr bool kWantsSmallest = kIsMinimum<typename F::Values>;

/// Rows beyond `count` become the first one, once all are loaded.
template <int kRows, class P>
__device__ void repeat_first(P (&batch)[kRows], int count) {
#pragma unroll
  for (int r = 1; r < kRows; ++r)
    if (r >= count) batch[r] = batch[0];
}

/// A batch of rows, whose indices rise, into all columns of a tree. Rows that are missing repeat one before them, so
/// that none of them is the first to hold anything.
template <class Source, class F, int kUnroll, class IndexOf, class T>
__device__ void push_pairs(const Pack<typename Source::Element, Source::kSize> (&batch)[kUnroll],
                           const IndexOf& index_of, T& tree) {
  using Element = typename Source::Element;
  using Pairs = Pack<std::uint32_t, Source::kSize / 2>;
  const auto pair_of = [&](int u, int p) { return std::bit_cast<Pairs>(batch[u]).at[p]; };
#pragma unroll
  for (int p = 0; p < Source::kSize / 2; ++p) {
    std::uint32_t best = pair_of(0, p);
#pragma unroll
    for (int u = 1; u < kUnroll; ++u) best = extreme_of_pairs<kWantsSmallest<F>, Element>(best, pair_of(u, p));
    const float low = number_of_pair<Element>(best, 0), high = number_of_pair<Element>(best, 1);
    const bool changes_low = F::may_change(tree.running(2 * p), low, true);
    const bool changes_high = F::may_change(tree.running(2 * p + 1), high, true);
    if (!changes_low && !changes_high) continue;
    const std::uint32_t is_nan = ~equal_pairs<Element>(best, best);
    std::uint32_t places = 0;  // of both
#pragma unroll
    for (int u = kUnroll - 1; u >= 0; --u) {
      std::uint32_t here = equal_pairs<Element>(pair_of(u, p), best);
      if (is_nan != 0) here |= is_nan & ~equal_pairs<Element>(pair_of(u, p), pair_of(u, p));
      places = (places & ~here) | (here & (static_cast<std::uint32_t>(u) * 0x10001u));
    }
    if (changes_low) tree.push_one(2 * p, {low, index_of(static_cast<int>(places & 0xffffu))});
    if (changes_high) tree.push_one(2 * p + 1, {high, index_of(static_cast<int>(places >> 16))});
  }
}

}  // namespace ndfold::cuda
