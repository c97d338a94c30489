// Accumulators of lanes for elements that lie side by side. They stay in registers, for no index into them is known at
// run time only: filled and fetched in memory they cost 2^21 floats of the third cache 0.079 ms instead of 0.074.
#pragma once
#include "kernels/cpu/helped_reads.h"
#include "kernels/cpu/integers.h"
#include "kernels/cpu/quick_extremum.h"
#include "kernels/cpu/states.h"

#include <atomic>
#include <utility>

namespace ndfold::simd {

/// A fold around a pivot looks at elements for the second time.
template <class LaneFold>
inline constexpr bool kLooksAgain = requires(LaneFold fold) {
  fold.mean;
}
|| requires(LaneFold fold) { fold.pivot; };
template <class LaneFold>
inline constexpr Index kAheadOf = kLooksAgain<LaneFold> ? kAheadOfSecondLook : kAheadBytes;

/// A fold that asks where in its run an element lies.
template <class LaneFold>
concept AsksPlaces = requires(LaneFold fold) {
  fold.lanes;
};

/// Folds whose results are the same in any order of the elements.
template <class LaneFold>
inline constexpr bool kInAnyOrder = false;
template <class LaneFold>
inline constexpr bool kInAnyOrder<Nearest<LaneFold>> = true;

/// Folds that take elements as they lie: where nothing stands between a load and its use, both are one instruction.
/// Memory waits for instructions on a Zen 5, which has some hundred under way (sum of 64 MiB of f32, of which a stream
/// reads 61 GB/s: 56, 58 so; squares, whose elements are used twice, 55, 51 so).
template <class LaneFold>
inline constexpr bool kTakesAsLoaded = false;
template <class V>
inline constexpr bool kTakesAsLoaded<Sum<V>> = true;
template <class V>
inline constexpr bool kTakesAsLoaded<Mean<V>> = true;
template <class LaneFold>
inline constexpr bool kTakesAsLoaded<Nearest<LaneFold>> = true;

/// What sees elements go by: most folds need nothing of the kind.
struct NoWatch {
  template <class... V>
  [[gnu::always_inline]] void see(V...) {}
};

/// Whether any of them was NaN: two elements to a comparison, in the order in which they are given.
template <class V>
class NanWatch {
 public:
  [[gnu::always_inline]] void see(V a) { see(a, a); }
  template <class... Vs>
  [[gnu::always_inline]] void see(V a, V b, Vs... others) {
    found_ = either(found_, unordered(a, b));
    if constexpr (sizeof...(others) > 0) see(others...);
  }
  /// By their sum, as SumWatch.
  template <class... Vs>
  [[gnu::always_inline]] void see_sum(V a, V b, Vs... others) {
    see(sum(a, b, others...));
  }
  [[gnu::always_inline]] void see_sum(V a) { see(a); }

  Mask<ScalarOf<V>> found() const { return found_; }

 private:
  [[gnu::always_inline]] static V sum(V a, V b) { return a + b; }
  template <class... Vs>
  [[gnu::always_inline]] static V sum(V a, V b, V c, V d, Vs... others) {
    return (a + b) + sum(c, d, others...);
  }

  Mask<ScalarOf<V>> found_ = unordered(splat<V>(0), splat<V>(0));
};

/// The same by sums, of which infinities of both signs make a NaN, too. Where memory is waited for, comparisons hold it
/// up: their masks are few (max of 64 MiB of f32 on a Zen 5, of which a stream reads 58 GB/s: 53, 57 so; of columns 31
/// and 40). In a cache sums take longer.
template <class V>
class SumWatch {
  static constexpr int kSums = 4;

 public:
  [[gnu::always_inline]] SumWatch() {
    for (V& sum : sums_) sum = splat<V>(0);
  }
  template <class... Vs>
  [[gnu::always_inline]] void see(Vs... others) {
    int k = 0;
    ((sums_[k % kSums] = sums_[k % kSums] + others, ++k), ...);
  }
  template <class... Vs>
  [[gnu::always_inline]] void see_sum(Vs... others) {
    see(others...);
  }
  Mask<ScalarOf<V>> found() const {
    const V all = (sums_[0] + sums_[1]) + (sums_[2] + sums_[3]);
    return unordered(all, all);
  }

 private:
  V sums_[kSums];
};

/// kCount is 8, or 2 for runs of a few vectors. kInTurn: elements are loaded in memory's order. Left alone, the
/// compiler loads what is watched as it likes, which a Zen 4 takes for no stream where stretches are short: max of rows
/// of 512 f32 took 4.2 ms for 64 MiB, 2.0 in turn. Rows of 4096 are read no worse as the compiler likes.
template <class LaneFold, class Watch, int kCount = 8, bool kInTurn = false>
class Accumulators {
 public:
  using V = typename LaneFold::Value;
  using State = typename LaneFold::State;
  static constexpr int kWidth = kLanes<V>;

  [[gnu::always_inline]] explicit Accumulators(const LaneFold& fold, Watch& watch) : fold_(fold), watch_(watch) {
    fill(Groups<kCount>());
    if constexpr (AsksPlaces<LaneFold>) place_ = fold.lanes;
  }

