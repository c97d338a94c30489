// Softmax of dense rows of a few vectors whose results lie one behind the other: a batch has as many rows as there are
// lanes. While its powers are made, the maxima of the next are found and the results of the one before are written, a
// whole line of the output after the other, whichever rows share it. 2^24 f32 on a Zen 4 in rows of 100, 128, 256 and
// 512: 3.5, 4.4, 4.5 and 4.7 elements/ns; one look after the other (short_rows.h) 3.0, 3.1, 3.1 and 3.6.
#pragma once
#include "kernels/cpu/short_rows.h"

namespace ndfold::simd {

template <class T, MapKind kMap, bool kStreams>
class BatchedSoftmax {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  static constexpr int kWidth = kLanes<V>, kRows = kWidth;
  static constexpr bool kKeeps = kMap == MapKind::softmax, kRaises = kRaisesPowers<A>;

 public:
  BatchedSoftmax(Index n, Index stride, double scale, double alpha)
      : n_(n),
        stride_(stride),
        rest_(static_cast<int>((n - 1) % kWidth + 1)),
        pitch_((n + kWidth - 1) / kWidth * kWidth),
        scale_(static_cast<A>(scale)),
        alpha_(static_cast<A>(alpha)),
        tame_(alpha) {}

  /// Rows from `x`, `stride` elements from each other, to `y`, side by side.
  void map(const T* x, T* y, Index rows) {
    skipped_ = filled_ = static_cast<int>((kWidth - unaligned_elements(y)) % kWidth);
    first_line_ = line_ = y - skipped_;
    at_once_ = rows_at_once(x, y);
    Index now = std::min(rows, at_once_), before = 0;
    if constexpr (!kRaises) find_maxima(x, now);
    while (now > 0) {
      rows -= now;
      const T* const next = x + now * stride_;
      const Index coming = std::min(rows, at_once_);
      turn(x, now, next, coming, before);
      x = next, before = now, now = coming, side_ ^= 1;
    }
    Batch& last = held_[side_ ^ 1];
    for (Index r = 0; r < before; ++r) write_row(last, r);
    flush();
    if constexpr (kStreams) finish_streaming();
  }

 private:
  struct Batch {
    Batch() { store(all, splat<V>(0)); }
    A* kept(Index at) { return all + kWidth + at; }
    const A* kept(Index at) const { return all + kWidth + at; }

    alignas(64) A all[kRows * kLongRow<A> + 2 * kWidth];  ///< lines begin before the first row, and end after the last
    A shift[kRows] = {}, other[kRows] = {};  ///< other: the factor of a softmax, the logarithm of a log_softmax
  };

  Index rows_at_once(const T* x, const T* y) const {
    return stride_ == n_ ? parts_at_once(kRows, n_, x, y, !kRaises) : kRows;
  }

  void find_maxima(const T* x, Index rows) {
    V most[kRows];
    for (Index r = 0; r < kRows; ++r)
      most[r] = r < rows ? largest(x + r * stride_, n_, splat<V>(-kInfinity<V>)) : splat<V>(0);
    store(held_[side_].shift, across(most, Larger()) * splat<V>(scale_));
  }

  [[gnu::noinline, gnu::flatten]] void turn(const T* x, Index now, const T* next, Index coming, Index before) {
    Batch &here = held_[side_], &there = held_[side_ ^ 1];
    V most[kRows], sum[kRows];
    if (kRaises && is_far_) find_maxima(x, now);
    const Index ahead = ahead_of_writes(next, line_);
    for (Index r = now; r < kRows; ++r) sum[r] = splat<V>(1), most[r] = splat<V>(0);
    const bool is_far = is_far_;
    if (now == before && (kRaises || now == coming)) {
      const auto rows = is_far ? &BatchedSoftmax::rows_beside<false> : &BatchedSoftmax::rows_beside<kRaises>;
      (this->*rows)(here, there, x, now, next, ahead, most, sum);
    } else {
      for (Index r = 0; r < before; ++r) write_row(there, r);
      is_far ? rows_alone<false>(here, there, x, now, most, sum) : rows_alone<kRaises>(here, there, x, now, most, sum);
      if constexpr (!kRaises)
        for (Index r = 0; r < coming; ++r) most[r] = largest(next + r * stride_, n_, splat<V>(-kInfinity<V>));
    }
    store(here.kept(now * pitch_), splat<V>(0));
    V total = across(sum, std::plus<>());
    if constexpr (kRaises) {
      const Mask<A> ours = first_lanes<A>(static_cast<int>(now));
      if (is_far) {
        is_far_ = !any(both(ours, tame_.may_hold(load<V>(here.shift), total)));
        if (is_far_) return finish(here, total);
        rows_alone<true>(here, there, x, now, most, sum);
        total = across(sum, std::plus<>());
      }
      const Mask<A> tame = tame_(total);
      is_far_ = !any(both(ours, tame));
      if (!are_all(tame)) [[unlikely]]
        return around_maxima(here, x, now, tame, total);
      keep_logarithms(here, total);
      if constexpr (kKeeps) store(here.other, splat<V>(alpha_) / total);
    } else {
      finish(here, total);
      store(there.shift, across(most, Larger()) * splat<V>(scale_));
    }
  }

