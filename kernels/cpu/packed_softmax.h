// Softmax of short rows that lie one behind the other: powers and results are made in whole vectors, whichever rows
// share them. Rows come apart only where they are folded, as many at a time as there are lanes.
#pragma once
#include "kernels/cpu/across.h"
#include "kernels/cpu/slots.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/streamed_line.h"

namespace ndfold::simd {

/// A group is as many rows as there are lanes, so it has as many vectors as a row has elements. To be folded, rows come
/// in slots of kSlots lanes; where those are whole vectors, in kVectors of them.
template <class T, MapKind kMap, int kSlots, int kVectors>
requires kExpandsLanes<NumberOf<T>>
class PackedSoftmax {
  using A = NumberOf<T>;
  using V = LanesOf<A>;
  static constexpr int kWidth = kLanes<V>, kRuns = kWidth / kSlots;
  static constexpr bool kKeeps = kMap == MapKind::softmax;
  static constexpr Index kFull = kVectors - 1;                                  // vectors
  static constexpr Index kTurnElements = 8192 / static_cast<Index>(sizeof(A));  // in L1 with all that belongs to them

 public:
  static constexpr Index kLongest = kVectors * kWidth;

  PackedSoftmax(Index n, double scale, double alpha)
      : n_(n),
        rest_(static_cast<int>(n - kFull * kWidth)),
        scale_(splat<V>(static_cast<A>(scale))),
        alpha_(splat<V>(static_cast<A>(alpha))),
        filled_(filled_slots<kSlots, A>(static_cast<int>(std::min<Index>(n, kSlots)))) {
    for (Index l = 0; l < kWidth; ++l)
      to_slots_[l] = static_cast<LaneNumber<A>>(l / kSlots * n + std::min(l % kSlots, n - 1));
    for (Index row = 0, i = 0; row < kWidth; ++row)
      for (const Index end = i + n; i < end; ++i) row_of_[i] = static_cast<LaneNumber<A>>(row);
  }

  /// Rows from `x` to `y`, in whole lines past the caches if so said.
  void map(const T* x, T* y, Index rows, bool past_caches) {
    const Index most = std::max<Index>(1, kTurnElements / group()) * kWidth;
    for (Index some; rows >= kWidth; x += some * n_, y += some * n_, rows -= some) {
      some = std::min(most, rows / kWidth * kWidth);
      turn(x, y, some * n_, some / kWidth, past_caches);
    }
    if (rows > 0) {
      alignas(64) T last[kLongest * kWidth] = {};
      std::copy(x, x + rows * n_, last);
      turn(last, y, rows * n_, 1, past_caches);
    }
    if (past_caches) line_.flush(), finish_streaming();
  }

 private:
  static constexpr Index kMostGroups = kTurnElements / (2 * kWidth);

  /// What each row of some groups is shifted by, and multiplied with (softmax) or shifted by once more.
  struct ByGroup {
    V shift[kMostGroups], other[kMostGroups];
  };

  Index group() const { return n_ * kWidth; }

  /// Groups of rows from x on; their first `count` results go to y.
  void turn(const T* x, T* y, Index count, Index groups, bool past_caches) {
    ByGroup by;
    find_maxima(x, groups, by);
    make_powers(x, groups, by);
    find_sums(groups, by);
    if (count == groups * group() && (!past_caches || unaligned_elements(y) == 0))
      return (past_caches ? make_results<true, T> : make_results<false, T>)(*this, x, y, groups, by);
    make_results<false, A>(*this, x, held_, groups, by);
    past_caches ? stream_held(y, count) : write_results<false>(held_, y, count, std::identity());
  }

  void stream_held(T* y, Index count) {
    const Index head = line_.begin(y, count), end = count - (count - head) % kWidth;
    write_results<false>(held_, line_.next(), head, std::identity());
    line_.add(head);
    write_results<true>(held_ + head, y + head, end - head, std::identity());
    if (end == count) return;
    line_.end(y + end);
    write_results<false>(held_ + end, line_.next(), count - end, std::identity());
    line_.add(count - end);
  }

  [[gnu::noinline, gnu::flatten]] void find_maxima(const T* x, Index groups, ByGroup& by) const {
    for (Index g = 0; g < groups; ++g, x += group()) by.shift[g] = of_each_row(x, Larger()) * scale_;
  }

  [[gnu::noinline, gnu::flatten]] void find_sums(Index groups, ByGroup& by) const {
    const A* powers = held_;
    for (Index g = 0; g < groups; ++g, powers += group()) {
      const V sum = of_each_row(powers, std::plus<>());
      const V other = kKeeps ? alpha_ / sum : V{packet::plog(sum.value)};
      by.other[g] = select(equal(sum, sum), other, splat<V>(std::numeric_limits<A>::quiet_NaN()));
    }
  }

