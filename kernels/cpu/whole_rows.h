// The map that ends a softmax over whole rows of columns that follow one another: one run of memory, and what each
// column is shifted by and multiplied with over and over.
#pragma once
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/dense_rows.h"
#include "kernels/cpu/softmax_looks.h"

namespace ndfold::simd {

/// The columns' numbers again and again, and a vector more: lanes find theirs wherever they begin.
template <MapKind kMap, class A>
class ColumnPattern {
  using V = LanesOf<A>;
  static constexpr Index kWidth = kLanes<V>, kEnough = 8 * kWidth;
  static constexpr bool kIsSoftmax = kMap == MapKind::softmax;

 public:
  static constexpr Index kMostColumns = 16384 / static_cast<Index>(sizeof(A));

  /// `state_of(c)` is column c's {max, sum}.
  template <class StateOf>
  ColumnPattern(Index columns, double scale, double alpha, const StateOf& state_of)
      : period_(columns < kEnough ? (kEnough + columns - 1) / columns * columns : columns),
        scale_(splat<V>(static_cast<A>(scale))),
        times_(splat<V>(kIsSoftmax ? most_of_softmax<A>(alpha) : static_cast<A>(alpha))) {
    for (Index c = 0; c < columns; ++c) {
      const Normalizer<A> by = normalizer<A>(kMap, state_of(c), alpha);
      shift_[c] = by.shift, by_[c] = kIsSoftmax ? by.factor : by.rest;
    }
    for (Index c = columns; c < period_ + kWidth; ++c) copy(c - columns, c);
  }

  Index period() const { return period_; }

  /// Results of elements whose first is of column `phase`, below period().
  [[gnu::always_inline]] V operator()(V x, Index phase) const {
    const V distance = x * scale_ - load<V>(shift_ + phase), by = load<V>(by_ + phase);
    if constexpr (kIsSoftmax)
      return at_most(power_below_one(distance) * by, times_);
    else
      return at_most_zero(distance - by) * times_;
  }

 private:
  void copy(Index from, Index to) { shift_[to] = shift_[from], by_[to] = by_[from]; }

  Index period_;
  V scale_, times_;                                                         ///< times: what a softmax is at most
  alignas(64) A shift_[kMostColumns + kWidth], by_[kMostColumns + kWidth];  ///< by: a factor, or a logarithm
};

/// to[i] = the result of x[i], of column i modulo the pattern's period. Streamed, they begin with a few that align
/// `to`.
template <bool kStreams, class T, class Pattern>
[[gnu::noinline, gnu::flatten]] void map_run_of_rows(const T* x, T* to, Index n, const Pattern& result) {
  constexpr Index kWidth = kLanes<LanesOf<NumberOf<T>>>;
  const Index period = result.period();
  Index i = 0, phase = 0;
  const auto some = [&](Index count) {
    const int lanes = static_cast<int>(count);
    store_elements(to + i, result(load_elements(x + i, lanes), phase), lanes);
    i += count, phase += count;
  };
  if (kStreams) some(std::min(unaligned_elements(to), n));
  while (i + kWidth <= n) {
    if (phase >= period) phase -= period;
    const Index turns = std::min((period - phase + kWidth - 1) / kWidth, (n - i) / kWidth);
    for (Index t = 0; t < turns; ++t, i += kWidth, phase += kWidth) {
      prefetch(x + i);
      put<kStreams>(to + i, result(load_elements(x + i), phase));
    }
  }
  if (phase >= period) phase -= period;
  if (i < n) some(n - i);
}

/// Rows that follow one another in the input and in the output.
inline bool rows_follow_one_another(const Arguments& step) {
  const Axis column = inner(step.kept), row = inner(step.reduced);
  return step.kept.rank > 0 && step.reduced.rank == 1 && column.in == 1 && column.out == 1 && row.in == column.size &&
         row.out == column.size && step.output == step.input;
}

/// Whether a block can be mapped so; the same elements are made either way.
template <class A>
bool are_whole_rows(const Arguments& step, const ColumnBlock& block) {
  return rows_follow_one_another(step) && block.columns == block.column.size &&
         block.columns <= ColumnPattern<MapKind::softmax, A>::kMostColumns &&
         visit_elements<A>(step.input, []<class T>(T) {});
}

template <MapKind kMap, class A, class StateOf>
[[gnu::noinline]] void map_whole_rows(const Arguments& step, const ColumnBlock& block, const StateOf& state_of) {
  const ColumnPattern<kMap, A> pattern(block.columns, step.scale, step.alpha, state_of);
  const Index begin = block.begin * block.columns, count = (block.end - block.begin) * block.columns;
  visit_elements<A>(step.input, [&]<class T>(T) {
    const T* x = reinterpret_cast<const T*>(block.in) + begin;
    T* to = reinterpret_cast<T*>(block.out) + begin;
    if (step.past_caches)
      map_run_of_rows<true>(x, to, count, pattern);
    else
      map_run_of_rows<false>(x, to, count, pattern);
  });
}

}  // namespace ndfold::simd
