// Softmax of dense rows too short to fill a core alone: as many at a time as there are lanes, so that what a row needs
// once (a maximum, a sum, a division, a logarithm) is done for all of them at once.
#pragma once
#include "kernels/cpu/across.h"
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/softmax_looks.h"

namespace ndfold::simd {

/// Rows [0, rows) that lie `in_stride` and `out_stride` elements apart.
template <class T>
struct RowGroup {
  const T* in;
  T* out;
  Index rows, in_stride, out_stride;
};

/// Whole lines that wait in L1 until somebody streams them, a few at a time: stores that leave the caches are slow, and
/// a core queues only so many.
template <class T>
struct WaitingLines {
  const T* from = nullptr;
  T* to = nullptr;
  Index lines = 0;

  [[gnu::always_inline]] void stream(Index count) {
    using V = LanesOf<NumberOf<T>>;
    count = std::min(count, lines);
    for (Index i = 0; i < count; ++i) stream_line(to + i * kLanes<V>, from + i * kLanes<V>);
    from += count * kLanes<V>;
    to += count * kLanes<V>;
    lines -= count;
  }
};

/// kVectors vectors hold a row, the last one up to its end; 0: as many as n needs.
template <class T, MapKind kMap, int kVectors>
class ShortRows {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  static constexpr int kWidth = kLanes<V>;
  static constexpr bool kKeeps = kMap == MapKind::softmax, kRaises = kRaisesPowers<A>;

 public:
  static constexpr int kAtOnce = kWidth;

  /// `powers` has room for kAtOnce rows of whole vectors.
  ShortRows(Index n, double scale, double alpha, A* powers)
      : full_((n - 1) / kWidth),
        rest_(static_cast<int>(n - full_ * kWidth)),
        scale_(static_cast<A>(scale)),
        alpha_(static_cast<A>(alpha)),
        tame_(alpha, n),
        powers_(powers) {}

  A scale() const { return scale_; }

  /// The largest element of each row, times the scale: where powers are raised, nobody asks.
  [[gnu::noinline, gnu::flatten]] V scaled_maxima(const RowGroup<T>& rows) const {
    return kRaises ? splat<V>(0) : maxima(rows) * splat<V>(scale_);
  }

  /// At most kAtOnce rows, whose scaled maxima are known and become those of `next`, which may be no rows: a core loads
  /// them while it computes powers. Meanwhile, what waits is streamed.
  [[gnu::noinline, gnu::flatten]] void map(const RowGroup<T>& rows, V& max, const RowGroup<T>& next,
                                           WaitingLines<T>& waiting) const {
    A shift[kAtOnce] = {}, rest[kAtOnce] = {}, factor[kAtOnce];
    if constexpr (kRaises) {
      const V sum = powers_and_logarithms(rows, waiting, shift, rest);
      store(factor, kKeeps ? splat<V>(alpha_) / sum : splat<V>(alpha_));
    } else {
      store(shift, max);
      const V sum = sums_and_maxima(rows, shift, max, next, waiting);
      store(factor, kKeeps ? splat<V>(alpha_) / sum : splat<V>(alpha_));
      if constexpr (!kKeeps) store(rest, log_of(sum));
    }
    const T* x = rows.in;
    T* out = rows.out;
    for (Index r = 0; r < rows.rows; ++r, x += rows.in_stride, out += rows.out_stride) {
      const Result<kMap, A> result(scale_, {shift[r], kKeeps ? A(0) : rest[r], factor[r]});
      if constexpr (kKeeps)
        write(powers_ + r * pitch(), out, result);
      else
        write(x, out, result);
    }
  }

  /// The logarithm of each row's sum of powers; the rest as above.
  [[gnu::noinline, gnu::flatten]] V logarithms(const RowGroup<T>& rows, V& max, const RowGroup<T>& next) const {
    A shift[kAtOnce] = {}, rest[kAtOnce] = {};
    WaitingLines<T> nothing;
    if constexpr (kRaises) {
      powers_and_logarithms(rows, nothing, shift, rest);
      return load<V>(shift) + load<V>(rest);
    } else {
      store(shift, max);
      const V of_these = max;
      return of_these + log_of(sums_and_maxima(rows, shift, max, next, nothing));
    }
  }

