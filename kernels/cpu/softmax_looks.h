// The three looks of a softmax at a dense run: its maximum, its powers with their sum, its results. One loop takes each
// at a row of its own, so that a core loads, computes and stores at the same time.
#pragma once
#include "kernels/cpu/elements.h"
#include "kernels/cpu/normalize.h"
#include "kernels/cpu/raised_power.h"

namespace ndfold::simd {

/// Vectors that a turn of a loop takes, each with an accumulator of its own.
inline constexpr int kAbreast = 4;
template <class A>
inline constexpr Index kTurn = kAbreast* kLanes<LanesOf<A>>;

/// Rows of no more numbers than this many bytes share vectors or lanes (packed_softmax.h, short_rows.h), longer ones
/// are taken in batches (batched_softmax.h).
inline constexpr Index kShortRowBytes = 256;

/// Elements whose powers are summed before the tree takes over: 16 additions deep.
template <class A>
inline constexpr Index kPowerLeaf = 16 * kTurn<A>;

/// scale · x - shift. Rounded twice, as shifts are that are maxima: once would leave of huge numbers what their
/// products were rounded by, -1e30 · 0.1 some 5e21.
template <class A>
struct Exponent {
  using V = LanesOf<A>;
  V scale, minus_shift;
  Exponent(A by, A shift) : scale(splat<V>(by)), minus_shift(splat<V>(-shift)) {}
  [[gnu::always_inline]] V operator()(V x) const { return x * scale + minus_shift; }
};

/// A row whose sum is NaN becomes one NaN everywhere: which of several an instruction passes on, compilers decide.
template <class A>
class Ordered {
  using V = LanesOf<A>;

 public:
  explicit Ordered(const Normalizer<A>& by) {
    const V both = splat<V>(by.rest + by.factor);
    is_ordered_ = equal(both, both);
  }
  [[gnu::always_inline]] V operator()(V result) const {
    return select(is_ordered_, result, splat<V>(std::numeric_limits<A>::quiet_NaN()));
  }

