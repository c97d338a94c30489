// Softmax of rows that lie one behind the other and are too short to fill a core alone: powers and results are made in
// whole vectors, whichever rows share them. Rows come apart only where they are folded, as many at a time as there are
// lanes. While powers of some rows are made, results of those before are written. Powers are raised where they can be.
#pragma once
#include "kernels/cpu/across.h"
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/slots.h"
#include "kernels/cpu/softmax_looks.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/streamed_line.h"

namespace ndfold::simd {

/// Of the longest rows that have tables of their lanes' rows, and of the longest that are taken so.
inline constexpr int kVectorsOfTables = 4;
template <class V>
inline constexpr int kPackedVectors = std::max<int>(kVectorsOfTables, kShortRowBytes / sizeof(V));

/// A group is as many rows as there are lanes, so it has as many vectors as a row has elements. To be folded, rows come
/// in slots of kSlots lanes; where those are whole vectors, in kVectors of them, or 0: as many as n needs.
template <class T, MapKind kMap, int kSlots, int kVectors>
requires kExpandsLanes<NumberOf<T>>
class PackedSoftmax {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  static constexpr int kWidth = kLanes<V>, kRuns = kWidth / kSlots;
  static constexpr bool kKeeps = kMap == MapKind::softmax, kLooksUp = kVectors > 0;
  static constexpr bool kRaises = kRaisesPowers<A>;           // else around maxima
  static constexpr bool kHasManyRegisters = sizeof(V) == 64;  // AVX-512's: for all that a logarithm's results need, too
  static constexpr Index kTurnElements = 8192 / static_cast<Index>(sizeof(A));  // in L1 with all that belongs to them

 public:
  static constexpr Index kLongest = kWidth * (kLooksUp ? kVectors : kPackedVectors<V>);

  PackedSoftmax(Index n, double scale, double alpha, bool past_caches)
      : n_(n),
        full_((n - 1) / kWidth),
        rest_(static_cast<int>(n - full_ * kWidth)),
        scale_(splat<V>(static_cast<A>(scale))),
        alpha_(splat<V>(static_cast<A>(alpha))),
        tame_(alpha),
        filled_(filled_slots<kSlots, A>(static_cast<int>(std::min<Index>(n, kSlots)))),
        past_caches_(past_caches) {
    if constexpr (kLooksUp) {
      for (Index l = 0; l < kWidth; ++l)
        to_slots_[l] = static_cast<LaneNumber<A>>(l / kSlots * n + std::min(l % kSlots, n - 1));
      for (Index row = 0, i = 0; row < kWidth; ++row)
        for (const Index end = i + n; i < end; ++i) row_of_[i] = static_cast<LaneNumber<A>>(row);
    }
  }

  /// take(logarithms of the sums of some rows' powers, how many), row after row.
  template <class Take>
  requires kRaises void logarithms(const T* x, Index rows, const Take& take) {
    const Index most = std::max<Index>(1, kTurnElements / group()) * kWidth;
    for (Index some; rows >= kWidth; x += some * n_, rows -= some) {
      some = std::min(most, rows / kWidth * kWidth);
      take(logarithms({x, nullptr, some / kWidth, 0}), some);
    }
    alignas(64) T last[kLongest * kWidth];
    if (rows > 0) take(logarithms(filled_up(x, rows, last)), rows);
  }

  /// Rows from `x` to `y`, in whole lines past the caches if so said.
  void map(const T* x, T* y, Index rows) {
    const Index most = kWidth * parts_at_once(std::max<Index>(1, kTurnElements / group()), group(), x, y, false);
    for (Index some; rows >= kWidth; x += some * n_, y += some * n_, rows -= some) {
      some = std::min(most, rows / kWidth * kWidth);
      turn({x, y, some / kWidth, some * n_});
    }
    alignas(64) T last[kLongest * kWidth];
    if (rows > 0) {
      Turn rest = filled_up(x, rows, last);
      rest.y = y;
      turn(rest);
    }
    finish(0);
    if (past_caches_) line_.flush(), finish_streaming();
  }

 private:
  static constexpr Index kMostRows = kTurnElements / (kLooksUp ? 2 : kVectorsOfTables * kWidth);

  /// Groups of rows from x on, whose first `count` results go to y.
  struct Turn {
    const T* x = nullptr;
    T* y = nullptr;
    Index groups = 0, count = 0;
  };

  /// What belongs to a turn until its results are written: powers, or results that wait for a line to begin; what each
  /// row is shifted by, and multiplied with (softmax) or shifted by once more.
  struct Held {
    alignas(64) A powers[kTurnElements + kLongest * kWidth];
    alignas(64) A minus_shift[kMostRows], other[kMostRows];
  };