 private:
  [[gnu::always_inline]] Index full() const { return kVectors > 0 ? kVectors - 1 : full_; }
  [[gnu::always_inline]] Index pitch() const { return (full() + 1) * kWidth; }

  // How far from what is looked at lines are asked for: behind the batch, or, of a machine that guesses, as elsewhere
  // (logsumexp of rows of 100, 600 and 1024 f32 on a Zen 4: 5.5, 6.4 and 7.0 elements/ns, behind it 4.2, 6.0 and 7.0).
  [[gnu::always_inline]] static Index ahead_of_batch(const RowGroup<T>& rows, const WaitingLines<T>& waiting) {
    if (kAsksAhead) return kAtOnce * rows.in_stride + ahead_elements<T>() / 2;
    return waiting.to == nullptr ? ahead_elements<T>() : ahead_of_writes(rows.in, waiting.to);
  }

  [[gnu::always_inline]] V maxima(const RowGroup<T>& rows) const {
    V most[kAtOnce];
    const V least = splat<V>(-kInfinity<V>);
    const T* x = rows.in;
    for (Index r = 0; r < kAtOnce; ++r, x += r < rows.rows ? rows.in_stride : 0) {
      V all = select(first_lanes<A>(rest_), load_elements(x + full() * kWidth, rest_), least);
      for (Index k = 0; k < full(); ++k) all = any_maximum(all, load_elements(x + k * kWidth));
      most[r] = all;
    }
    return across(most, Larger());
  }

  // Powers of rows and their sums; a row that is not tame has its own around its maximum. For who asks for logarithms,
  // each in two parts, the first of which elements are shifted by.
  [[gnu::always_inline]] V powers_and_logarithms(const RowGroup<T>& rows, WaitingLines<T>& waiting, A (&shift)[kAtOnce],
                                                 A (&rest)[kAtOnce]) const {
    V sum = sums(rows, RaisedPower(splat<V>(scale_)), waiting);
    const Mask<A> tame = tame_(sum);
    if constexpr (!kKeeps) {
      const auto logarithm = TameSums::logarithm(select(tame, sum, splat<V>(1)));
      store(shift, logarithm.shift), store(rest, logarithm.rest);
    }
    if (!are_all(tame)) [[unlikely]]
      look_at_maxima(rows, tame, sum, shift, rest);
    return sum;
  }

  [[gnu::noinline]] void look_at_maxima(const RowGroup<T>& rows, Mask<A> tame, V& sum, A (&shift)[kAtOnce],
                                        A (&rest)[kAtOnce]) const {
    A max[kAtOnce];
    store(max, maxima(rows) * splat<V>(scale_));
    V around[kAtOnce];
    for (int r = 0; r < kAtOnce; ++r) {
      around[r] = splat<V>(1);
      if (r >= rows.rows || (bits_of(tame) >> r & 1) != 0) continue;
      const Exponent<A> exponent(scale_, max[r]);
      around[r] = sum_of_row<false>(
          rows.in + r * rows.in_stride, powers_ + r * pitch(), [&](V x) { return power_below_one(exponent(x)); }, 0);
      shift[r] = max[r];
    }
    sum = select(tame, sum, across(around, std::plus<>()));
    if constexpr (!kKeeps) store(rest, select(tame, load<V>(rest), log_of(sum)));
  }