 private:
  Mask<A> is_ordered_;
};

/// What a row's elements become: of their powers (softmax), or of themselves (log_softmax).
template <MapKind kMap, class A>
struct Result {
  using V = LanesOf<A>;
  Exponent<A> exponent;
  V rest, factor;
  Ordered<A> ordered;
  Result(A scale, const Normalizer<A>& by)
      : exponent(scale, by.shift), rest(splat<V>(by.rest)), factor(splat<V>(by.factor)), ordered(by) {}
  [[gnu::always_inline]] V operator()(V x) const {
    if constexpr (kMap == MapKind::softmax)
      return ordered(x * factor);
    else
      return ordered(at_most_zero(exponent(x) - rest) * factor);
  }
};

/// The same from elements alone: powers are made again.
template <class A>
struct ResultAgain {
  using V = LanesOf<A>;
  Exponent<A> exponent;
  V most, factor;
  Ordered<A> ordered;
  ResultAgain(A scale, const Normalizer<A>& by)
      : exponent(scale, by.shift), most(splat<V>(by.rest)), factor(splat<V>(by.factor)), ordered(by) {}
  [[gnu::always_inline]] V operator()(V x) const {
    return ordered(at_most(power_below_one(exponent(x)) * factor, most));
  }
};

/// The same from powers that are raised again, once it is known that their sum is tame.
template <class Power>
struct RaisedResultAgain {
  using V = Lanes<float>;
  Power power_of;
  V most, factor;
  RaisedResultAgain(const Power& power, double alpha, double by)
      : power_of(power), most(splat<V>(most_of_softmax<float>(alpha))), factor(splat<V>(static_cast<float>(by))) {}
  [[gnu::always_inline]] V operator()(V x) const { return at_most(power_of(x) * factor, most); }
};

/// For a fold, which has none.
struct NoResult {};

/// The power of an element around the maximum of its row, which had to be found before.
template <class A>
struct PowerAroundMaximum {
  using V = LanesOf<A>;
  Exponent<A> exponent;
  PowerAroundMaximum(A scale, A max) : exponent(scale, max) {}
  [[gnu::always_inline]] V operator()(V x) const { return power_below_one(exponent(x)); }
};
template <class Power>
inline constexpr bool kNeedsMaximum = requires(Power power) {
  power.exponent;
};

/// Sums of the powers of a piece: vector i of it adds to sum i % kAbreast, whoever makes it, so that a sum's rounding
/// does not depend on how looks share a piece.
template <class V>
struct PowerSums {
  V sums[kAbreast] = {splat<V>(0), splat<V>(0), splat<V>(0), splat<V>(0)};
  V total() const { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }
};

/// The largest of some elements and `most`; a NaN may be lost, the sum of powers brings it back.
template <class T, class V>
[[gnu::noinline, gnu::flatten]] V largest(const T* x, Index n, V most) {
  using A = NumberOf<T>;
  constexpr int kWidth = kLanes<V>;
  V all[kAbreast] = {most, most, most, most};
  Index i = 0;
  for (; i + kTurn<A> <= n; i += kTurn<A>)
    for (int k = 0; k < kAbreast; ++k) all[k] = any_maximum(all[k], load_elements(x + i + k * kWidth));
  most = any_maximum(any_maximum(all[0], all[1]), any_maximum(all[2], all[3]));
  for (; i + kWidth <= n; i += kWidth) most = any_maximum(most, load_elements(x + i));
  if (i == n) return most;
  const int rest = static_cast<int>(n - i);
  return any_maximum(most, select(first_lanes<A>(rest), load_elements(x + i, rest), most));
}

/// Adds the powers of n elements; what is kept goes to `powers`.
template <Kept kKept, class T, class Power, class A = NumberOf<T>>
[[gnu::noinline, gnu::flatten]] void add_powers(const T* x, A* powers, Index n, const Power power_of,
                                                PowerSums<LanesOf<A>>& to) {
  using V = LanesOf<A>;
  constexpr int kWidth = kLanes<V>;
  PowerSums<V> total = to;
  Index i = 0;
  for (; i + kTurn<A> <= n; i += kTurn<A>)
    for (int k = 0; k < kAbreast; ++k) {
      const V here = load_elements(x + i + k * kWidth), power = power_of(here);
      if constexpr (kKept != Kept::nothing) store(powers + i + k * kWidth, kKept == Kept::powers ? power : here);
      total.sums[k] = total.sums[k] + power;
    }
  to = total;
  for (int k = 0; i < n; i += kWidth, ++k) {
    const int rest = static_cast<int>(std::min<Index>(n - i, kWidth));
    const V here = load_elements(x + i, rest), power = select(first_lanes<A>(rest), power_of(here), splat<V>(0));
    if constexpr (kKept != Kept::nothing) store_first(powers + i, kKept == Kept::powers ? power : here, rest);
    to.sums[k] = to.sums[k] + power;
  }
}

/// Elements before the first whose address is a whole number of lanes.
template <class T>
Index unaligned_elements(const T* to) {
  constexpr std::uintptr_t kBytes = sizeof(T) * kLanes<LanesOf<NumberOf<T>>>;
  return static_cast<Index>((kBytes - reinterpret_cast<std::uintptr_t>(to) % kBytes) % kBytes / sizeof(T));
}

/// to[i] = result(x[i]). Streamed, `to` is aligned.
template <bool kStreams, class X, class T, class R>
[[gnu::noinline, gnu::flatten]] void write_results(const X* x, T* to, Index n, const R result) {
  constexpr int kWidth = kLanes<LanesOf<NumberOf<T>>>;
  Index i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    LanesOf<NumberOf<T>> two[2];
    load_two(x + i, two);
    put_two<kStreams>(to + i, result(two[0]), result(two[1]));
  }
  for (; i + kWidth <= n; i += kWidth) put<kStreams>(to + i, result(load_elements(x + i)));
  const int rest = static_cast<int>(n - i);
  if (rest > 0) store_elements(to + i, result(load_elements(x + i, rest)), rest);
}

/// How much earlier than they are looked at elements are asked for, some 300 ns: the hardware alone asks too late.
template <class T>
Index ahead_elements() {
  return (kAsksAhead ? kAheadBytes : 2 * kAheadBytes) / static_cast<Index>(sizeof(T));
}

/// The same, or up to a page more: half a page from where results are written meanwhile. Memory takes what is read and
/// what is written at the same place of a page in turns (rows of 1024 f32 on a Zen 4: 5.2 ms, half a page apart 3.9).
template <class T>
Index ahead_of_writes(const T* x, const void* y, Index ahead = ahead_elements<T>()) {
  constexpr std::uintptr_t kPage = 4096, kLine = 64;
  if (kAsksAhead) return ahead;
  const auto apart = reinterpret_cast<std::uintptr_t>(x + ahead) - reinterpret_cast<std::uintptr_t>(y);
  return ahead + static_cast<Index>((kPage / 2 - apart) % kPage / kLine * kLine / sizeof(T));
}