  Index group() const { return n_ * kWidth; }

  // Fewer rows than a group has, and what is nobody's.
  Turn filled_up(const T* x, Index rows, T* group_of) const {
    std::fill(std::copy(x, x + rows * n_, group_of), group_of + group(), T());
    return {group_of, nullptr, 1, rows * n_};
  }

  A* logarithms(const Turn& now) {
    Held& held = held_[0];
    make_powers<true>(now, held, Nothing());
    find_sums(now, held);
    for (Index r = 0; r < now.groups * kWidth; r += kWidth)
      store(held.other + r, load<V>(held.other + r) - load<V>(held.minus_shift + r));
    return held.other;
  }

  // Results go to where they belong as they are made.
  bool goes_straight(const Turn& turn) const {
    return turn.count == turn.groups * group() && (!past_caches_ || unaligned_elements(turn.y) == 0);
  }

  // What is done beside the powers of a vector, with what belongs to its rows: nothing; whole lines of what waits are
  // streamed; results of the turn before are written.
  struct Nothing {
    static constexpr int kOfRows = 0;
    [[gnu::always_inline]] void find_rows(const A**) const {}
    [[gnu::always_inline]] void operator()(Index, const V*) const {}
  };
  struct Lines {
    static constexpr int kOfRows = 0;
    const A* from = nullptr;
    T* to = nullptr;
    Index count = 0;
    [[gnu::always_inline]] void find_rows(const A**) const {}
    [[gnu::always_inline]] void operator()(Index i, const V*) const {
      if (i < count) put<true>(to + i * kWidth, load<V>(from + i * kWidth));
    }
  };
  template <bool kStreams, class To>
  struct Results {
    static constexpr int kOfRows = kKeeps ? 1 : 2;
    const Held& held;
    const T* x;
    To* to;
    V scale, alpha;
    [[gnu::always_inline]] void find_rows(const A** rows) const {
      rows[0] = held.other;
      if constexpr (!kKeeps) rows[1] = held.minus_shift;
    }
    [[gnu::always_inline]] void operator()(Index i, const V* mine) const {
      if constexpr (kKeeps)
        put<kStreams>(to + i * kWidth, mine[0] * load<V>(held.powers + i * kWidth));
      else
        put<kStreams>(to + i * kWidth, at_most_zero(load_elements(x + i * kWidth) * scale + mine[1] - mine[0]) * alpha);
    }
  };
  template <bool kStreams>
  Results<kStreams, T> results_before() const {
    return {held_[side_ ^ 1], before_.x, before_.y, scale_, alpha_};
  }

  void turn(const Turn& now) {
    Held& held = held_[side_];
    if (is_far_) {
      find_maxima(now, held);
      turn<false>(now, held);
      is_far_ = find_sums_around_maxima(now, held);
      if constexpr (kRaises)
        if (!is_far_) make_powers<true>(now, held, Nothing()), is_far_ = find_sums(now, held);
    } else if constexpr (kRaises) {
      turn<true>(now, held);
      is_far_ = find_sums(now, held);
    }
    if (!goes_straight(now)) hold_results(now, held);
    before_ = now;
    side_ ^= 1;
  }

  // Powers of this turn, raised or around maxima, beside the results of the one before.
  template <bool kRaised>
  void turn(const Turn& now, Held& held) {
    const Index together = kHasManyRegisters || kKeeps ? std::min(now.groups, before_.groups) : 0;
    if (together == 0)
      make_powers<kRaised>(now, held, Nothing());
    else if (!goes_straight(before_))
      make_powers<kRaised>(now, held, waiting_);
    else if (past_caches_)
      make_powers<kRaised>(now, held, results_before<true>());
    else
      make_powers<kRaised>(now, held, results_before<false>());
    finish(together);
  }

  // Results of the turn before, of groups from `first` on.
  void finish(Index first) {
    if (first == before_.groups) return;
    if (goes_straight(before_))
      past_caches_ ? write(results_before<true>(), first, before_.groups)
                   : write(results_before<false>(), first, before_.groups);
    else if (past_caches_)
      for (Index i = first * n_; i < waiting_.count; ++i) waiting_(i, nullptr);
    else
      write_results<false>(held_[side_ ^ 1].powers, before_.y, before_.count, std::identity());
  }