  // Asks itself: a lambda that did nothing else GCC would take for pure, and drop.
  template <bool kAsks, class Power>
  [[gnu::always_inline]] V sum_of_row(const T* x, A* powers, const Power& power_of, Index ahead) const {
    V all = select(first_lanes<A>(rest_), power_of(load_elements(x + full() * kWidth, rest_)), splat<V>(0));
    if constexpr (kKeeps) store(powers + full() * kWidth, all);
    if constexpr (kAsks) ask_early(x + full() * kWidth + ahead);
    for (Index k = 0; k < full(); ++k) {
      if constexpr (kAsks) ask_early(x + k * kWidth + ahead);
      const V power = power_of(load_elements(x + k * kWidth));
      if constexpr (kKeeps) store(powers + k * kWidth, power);
      all = all + power;
    }
    return all;
  }

  [[gnu::always_inline]] V sums(const RowGroup<T>& rows, const RaisedPower raised, WaitingLines<T>& waiting) const {
    V sum[kAtOnce];
    const T* x = rows.in;
    A* powers = powers_;
    const Index ahead = ahead_of_batch(rows, waiting);
    for (Index r = 0; r < rows.rows; ++r, x += rows.in_stride, powers += pitch()) {
      sum[r] = sum_of_row<true>(x, powers, raised, ahead);
      if (waiting.lines > 0) waiting.stream(full() + 1);
    }
    for (Index r = rows.rows; r < kAtOnce; ++r) sum[r] = splat<V>(1);
    return across(sum, std::plus<>());
  }

  [[gnu::always_inline]] V sums_and_maxima(const RowGroup<T>& rows, const A (&shift)[kAtOnce], V& max,
                                           const RowGroup<T>& next, WaitingLines<T>& waiting) const {
    if (rows.rows < kAtOnce || next.rows < kAtOnce) {
      if (next.rows > 0) max = scaled_maxima(next);
      return sums(rows, shift, waiting);
    }
    V most[kAtOnce];
    const V sum = sums(rows, shift, waiting, next.in, most);
    max = across(most, Larger()) * splat<V>(scale_);
    return sum;
  }

  // Next: nothing, or where as many rows begin whose largest elements are collected in `most`.
  template <class Next = std::nullptr_t>
  [[gnu::always_inline]] V sums(const RowGroup<T>& rows, const A (&shift)[kAtOnce], WaitingLines<T>& waiting,
                                Next next = {}, V* most = nullptr) const {
    constexpr bool kLooksAhead = !std::is_same_v<Next, std::nullptr_t>;
    const V least = splat<V>(-kInfinity<V>);
    V sum[kAtOnce];
    const T* x = rows.in;
    A* powers = powers_;
    const Index ahead = ahead_of_batch(rows, waiting);
    for (Index r = 0; r < rows.rows; ++r, x += rows.in_stride, powers += pitch()) {
      const Exponent<A> exponent(scale_, shift[r]);
      V all = select(first_lanes<A>(rest_), power_below_one(exponent(load_elements(x + full() * kWidth, rest_))),
                     splat<V>(0));
      if constexpr (kKeeps) store(powers + full() * kWidth, all);
      V other = least;
      if constexpr (kLooksAhead)
        other = select(first_lanes<A>(rest_), load_elements(next + full() * kWidth, rest_), least);
      ask_early(x + full() * kWidth + ahead);
      for (Index k = 0; k < full(); ++k) {
        ask_early(x + k * kWidth + ahead);
        if constexpr (kLooksAhead) other = any_maximum(other, load_elements(next + k * kWidth));
        const V power = power_below_one(exponent(load_elements(x + k * kWidth)));
        if constexpr (kKeeps) store(powers + k * kWidth, power);
        all = all + power;
      }
      sum[r] = all;
      if constexpr (kLooksAhead) most[r] = other, next += rows.in_stride;
      if (waiting.lines > 0) waiting.stream(full() + 1);
    }
    for (Index r = rows.rows; r < kAtOnce; ++r) sum[r] = splat<V>(1);
    return across(sum, std::plus<>());
  }

