// Sums and counts of integers in many columns at once: in lanes just wide enough for some rows, then in 64 bits.
#pragma once
#include "kernels/cpu/guessed_rows.h"
#include "kernels/cpu/integer_leaf.h"
#include "kernels/cpu/pieces.h"

namespace ndfold::simd {

/// What a column of T adds up: the elements, their squares, or how many of them are not 0.
template <class Term, class T>
struct IntegerTerm {
  using Narrow = typename Term::Lane;
  static constexpr Index kMostRows = Term::kMost;
  static Narrow of(T x) { return Term::of(static_cast<Narrow>(x)); }
  /// What as many elements of two rows as there are lanes add up to.
  template <class Lanes>
  [[gnu::always_inline]] static Lanes of_two_rows(const T* a, const T* b) {
    using Elements = Integers<T, sizeof(Lanes) / sizeof(Narrow) * sizeof(T)>;
    const auto from = [](const T* x) { return widened<Lanes>(load_integers<Elements>(x)); };
    if constexpr (requires { Term::template sum_of_squares<Lanes>(Lanes(), Lanes()); })
      return Term::template sum_of_squares<Lanes>(from(a), from(b));
    else
      return from(a) + from(b);
  }
};
template <class Term, class T, bool kFloating>
struct IntegerTerm<Term, Word<T, kFloating>> {
  using Narrow = T;
  static constexpr Index kMostRows = 255;
  static Narrow of(Word<T, kFloating> x) {
    return static_cast<Narrow>((x.bits & Word<T, kFloating>::kMatters) == 0 ? 0 : 1);
  }
  template <class Lanes>
  [[gnu::always_inline]] static Lanes of_two_rows(const Word<T, kFloating>* a, const Word<T, kFloating>* b) {
    const Lanes matters = Lanes{} + Word<T, kFloating>::kMatters, one = Lanes{} + T{1};
    const auto are_some = [&](const auto* x) {
      const Lanes bits = load_integers<Lanes>(x) & matters;
      return bits < one ? bits : one;
    };
    return are_some(a) + are_some(b);
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
    if (come_from_far(rows) && columns_ * Index{sizeof(T)} >= kLeastAskedBytes) {
      int r = 0;
      with_nearest_cache([&](auto cache) {
        const auto add_all = [&](auto at_once) {
          for (; r + at_once() <= count; r += at_once())
            add_rows_from_far<cache()>(rows, r, std::make_integer_sequence<int, at_once() / 2>());
        };
        if (kMayComeInFours && come_in_fours(rows))
          add_all(std::integral_constant<int, kRowsTogether>());
        else
          add_all(std::integral_constant<int, kRowsAtOnce>());
      });
      for (; r < count; ++r) add_rows(0, columns_, rows.row(r));
      return;
    }
    each_piece_of_rows(rows, count, columns_, are_taken_in_turn<T>(rows, count, columns_, Index{sizeof(Narrow)}),
                       [&](Index first, Index columns, auto... row) { add_rows(first, columns, row...); });
  }

  /// The sums, or how many are not 0.
  const std::uint64_t* result() {
    widen();
    return totals_;
  }

 private:
  /// Sums of u8 of [16384,4096] axis 0 on a Zen 5 36 GB/s eight at once, 38 four at once, any of them 28 and 32; but of
  /// i32, whose lanes are twice as wide, 34 and 33.
  static constexpr bool kMayComeInFours = sizeof(T) == 1 || sizeof(Narrow) == sizeof(T);

  /// Line by line of all rows, while as many lines of the next are asked for: sum u8 of [16384,4096] axis 0 on a Zen 4
  /// took 3.6 ms row by row, 2.7 so. A Zen 3, which asks for nothing else, took 5.0 where it did not ask, 3.7 so.
  template <int kCache, class Rows, int... K>
  [[gnu::noinline]] void add_rows_from_far(const Rows& rows, int r, std::integer_sequence<int, K...>) {
    constexpr Index kLine = 64 / static_cast<Index>(sizeof(T)), kWidth = kRegisterBytes / Index{sizeof(Narrow)};
    using Lanes = Integers<Narrow>;
    Narrow* __restrict const narrow = narrow_;
    constexpr int kCount = 2 * sizeof...(K);
    const T* row[kCount] = {};
    ((row[2 * K] = rows.row(r + 2 * K), row[2 * K + 1] = rows.row(r + 2 * K + 1)), ...);
    const Index lines = columns_ / kLine;
    LinesOfRows<Rows, kCache> next(rows, r + kCount, r + 2 * kCount, columns_ * Index{sizeof(T)});
    for (Index c = 0; c < lines * kLine;) {
      next.template ask<kCount>();
      for (const Index end = c + kLine; c < end; c += kWidth) {
        Lanes sums = load_integers<Lanes>(narrow + c);
        ((sums += Term::template of_two_rows<Lanes>(row[2 * K] + c, row[2 * K + 1] + c)), ...);
        std::memcpy(narrow + c, &sums, sizeof sums);
      }
    }
    for (const T* one : row) add_rows(lines * kLine, columns_ - lines * kLine, one + lines * kLine);
  }

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
