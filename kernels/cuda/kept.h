// What a lane keeps in registers of its columns, or of a row: numbers, or elements of 16 bits, of which twice as many
// fit.
#pragma once
#include <ndfold/kept_columns.h>

#include "kernels/cuda/any_extreme.h"
#include "kernels/cuda/softmax_fold.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// Rows of columns that are not kept, of which there are none.
struct NoRows {
  __device__ void await() const {}
  template <class Visit>
  __device__ void visit(const Visit&) const {}
};

/// kKept rows at most, as numbers, scaled. What is missing is -inf, whose power is 0.
template <class Source, int kKept>
class KeptNumbers {
  using A = typename Source::Value;
  static constexpr int kSize = Source::kSize;

 public:
  using Loaded = PackOf<Source>;
  using Powers = PowerMap<A>;  ///< of a softmax: each power takes the place of its number

  /// What is loaded where nothing is.
  __device__ static void begin(Loaded (&packs)[kKept], A) {
#pragma unroll
    for (int k = 0; k < kKept; ++k) packs[k] = {};
  }
  __device__ void keep(const Loaded (&packs)[kKept], int count, A scale) {
#pragma unroll
    for (int k = 0; k < kKept; ++k)
#pragma unroll
      for (int c = 0; c < kSize; ++c)
        numbers_[k][c] = k < count ? number_of<Source>(packs[k], c) * scale : -folds::kInfinity<A>;
  }

  /// The first `count` packs of one row.
  __device__ void keep_row(const Loaded (&packs)[kKept], int count, A scale) { keep(packs, count, scale); }

  /// That numbers have yet to be multiplied with.
  __device__ A scale() const { return A(1); }
  /// One that is not kept, as number() says those that are.
  __device__ static A as_kept(A number, A scale) { return number * scale; }
  __device__ A number(int k, int c) const { return numbers_[k][c]; }

  /// Of those that are kept, and of `others`, whose visit(visit) calls visit(pack) once they are awaited, by the fold's
  /// scale.
  template <class Rows = NoRows>
  __device__ void maxima(A (&to)[kSize], A scale = 1, const Rows& others = {}) const {
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      to[c] = numbers_[0][c];
#pragma unroll
      for (int k = 1; k < kKept; ++k) to[c] = folds::any_maximum(to[c], numbers_[k][c]);
    }
    others.await();
    others.visit([&](const Loaded& pack) {
#pragma unroll
      for (int c = 0; c < kSize; ++c) to[c] = folds::any_maximum(to[c], number_of<Source>(pack, c) * scale);
    });
  }

  /// Of packs of one row.
  __device__ A maximum() const {
    A columns[kSize];
    maxima(columns);
#pragma unroll
    for (int c = 1; c < kSize; ++c) columns[0] = folds::any_maximum(columns[0], columns[c]);
    return columns[0];
  }
  template <bool kReplace>
  __device__ A sum_of_powers(A max) {
    A of_all[kSize], columns[kSize];
#pragma unroll
    for (int c = 0; c < kSize; ++c) of_all[c] = max;
    sums_of_powers<kReplace>(of_all, columns);
#pragma unroll
    for (int c = 1; c < kSize; ++c) columns[0] += columns[c];
    return columns[0];
  }

  /// kReplace: powers take the places of the numbers.
  template <bool kReplace>
  __device__ void sums_of_powers(const A (&maxima)[kSize], A (&to)[kSize]) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const auto exponent = Exponent<A>::of(maxima[c], A(1));
      A sums[2] = {};
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        const A power = exponent.power(numbers_[k][c]);
        sums[k % 2] += power;
        if constexpr (kReplace) numbers_[k][c] = power;
      }
      to[c] = sums[0] + sums[1];
    }
  }

 private:
  A numbers_[kKept][kSize];
};

/// kKept rows at most, or packs of one row, as elements. What is missing of rows is what no extreme is, and its power
/// 0: to ask of each number whether it is there takes as long as its power.
template <class Source, int kKept>
class KeptElements {
  using A = typename Source::Value;
  using T = typename Source::Element;
  using P = PackOf<Source>;
  static constexpr int kSize = Source::kSize;

 public:
  using Loaded = WordsOfPack<Source>;
  using Powers = SoftmaxMap<A>;

  /// What is loaded where nothing is: -inf once it is scaled. Of a scale of 0 nothing is, so that the power is 1.
  __device__ static void begin(Loaded (&packs)[kKept], A scale) {
    P missing;
#pragma unroll
    for (int c = 0; c < kSize; ++c)
      missing.at[c] = to_element<T>(scale > 0 ? -folds::kInfinity<A> : scale < 0 ? folds::kInfinity<A> : A(0));
#pragma unroll
    for (int k = 0; k < kKept; ++k) packs[k] = std::bit_cast<Loaded>(missing);
  }
  /// `count` of them, or all; behind those what they began with.
  __device__ void keep(const Loaded (&packs)[kKept], int count, A scale) {
    count_ = count < kKept ? count : kKept;
    scale_ = scale;
#pragma unroll
    for (int k = 0; k < kKept; ++k) words_[k] = packs[k];
  }