  /// n elements. All lines that come are asked for, or none: a machine that guesses what comes next is misled by gaps.
  /// Each accumulator gets at most one end.
  template <class T>
  [[gnu::always_inline]] void add(const T* x, Index n, Help help) {
    if constexpr (kCount == 2)
      for (; n >= 4 * kWidth; x += 4 * kWidth, n -= 4 * kWidth) add<0>(x, help, Groups<4>());
    for (; n >= kCount * kWidth; x += kCount * kWidth, n -= kCount * kWidth) add_to_all(x, help);
    if constexpr (kCount == 8) {
      if (n >= 4 * kWidth) add<0>(x, help, Groups<4>()), x += 4 * kWidth, n -= 4 * kWidth;
      if (n >= 2 * kWidth) add<4>(x, help, Groups<2>()), x += 2 * kWidth, n -= 2 * kWidth;
    }
    if (n >= kWidth) add<kCount - 2>(x, help, Groups<1>()), x += kWidth, n -= kWidth;
    if (n > 0) add_first<kCount - 1>(x, static_cast<int>(n), help);
  }

  /// The same, first those before a line of memory begins: vectors that lie in two lines come later than their
  /// neighbours and look like no stream.
  template <class T>
  [[gnu::always_inline]] void add_aligned(const T* x, Index n, Help help) {
    const auto before = static_cast<Index>(-reinterpret_cast<std::uintptr_t>(x) % (kWidth * sizeof(T)) / sizeof(T));
    if (before > 0 && n >= kCount * kWidth) {
      add_first<kCount - 1>(x, static_cast<int>(before), help);
      x += before, n -= before;
    }
    add(x, n, help);
  }

  /// All of them together, pairwise.
  [[gnu::always_inline]] State total() const {
    if constexpr (kCount == 2) return together(0, 1);
    const State a = together(0, 4), b = together(1, 5), c = together(2, 6), d = together(3, 7);
    return fold_.combine(fold_.combine(a, c), fold_.combine(b, d));
  }

 private:
  template <int kMany>
  using Groups = std::make_integer_sequence<int, kMany>;

  /// Sixteen registers hold no eight accumulators, eight elements and a watch: four elements at a time spill nothing
  /// (max of [64,1024] f32 on a Zen 3, in cache: 3.5 us, 2.85 by halves).
  static constexpr bool kByHalves = kCount == 8 && kRegisterBytes < 64 && !std::is_same_v<Watch, NoWatch>;

  template <class T>
  [[gnu::always_inline]] void add_to_all(const T* x, Help help) {
    if constexpr (kByHalves)
      add<0>(x, help, Groups<4>()), add<4>(x + 4 * kWidth, help, Groups<4>());
    else
      add<0>(x, help, Groups<kCount>());
  }

  template <int... K>
  [[gnu::always_inline]] void fill(std::integer_sequence<int, K...>) {
    ((sums_[K] = fold_.identity()), ...);
  }

  template <class T>
  [[gnu::always_inline]] static V in_its_turn(const T* x) {
    const V here = load<V>(x);
    if constexpr (kInTurn) std::atomic_signal_fence(std::memory_order_seq_cst);
    return here;
  }

  template <int kFirst, class T, int... K>
  [[gnu::always_inline]] void add(const T* x, Help help, std::integer_sequence<int, K...>) {
    const V here[] = {in_its_turn(x + K * kWidth)...};
    if constexpr (!kTakesAsLoaded<LaneFold>) help_with<K...>(x, help);
    watch_.see(here[K]...);
    ((sums_[(kFirst + K) % kCount] = take(sums_[(kFirst + K) % kCount], here[K])), ...);
    if constexpr (kTakesAsLoaded<LaneFold>) help_with<K...>(x, help);
  }

  template <int... K, class T>
  [[gnu::always_inline]] static void help_with(const T* x, Help help) {
    if (help.ahead != 0) (__builtin_prefetch(x + help.ahead + K * kWidth), ...);
    if constexpr (kHasLines && kWidth * sizeof(T) == 64)
      if (help.again) (look_again(x + K * kWidth), ...);
  }

  [[gnu::always_inline]] State take(State sum, V here) {
    if constexpr (AsksPlaces<LaneFold>) {
      const V place = place_;
      place_ = place + splat<V>(static_cast<ScalarOf<V>>(kWidth));
      return fold_.combine_in_order(sum, fold_.map_at(here, place));
    } else {
      return fold_.combine(sum, fold_.map(here, 0));
    }
  }

  template <int kTo, class T>
  [[gnu::always_inline]] void add_first(const T* x, int count, Help help) {
    if (help.ahead != 0) __builtin_prefetch(x + help.ahead);
    const V here = load_first(x, count);
    watch_.see(here);
    const auto in_run = first_lanes<ScalarOf<V>>(count);
    if constexpr (AsksPlaces<LaneFold>)
      sums_[kTo] = select_state(in_run, take(sums_[kTo], here), sums_[kTo]);
    else
      sums_[kTo] = fold_.combine(sums_[kTo], select_state(in_run, fold_.map(here, 0), fold_.identity()));
  }

  [[gnu::always_inline]] State together(int a, int b) const { return fold_.combine(sums_[a], sums_[b]); }

  LaneFold fold_;
  Watch& watch_;
  State sums_[kCount];
  V place_;  // of the next vector's lanes
};

}  // namespace ndfold::simd