  template <bool kRaised>
  [[gnu::noinline, gnu::flatten]] void rows_beside(Batch& here, const Batch& there, const T* x, Index now,
                                                   const T* next, Index ahead, V (&most)[kRows], V (&sum)[kRows]) {
    for (Index r = 0; r < now; ++r)
      row<true, kRaised>(here, there, r, x + r * stride_, next + r * stride_, ahead, most[r], sum[r]);
  }

  template <bool kRaised>
  [[gnu::noinline, gnu::flatten]] void rows_alone(Batch& here, const Batch& there, const T* x, Index now,
                                                  V (&most)[kRows], V (&sum)[kRows]) {
    for (Index r = 0; r < now; ++r) {
      most[r] = splat<V>(-kInfinity<V>);
      row<false, kRaised>(here, there, r, x + r * stride_, nullptr, 0, most[r], sum[r]);
    }
  }

  void keep_logarithms(Batch& here, V sum) const {
    if constexpr (!kKeeps) {
      const auto logarithm = TameSums::logarithm(sum);
      store(here.shift, logarithm.shift), store(here.other, logarithm.rest);
    }
  }

  void finish(Batch& here, V total) const {
    const V other = kKeeps ? splat<V>(alpha_) / total : V{packet::plog(total.value)};
    store(here.other, select(equal(total, total), other, splat<V>(std::numeric_limits<A>::quiet_NaN())));
  }

  // Rows whose sums are not tame get powers around their maxima.
  [[gnu::noinline]] void around_maxima(Batch& here, const T* x, Index now, Mask<A> tame, V raised) const {
    keep_logarithms(here, select(tame, raised, splat<V>(1)));
    const V other = load<V>(here.other);
    V sum[kRows];
    for (Index r = 0; r < kRows; ++r) {
      sum[r] = splat<V>(1);
      if (r >= now || (bits_of(tame) >> r & 1) != 0) continue;
      const T* const at = x + r * stride_;
      here.shift[r] = packet::predux_max(largest(at, n_, splat<V>(-kInfinity<V>)).value) * scale_;
      const Exponent<A> exponent(scale_, here.shift[r]);
      A* const kept = here.kept(r * pitch_);
      const auto power_of = [&](Index i, V element) {
        const V power = power_below_one(exponent(element));
        if constexpr (kKeeps) store(kept + i, power);
        return power;
      };
      const Index end = n_ - rest_;
      sum[r] = select(first_lanes<A>(rest_), power_of(end, load_elements(at + end, rest_)), splat<V>(0));
      for (Index i = 0; i < end; i += kWidth) sum[r] = sum[r] + power_of(i, load_elements(at + i));
    }
    const V total = select(tame, raised, across(sum, std::plus<>()));
    finish(here, total);
    if constexpr (!kKeeps) store(here.other, select(tame, other, load<V>(here.other)));
  }

  // What a row's elements become, of what is kept of them.
  struct Results {
    V other, alpha;
    Exponent<A> exponent;
    [[gnu::always_inline]] V operator()(const A* kept) const {
      if constexpr (kKeeps)
        return load<V>(kept) * other;
      else if constexpr (kRaises)
        return at_most_zero(exponent(load<V>(kept)) - other) * alpha;
      else
        return (load<V>(kept) - other) * alpha;
    }
  };
  [[gnu::always_inline]] Results results(const Batch& batch, Index r) const {
    return {splat<V>(batch.other[r]), splat<V>(alpha_), Exponent<A>(scale_, batch.shift[r])};
  }