  /// The first `count` packs of one row, turned where the scale is negative; others repeat one of them, if there is
  /// one.
  __device__ void keep_row(const P (&packs)[kKept], int count, A scale) {
    count_ = count;
    scale_ = scale < 0 ? -scale : scale;
#pragma unroll
    for (int k = 0; k < kKept; ++k) words_[k] = std::bit_cast<Loaded>(packs[k]);
    if (scale < 0)
#pragma unroll
      for (int k = 0; k < kKept; ++k)
#pragma unroll
        for (int i = 0; i < kSize / 2; ++i) words_[k].at[i] ^= 0x80008000u;
  }

  __device__ A scale() const { return scale_; }
  __device__ static A as_kept(A number, A) { return number; }
  __device__ A number(int k, int c) const { return number_of<Source>(pack(k), c); }

  template <class Rows = NoRows>
  __device__ void maxima(A (&to)[kSize], A = 1, const Rows& others = {}) const {
    const P extreme = scale_ < 0 ? extreme_of_columns<true>(others) : extreme_of_columns<false>(others);
#pragma unroll
    for (int c = 0; c < kSize; ++c) to[c] = number_of<Source>(extreme, c) * scale_;
  }
  /// Of packs of one row.
  __device__ A maximum() const {
    const P largest = extreme_of_columns<false>(NoRows());
    A max = number_of<Source>(largest, 0);
#pragma unroll
    for (int c = 1; c < kSize; ++c) max = folds::any_maximum(max, number_of<Source>(largest, c));
    return count_ == 0 ? -folds::kInfinity<A> : scaled(max);
  }

  /// Numbers are made of elements once more later: as registers that live until then they would be too many.
  template <bool>
  __device__ void sums_of_powers(const A (&maxima)[kSize], A (&to)[kSize]) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      const auto exponent = Exponent<A>::of(maxima[c], scale_);
      A sums[2] = {exponent.power(number(0, c)), exponent.power(number(1, c))};
#pragma unroll
      for (int k = 2; k < kKept; ++k) sums[k % 2] += exponent.power(number(k, c));
      to[c] = sums[0] + sums[1];
    }
    if (scale_ == 0) [[unlikely]]
#pragma unroll
      for (int c = 0; c < kSize; ++c) to[c] -= static_cast<A>(kKept - count_);
    forget();
  }
  /// Of packs of one row, of which none takes its number's place.
  template <bool>
  __device__ A sum_of_powers(A max) {
    const auto exponent = Exponent<A>::of(max, scale_);
    A sum = 0;
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      A of_pack = 0;
#pragma unroll
      for (int c = 0; c < kSize; ++c) of_pack += exponent.power(number(k, c));
      sum += k < count_ ? of_pack : A(0);
    }
    change_by_nothing();
    return sum;
  }

 private:
  // Whoever has no number has none then, too, for a scale may be 0.
  __device__ A scaled(A max) const { return max == -folds::kInfinity<A> ? max : max * scale_; }
  template <bool kSmaller, class Rows>
  __device__ P extreme_of_columns(const Rows& others) const {
    P extreme = pack(0);
#pragma unroll
    for (int k = 1; k < kKept; ++k) extreme = any_extreme<kSmaller>(extreme, pack(k));
    others.await();
    others.visit([&](const P& pack) { extreme = any_extreme<kSmaller>(extreme, pack); });
    return extreme;
  }
  // As forget(): of rows ptxas saw through its empty assembly, and spilt 33 words.
  __device__ void change_by_nothing() {
#pragma unroll
    for (int k = 0; k < kKept; ++k)
#pragma unroll
      for (int i = 0; i < kSize / 2; ++i) words_[k].at[i] ^= nothing();
  }
  // What was made of the words.
  __device__ void forget() {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int k = 0; k < kKept; ++k)
#pragma unroll
      for (int i = 0; i < kSize / 2; ++i) asm volatile("" : "+r"(words_[k].at[i]));
#endif
  }
  __device__ P pack(int k) const { return std::bit_cast<P>(words_[k]); }

  Loaded words_[kKept];
  A scale_ = 1;
  int count_ = 0;
};

/// Of few rows there is room for numbers of 16 bits too, and each power is taken once.
template <class Source, int kKept>
inline constexpr bool kKeepsElements = kIs16BitFloat<typename Source::Element> && (Source::kSize > 1) &&
                                       (kKept > kMostNumberedLoads);
template <class Source, int kKept>
using Kept = std::conditional_t<kKeepsElements<Source, kKept>, KeptElements<Source, kKept>, KeptNumbers<Source, kKept>>;

}  // namespace ndfold::cuda