  // Results take the places of powers. Of those that pass the caches whole lines wait; the ends are seen to.
  void hold_results(const Turn& now, Held& held) {
    write(Results<false, A>{held, now.x, held.powers, scale_, alpha_}, 0, now.groups);
    if (!past_caches_) return;
    const A* const from = held.powers;
    const Index head = line_.begin(now.y, now.count), end = now.count - (now.count - head) % kWidth;
    write_results<false>(from, line_.next(), head, std::identity());
    line_.add(head);
    waiting_ = {from + head, now.y + head, (end - head) / kWidth};
    if (end == now.count) return;
    line_.end(now.y + end);
    write_results<false>(from + end, line_.next(), now.count - end, std::identity());
    line_.add(now.count - end);
  }

  [[gnu::noinline, gnu::flatten]] void find_maxima(const Turn& now, Held& held) const {
    const T* x = now.x;
    for (Index g = 0; g < now.groups; ++g, x += group())
      store(held.minus_shift + g * kWidth, splat<V>(0) - of_each_row(x, Larger()) * scale_);
  }

  // Whether no row may have a tame sum: then it is better to look for maxima at once.
  [[gnu::noinline, gnu::flatten]] bool find_sums_around_maxima(const Turn& now, Held& held) const {
    const A* powers = held.powers;
    bool none = true;
    for (Index g = 0; g < now.groups; ++g, powers += group()) {
      const V sum = of_each_row(powers, std::plus<>());
      if constexpr (kRaises)
        none = none && !any(tame_.may_hold(splat<V>(0) - load<V>(held.minus_shift + g * kWidth), sum));
      const V other = kKeeps ? alpha_ / sum : V{packet::plog(sum.value)};
      store(held.other + g * kWidth, select(equal(sum, sum), other, splat<V>(std::numeric_limits<A>::quiet_NaN())));
    }
    return none;
  }

  // Whether no row had one.
  [[gnu::noinline, gnu::flatten]] bool find_sums(const Turn& now, Held& held) const {
    const A* powers = held.powers;
    bool none = true;
    for (Index g = 0; g < now.groups; ++g, powers += group()) {
      const V sum = of_each_row(powers, std::plus<>());
      const Mask<A> tame = tame_(sum);
      none = none && !any(tame);
      keep_logarithms(held, g, sum);
      if constexpr (kKeeps) store(held.other + g * kWidth, alpha_ / sum);
      if (!are_all(tame)) [[unlikely]]
        around_maxima(now.x + g * group(), held, g, tame, sum);
    }
    return none;
  }

  void keep_logarithms(Held& held, Index g, V sum) const {
    if constexpr (kKeeps) return;
    const auto logarithm = TameSums::logarithm(sum);
    store(held.minus_shift + g * kWidth, splat<V>(0) - logarithm.shift);
    store(held.other + g * kWidth, logarithm.rest);
  }

  // The rows of a group whose sums are not tame get powers around their maxima.
  [[gnu::noinline, gnu::flatten]] void around_maxima(const T* x, Held& held, Index g, Mask<A> tame, V raised) const {
    keep_logarithms(held, g, select(tame, raised, splat<V>(1)));
    const V minus_shift = splat<V>(0) - of_each_row(x, Larger()) * scale_;
    store(held.minus_shift + g * kWidth, select(tame, load<V>(held.minus_shift + g * kWidth), minus_shift));
    A is_tame[kWidth];
    store(is_tame, select(tame, splat<V>(1), splat<V>(0)));
    A* const powers = held.powers + g * group();
    const A* rows[] = {held.minus_shift + g * kWidth, is_tame};
    each_vector<2>(rows, 0, 1, [&](Index i, const V* mine) {
      const V power = power_below_one(load_elements(x + i * kWidth) * scale_ + mine[0]);
      store(powers + i * kWidth, select(equal(mine[1], splat<V>(1)), load<V>(powers + i * kWidth), power));
    });
    const V sum = of_each_row(powers, std::plus<>());
    const V other = kKeeps ? alpha_ / sum : select(tame, load<V>(held.other + g * kWidth), V{packet::plog(sum.value)});
    store(held.other + g * kWidth, select(equal(sum, sum), other, splat<V>(std::numeric_limits<A>::quiet_NaN())));
  }