  [[gnu::noinline, gnu::flatten]] void make_powers(const T* x, Index groups, const ByGroup& by) {
    const V scale = scale_;
    const Index n = n_, ahead = groups * n * kWidth + ahead_elements<T>() / 4;
    const auto* const row_of = row_of_;
    A* to = held_;
    for (Index g = 0; g < groups; ++g) {
      const V minus_shift = splat<V>(0) - by.shift[g];
      for (Index v = 0; v < n; ++v, x += kWidth, to += kWidth) {
        prefetch_far(reinterpret_cast<const std::byte*>(x + ahead));
        store(to, power_below_one(multiply_add(load_elements(x), scale, permuted(minus_shift, row_of + v * kWidth))));
      }
    }
  }

  template <bool kStreams, class To>
  [[gnu::noinline, gnu::flatten]] static void make_results(const PackedSoftmax& made, const T* x, To* to, Index groups,
                                                           const ByGroup& by) {
    const V scale = made.scale_, alpha = made.alpha_;
    const Index n = made.n_;
    const auto* const row_of = made.row_of_;
    const A* powers = made.held_;
    for (Index g = 0; g < groups; ++g) {
      const V other = by.other[g], minus_shift = splat<V>(0) - by.shift[g];
      for (Index v = 0; v < n; ++v, x += kWidth, to += kWidth, powers += kWidth) {
        const V mine = permuted(other, row_of + v * kWidth);
        if constexpr (kKeeps) {
          put<kStreams>(to, mine * load<V>(powers));
        } else {
          const V shifted = multiply_add(load_elements(x), scale, permuted(minus_shift, row_of + v * kWidth));
          put<kStreams>(to, (shifted - mine) * alpha);
        }
      }
    }
  }

  /// Lane i is what op makes of the elements of row i.
  template <class X, class Op>
  [[gnu::always_inline]] V of_each_row(const X* x, const Op& op) const {
    constexpr bool kIsMax = std::is_same_v<Op, Larger>;
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
          some[r] = select(first_lanes<A>(rest_), load_elements(x + kFull * kWidth, rest_),
                           splat<V>(kIsMax ? -kInfinity<V> : A(0)));
        for (Index k = 0; k < kFull; ++k) some[r] = op(some[r], load_elements(x + k * kWidth));
      }
      return across(some, op);
    }
  }

  const Index n_;
  const int rest_;
  const V scale_, alpha_;
  const Mask<A> filled_;
  StreamedLine<T> line_;
  alignas(64) LaneNumber<A> to_slots_[kWidth], row_of_[kLongest * kWidth];
  alignas(64) A held_[kTurnElements + kLongest * kWidth];
};

/// Vectors of the longest rows that are taken so.
inline constexpr int kPackedVectors = 4;

/// Whether rows of n elements, so many in all, are better taken so than each in vectors of its own, by a scale that
/// keeps the largest the largest. A softmax of 2 and 4 is quicker in slots; few rows are not worth the tables.
template <class T, MapKind kMap>
bool are_packed_rows(Index rows, Index n, double scale) {
  using A = NumberOf<T>;
  constexpr Index kWorthwhile = 8192;  // elements
  if constexpr (kExpandsLanes<A>)
    return n > 1 && n <= kPackedVectors * kLanes<LanesOf<A>> && rows * n >= kWorthwhile && scale >= 0 &&
           (kMap == MapKind::log_softmax || (n != 2 && n != 4));
  return false;
}

template <class T, MapKind kMap>
void softmax_of_packed_rows(const T* x, T* y, Index rows, Index n, const Arguments& step) {
  using A = NumberOf<T>;
  constexpr int kWidth = kLanes<LanesOf<A>>;
  const auto map = [&]<int kSlots, int kVectors>(std::integer_sequence<int, kSlots, kVectors>) {
    PackedSoftmax<T, kMap, kSlots, kVectors>(n, step.scale, step.alpha).map(x, y, rows, step.past_caches);
  };
  if constexpr (kExpandsLanes<A>) {
    if (n <= kWidth)
      return with_slots<kWidth>(static_cast<int>(n), [&](auto slots) {
        if constexpr (slots() > 2 || (slots() == 2 && kMap == MapKind::log_softmax))
          map(std::integer_sequence<int, slots(), 1>());
      });
    unrolled<kPackedVectors - 1>([&](auto i) {
      if ((n - 1) / kWidth == i + 1) map(std::integer_sequence<int, kWidth, i + 2>());
    });
  }
}

}  // namespace ndfold::simd
