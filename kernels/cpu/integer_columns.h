// Sums and counts of integers in many columns at once: in lanes just wide enough for some rows, then in 64 bits.
#pragma once
#include "kernels/cpu/guessed_rows.h"
#include "kernels/cpu/integer_leaf.h"
#include "kernels/cpu/pieces.h"

namespace ndfold::simd {

/// What a column of T adds up: the elements, their squares, or how many of them are 0.
template <class Term, class T>
struct IntegerTerm {
  using Narrow = typename Term::Lane;
  static constexpr Index kMostRows = Term::kMost;
  static constexpr bool kCountsZeros = false;
  static Narrow of(T x) { return Term::of(static_cast<Narrow>(x)); }
};
template <class Term, class T, bool kFloating>
struct IntegerTerm<Term, Word<T, kFloating>> {
  using Narrow = T;
  static constexpr Index kMostRows = 255;
  static constexpr bool kCountsZeros = true;
  static Narrow of(Word<T, kFloating> x) {
    return static_cast<Narrow>((x.bits & Word<T, kFloating>::kMatters) == 0 ? 1 : 0);
  }
};

template <class T, class Terms = Plain<T>>
class IntegerColumns {
 public:
  using Term = IntegerTerm<Terms, T>;
  using Narrow = typename Term::Narrow;

  IntegerColumns(std::uint64_t* totals, Narrow* narrow, Index columns)
      : totals_(totals), narrow_(narrow), columns_(columns) {
    std::fill(totals_, totals_ + columns_, 0);
    std::fill(narrow_, narrow_ + columns_, Narrow(0));
  }

  template <class Rows>
  void add(const Rows& rows, int count) {
    if (held_ + count > Term::kMostRows) widen();
    held_ += count;
    each_piece_of_rows(rows, count, columns_, are_taken_in_turn<T>(rows, count, columns_, Index{sizeof(Narrow)}),
                       [&](Index first, Index columns, auto... row) { add_rows(first, columns, row...); });
  }

  /// The sums; of bytes that are 0 or not, the number of those that are not.
  const std::uint64_t* result(Index rows) {
    widen();
    if constexpr (Term::kCountsZeros)
      for (Index c = 0; c < columns_; ++c) totals_[c] = static_cast<std::uint64_t>(rows) - totals_[c];
    return totals_;
  }

 private:
  template <class... Row>
  [[gnu::noinline]] void add_rows(Index first, Index columns, const Row* __restrict... row) {
    Narrow* __restrict narrow = narrow_ + first;
    for (Index c = 0; c < columns; ++c) narrow[c] = static_cast<Narrow>(narrow[c] + (... + Term::of(row[c])));
  }

  void widen() {
    for (Index c = 0; c < columns_; ++c) {
      totals_[c] += static_cast<std::uint64_t>(narrow_[c]);
      narrow_[c] = 0;
    }
    held_ = 0;
  }

  std::uint64_t* totals_;
  Narrow* narrow_;
  Index columns_, held_ = 0;
};

}  // namespace ndfold::simd