  template <class X>
  [[gnu::always_inline]] void write(const X* x, T* out, const Result<kMap, A>& result) const {
    for (Index k = 0; k < full(); ++k) store_elements(out + k * kWidth, result(load_elements(x + k * kWidth)));
    const Index k = full() * kWidth;
    store_elements(out + k, result(load_elements(x + k, rest_)), rest_);
  }

  Index full_;
  int rest_;
  A scale_, alpha_;
  TameSums tame_;
  A* powers_;
};

/// Rows of fewer vectors are taken several at a time, in batches where their results lie one behind the other
/// (batched_softmax.h), else so: a batch and its powers are near the first cache. Longer ones in turn.
template <class A>
inline constexpr Index kLongRow = 33 * kLanes<LanesOf<A>>;

/// As many rows of a group as are taken at once, from `row` on; none behind its end.
template <class Rows, class T>
RowGroup<T> rows_at_once(const RowGroup<T>& group, Index row) {
  const Index rows = std::min<Index>(group.rows - row, Rows::kAtOnce);
  if (rows <= 0) return {group.in, group.out, 0, 0, 0};
  return {group.in + row * group.in_stride, group.out + row * group.out_stride, rows, group.in_stride,
          group.out_stride};
}

template <class T, MapKind kMap, int kVectors>
void map_short_rows(const RowGroup<T>& group, Index n, double scale, double alpha) {
  using A = NumberOf<T>;
  using Rows = ShortRows<T, kMap, kVectors>;
  alignas(64) A powers[Rows::kAtOnce * kLongRow<A>];
  const Rows kernel(n, scale, alpha, powers);
  WaitingLines<T> nothing;
  auto max = kernel.scaled_maxima(rows_at_once<Rows>(group, 0));
  for (Index row = 0; row < group.rows; row += Rows::kAtOnce)
    kernel.map(rows_at_once<Rows>(group, row), max, rows_at_once<Rows>(group, row + Rows::kAtOnce), nothing);
}

/// The same for neighbours whose results no cache would hold: they are made in L1, from there whole lines are streamed.
/// Each batch is a whole number of lines; what one leaves of its last line begins the next.
template <class T, MapKind kMap, int kVectors>
void stream_short_rows(const RowGroup<T>& group, Index n, double scale, double alpha) {
  using A = NumberOf<T>;
  using Rows = ShortRows<T, kMap, kVectors>;
  constexpr Index kWidth = kLanes<LanesOf<A>>, kBatch = Rows::kAtOnce * kLongRow<A>;
  alignas(64) A powers[kBatch];
  alignas(64) T staged[2][kBatch + kWidth];
  const Rows kernel(n, scale, alpha, powers);
  const Index skew = (kWidth - unaligned_elements(group.out)) % kWidth;
  T* line = group.out - skew;  // the first that is not streamed yet
  Index first = skew, side = 0;
  WaitingLines<T> waiting;
  RowGroup<T> next = rows_at_once<Rows>(group, 0);
  auto max = kernel.scaled_maxima(next);
  for (Index row = 0; row < group.rows; row += Rows::kAtOnce, side ^= 1) {
    const Index rows = next.rows;
    T* const here = staged[side];
    const RowGroup<T> current = {next.in, here + skew, rows, group.in_stride, n};
    next = rows_at_once<Rows>(group, row + Rows::kAtOnce);
    kernel.map(current, max, next, waiting);
    waiting.stream(waiting.lines);
    Index end = skew + rows * n, begin = 0;
    if (first > 0) {
      begin = std::min(kWidth, end);
      std::copy(here + first, here + begin, line + first);
      if (end >= kWidth) first = 0;
    }
    waiting = {here + begin, line + begin, (end - begin) / kWidth};
    const Index whole = end / kWidth * kWidth;
    line += whole;
    if (next.rows > 0)
      std::copy(here + whole, here + end, staged[side ^ 1]);
    else
      std::copy(here + std::max(whole, begin), here + end, line + std::max<Index>(0, begin - whole));
  }
  waiting.stream(waiting.lines);
  finish_streaming();
}

}  // namespace ndfold::simd