  template <bool kRaised, class Beside>
  [[gnu::noinline, gnu::flatten]] void make_powers(const Turn& now, Held& held, const Beside beside) const {
    const V scale = scale_;
    const T* const x = now.x;
    A* const powers = held.powers;
    const Index ahead = ahead_of_writes(x, before_.y, now.groups * group() + ahead_elements<T>() / 4);
    if constexpr (kRaised) {
      const RaisedPower raised(scale);
      const A* rows[Beside::kOfRows + 1];
      beside.find_rows(rows);
      each_vector<Beside::kOfRows>(rows, 0, now.groups, [&](Index i, const V* mine) {
        prefetch_far(reinterpret_cast<const std::byte*>(x + ahead + i * kWidth));
        const V power = raised(load_elements(x + i * kWidth));
        beside(i, mine);
        store(powers + i * kWidth, power);
      });
      return;
    }
    const A* rows[1 + Beside::kOfRows] = {held.minus_shift};
    beside.find_rows(rows + 1);
    each_vector<1 + Beside::kOfRows>(rows, 0, now.groups, [&](Index i, const V* mine) {
      prefetch_far(reinterpret_cast<const std::byte*>(x + ahead + i * kWidth));
      const V power = power_below_one(load_elements(x + i * kWidth) * scale + mine[0]);
      beside(i, mine + 1);
      store(powers + i * kWidth, power);
    });
  }

  template <class Results>
  [[gnu::noinline, gnu::flatten]] void write(const Results results, Index first, Index last) const {
    const A* rows[Results::kOfRows];
    results.find_rows(rows);
    each_vector<Results::kOfRows>(rows, first, last, results);
  }

  /// work(i, what belongs to the rows of each of its lanes) for each vector of groups [first, last).
  template <int kCount, class Work>
  [[gnu::always_inline]] void each_vector(const A* const* rows, Index first, Index last, const Work& work) const {
    const Index n = n_;
    if constexpr (kCount == 0) {
      for (Index i = first * n; i < last * n; ++i) work(i, nullptr);
      return;
    }
    V here[kCount + 1], mine[kCount + 1];
    for (Index g = first; g < last; ++g) {
      Index i = g * n;
      if constexpr (kLooksUp) {
        const auto* row_of = row_of_;
        for (int k = 0; k < kCount; ++k) here[k] = load<V>(rows[k] + g * kWidth);
        for (const Index end = i + n; i < end; ++i, row_of += kWidth) {
          for (int k = 0; k < kCount; ++k) mine[k] = permuted(here[k], row_of);
          work(i, mine);
        }
      } else {
        Index end = i * kWidth;  // elements
        for (Index row = g * kWidth; row < (g + 1) * kWidth; ++row) {
          end += n;
          for (int k = 0; k < kCount; ++k) here[k] = splat<V>(rows[k][row]);
          for (; (i + 1) * kWidth <= end; ++i) work(i, here);
          const int rest = static_cast<int>(end - i * kWidth);
          if (rest == 0) continue;
          for (int k = 0; k < kCount; ++k) mine[k] = select(first_lanes<A>(rest), here[k], splat<V>(rows[k][row + 1]));
          work(i++, mine);
        }
      }
    }
  }

  /// Lane i is what op makes of the elements of row i.
  template <class X, class Op>
  [[gnu::always_inline]] V of_each_row(const X* x, const Op& op) const {
    constexpr bool kIsMax = std::is_same_v<Op, Larger>;
    const Index full = kLooksUp ? kVectors - 1 : full_;
    if constexpr (kSlots < kWidth) {
      V some[kSlots];
      unrolled<kSlots>([&](auto i) {
        const X* at = x + i * kRuns * n_;
        const V rows = i + 1 < kSlots ? load_elements(at) : load_elements(at, static_cast<int>(kRuns * n_));
        some[i] = permuted(rows, to_slots_);  // the last of a row again and again
        if constexpr (!kIsMax) some[i] = select(filled_, some[i], splat<V>(0));
      });
      return shuffled(fold_sections<kSlots>(Combining<V, Op>{op}, some), V(), InOrder<kSlots, kWidth>());
    } else {
      V some[kWidth];
      for (Index r = 0; r < kWidth; ++r, x += n_) {
        if constexpr (kIsMax && kVectors != 1)
          some[r] = load_elements(x + n_ - kWidth);
        else
          some[r] = select(first_lanes<A>(rest_), load_elements(x + full * kWidth, rest_),
                           splat<V>(kIsMax ? -kInfinity<V> : A(0)));
        for (Index k = 0; k < full; ++k) some[r] = op(some[r], load_elements(x + k * kWidth));
      }
      return across(some, op);
    }
  }

  const Index n_, full_;
  const int rest_;
  const V scale_, alpha_;
  const TameSums tame_;
  const Mask<A> filled_;
  const bool past_caches_;
  Turn before_;
  Lines waiting_;
  bool is_far_ = !kRaises;  ///< rows are expected to need their maxima
  int side_ = 0;
  StreamedLine<T> line_;
  alignas(64) LaneNumber<A> to_slots_[kLooksUp ? kWidth : 1], row_of_[kLooksUp ? kLongest * kWidth : 1];
  Held held_[2];
};

}  // namespace ndfold::simd