/// How many parts of `elements` each, at most `most`, to read from x on while results of as many before go to y; also
/// the ones after them, if one looks ahead. A load waits for a store under way to the same place of another page: rows
/// of 65 f32 64 to 600 bytes behind their results took 1.1 to 1.4 times as long on a Zen 4, of 33 up to 1.6 times.
template <class T>
Index parts_at_once(Index most, Index elements, const T* x, const T* y, bool looks_ahead) {
  constexpr std::uintptr_t kPage = 4096, kUnderWay = 640;
  const auto waits = [&](Index parts) {
    return (reinterpret_cast<std::uintptr_t>(x + parts * elements) - reinterpret_cast<std::uintptr_t>(y)) % kPage >=
           kPage - kUnderWay;
  };
  for (Index parts = most; parts >= (most + 1) / 2; --parts)
    if (!waits(parts) && !(looks_ahead && waits(2 * parts))) return parts;
  return most;
}

/// Asks for a line. A machine that knows by itself what comes next needs it in its second cache, for the first is small
/// beside rows that wait ([4096,4096] f32 on a Zen 4: 10 GB/s from the first, 14.6 so; [131072,128]: 8 and 12).
[[gnu::always_inline]] inline void ask_early(const void* line) {  // or GCC takes it for pure, and drops it
  if (kAsksAhead)
    __builtin_prefetch(line);
  else
    __builtin_prefetch(line, 0, 2);
}

/// Asks for what the turns of a loop leave over: n elements from x on. Rows of 1000 f32 waited for theirs (6.2
/// ms; 4.3).
template <class T>
[[gnu::always_inline]] inline void ask_for_rest(const T* x, Index n) {
  for (Index i = 0; i < n; i += 64 / static_cast<Index>(sizeof(T))) ask_early(x + i);
}

/// The three looks, `turns` times kTurn elements: the largest of `next` and `most`, where powers need it, while `ahead`
/// is asked for, the powers of `current` added to `total`, and to[i] = result(from[i]). `from` may be powers as far as
/// they are not made yet. Loads go first: behind a store to the same place of another page they wait (rows of 4096 on a
/// Zen 4: 10 to 17 GB/s).
template <Kept kKept, bool kStreams, class T, class X, class R, class Power, class A = NumberOf<T>>
[[gnu::noinline, gnu::flatten]] LanesOf<A> three_looks(Index turns, const T* next, const T* ahead, LanesOf<A> most,
                                                       const T* current, A* powers, const Power& by,
                                                       PowerSums<LanesOf<A>>& total, const X* from, T* to,
                                                       const R& with) {
  using V = LanesOf<A>;
  constexpr int kWidth = kLanes<V>;
  const Power power_of = by;
  const R result = with;
  PowerSums<V> sum = total;
  V other = most;
  for (; turns > 0; --turns) {
    V here[kAbreast];
    for (int k = 0; k < kAbreast; k += 2) load_two(current + k * kWidth, here + k);
    if constexpr (kNeedsMaximum<Power>)
      for (int k = 0; k < kAbreast; k += 2) {
        most = any_maximum(most, load_elements(next + k * kWidth));
        other = any_maximum(other, load_elements(next + (k + 1) * kWidth));
      }
    for (int line = 0; line < kTurn<A> * static_cast<int>(sizeof(T)); line += 64)
      ask_early(reinterpret_cast<const char*>(ahead) + line);
    if constexpr (!std::is_same_v<R, NoResult>) {
      V results[kAbreast];
      for (int k = 0; k < kAbreast; k += 2) load_two(from + k * kWidth, results + k);
      for (int k = 0; k < kAbreast; ++k) results[k] = result(results[k]);
      for (int k = 0; k < kAbreast; k += 2) put_two<kStreams>(to + k * kWidth, results[k], results[k + 1]);
    }
    for (int k = 0; k < kAbreast; ++k) {
      const V power = power_of(here[k]);
      if constexpr (kKept != Kept::nothing) store(powers + k * kWidth, kKept == Kept::powers ? power : here[k]);
      sum.sums[k] = sum.sums[k] + power;
    }
    if constexpr (kNeedsMaximum<Power>) next += kTurn<A>;
    ahead += kTurn<A>, current += kTurn<A>;
    if constexpr (kKept != Kept::nothing) powers += kTurn<A>;
    if constexpr (!std::is_same_v<R, NoResult>) from += kTurn<A>, to += kTurn<A>;
  }
  total = sum;
  return any_maximum(most, other);
}

/// The first two of them, for a fold.
template <class T, class A = NumberOf<T>>
LanesOf<A> two_looks(Index turns, const T* next, LanesOf<A> most, const T* current, const PowerAroundMaximum<A>& by,
                     PowerSums<LanesOf<A>>& total) {
  return three_looks<Kept::nothing, false, T, T>(turns, next, next + ahead_elements<T>(), most, current,
                                                 static_cast<A*>(nullptr), by, total, static_cast<const T*>(nullptr),
                                                 static_cast<T*>(nullptr), NoResult());
}

}  // namespace ndfold::simd