  // The power of an element, of which is kept what its result is made of.
  template <bool kRaised>
  struct Powers {
    Exponent<A> exponent;
    RaisedPower raised;
    [[gnu::always_inline]] V operator()(V element, A* kept) const {
      if constexpr (kRaised) {
        const V power = raised(element);
        store(kept, kKeeps ? power : element);
        return power;
      } else {
        const V shifted = exponent(element), power = power_below_one(shifted);
        store(kept, kKeeps ? power : kRaises ? element : shifted);
        return power;
      }
    }
  };

  template <bool kAll, bool kRaised>
  [[gnu::always_inline]] void row(Batch& here, const Batch& there, Index r, const T* x, const T* next, Index ahead,
                                  V& most_of_row, V& sum_of_row) {
    const Powers<kRaised> powers = {Exponent<A>(scale_, kRaised ? A(0) : here.shift[r]),
                                    RaisedPower(splat<Lanes<float>>(static_cast<float>(scale_)))};
    A* const kept = here.kept(r * pitch_);
    const Results result = results(there, r);
    const A* const from = there.kept(r * pitch_ - filled_);
    V most = splat<V>(-kInfinity<V>), sum = splat<V>(0), line;
    const Index end = n_ - rest_;  // the last vector first, as short_rows.h: results have the same bits
    if constexpr (kAll) {
      if constexpr (!kRaises) most = select(first_lanes<A>(rest_), load_elements(next + end, rest_), most);
      ask_early(next + end + ahead);
    }
    sum = select(first_lanes<A>(rest_), powers(load_elements(x + end, rest_), kept + end), sum);
    if constexpr (kKeeps) store(kept + end, sum);
    if constexpr (kAll) line = select(first_lanes<A>(filled_), carry_, result(from));
    Index i = 0;
    for (; i < end; i += kWidth) {
      const V element = load_elements(x + i);
      if constexpr (kAll) {
        if constexpr (!kRaises) most = any_maximum(most, load_elements(next + i));
        ask_early(next + i + ahead);
        const V following = result(from + i + kWidth);
        if (i == 0 && line_ == first_line_) [[unlikely]]
          begin_lines(line);
        else
          put<kStreams>(line_ + i, line);
        line = following;
      }
      sum = sum + powers(element, kept + i);
    }
    if constexpr (kAll) {
      filled_ += rest_;
      if (filled_ >= kWidth) {
        put<kStreams>(line_ + i, line);
        i += kWidth, filled_ -= kWidth;
        line = result(from + i);
      }
      carry_ = line;
      line_ += i;
      most_of_row = most;
    }
    sum_of_row = sum;
  }

  [[gnu::noinline, gnu::flatten]] void write_row(const Batch& batch, Index r) {
    const Results result = results(batch, r);
    const A* const from = batch.kept(r * pitch_ - filled_);
    V line = select(first_lanes<A>(filled_), carry_, result(from));
    const Index lines = (filled_ + n_) / kWidth;
    for (Index l = 0; l < lines; ++l) {
      if (line_ == first_line_)
        begin_lines(line);
      else
        put<kStreams>(line_, line);
      line_ += kWidth;
      line = result(from + (l + 1) * kWidth);
    }
    carry_ = line;
    filled_ = static_cast<int>((filled_ + n_) % kWidth);
  }

  // The first line may begin with what is not ours.
  [[gnu::noinline]] void begin_lines(V line) {
    T all[kWidth];
    store_elements(all, line);
    std::copy(all + skipped_, all + kWidth, line_ + skipped_);
  }
  void flush() {
    T all[kWidth];
    store_elements(all, carry_);
    const int begin = line_ == first_line_ ? skipped_ : 0;
    std::copy(all + begin, all + std::max(begin, filled_), line_ + begin);
  }

  const Index n_, stride_;
  const int rest_;
  const Index pitch_;
  const A scale_, alpha_;
  const TameSums tame_;
  bool is_far_ = false;  ///< rows are expected to need their maxima, though others would not
  T *first_line_ = nullptr, *line_ = nullptr;
  int skipped_ = 0, filled_ = 0;  ///< lanes of a line that are not ours, that are made already
  V carry_ = splat<V>(0);
  int side_ = 0;
  Index at_once_ = kRows;
  Batch held_[2];
};

/// Whether rows of n elements, as many as `row` has, are softmaxes in batches.
template <class A>
bool are_batched_rows(const Axis& row, Index n) {
  constexpr Index kWidth = kLanes<LanesOf<A>>, kShort = kShortRowBytes / sizeof(A), kWorthwhile = 2 * kWidth;
  return n > kShort && n < kLongRow<A> && row.out == n && row.size >= kWorthwhile;
}

}  // namespace ndfold::simd
