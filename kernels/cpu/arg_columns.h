// argmax and argmin of many columns at once: the best of each and the number of its row, both in lanes.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/cpu/leaf.h"
#include "kernels/cpu/odometer.h"
#include "kernels/cpu/pieces.h"
#include "kernels/cpu/scratch.h"
#include "kernels/folds/arg_extremum.h"

namespace ndfold::simd {

/// The order in which the elements of some axes are visited, by their row-major indices.
enum class IndexOrder : std::uint8_t { ascending, descending, mixed };

inline IndexOrder index_order(AxisList reduced) {
  bool up = true, down = true;
  for (int i = 0; i < reduced.rank; ++i) {
    const Index weight = reduced.axes[i].out;
    const Index inside = i + 1 < reduced.rank ? reduced.axes[i + 1].out * reduced.axes[i + 1].size : 0;
    up = up && weight > 0 && weight >= inside;
    down = down && weight < 0 && weight <= inside;
  }
  return up ? IndexOrder::ascending : down ? IndexOrder::descending : IndexOrder::mixed;
}

template <std::size_t kBytes>
struct UnsignedOf {
  using type = std::conditional_t<
      kBytes == 1, std::uint8_t,
      std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;
};

/// `Fold` is ArgMax or ArgMin of A. Of equals the first row wins, or with kLast the last.
template <class Fold, class A, bool kLast>
class ArgColumns {
 public:
  using State = typename Fold::State;
  /// Numbers a row in as many bits as an element has, so that both fill the same lanes; a floating one exactly.
  using Row = std::conditional_t<std::is_floating_point_v<A>, A, typename UnsignedOf<sizeof(A)>::type>;
  static constexpr Index kBytesOfColumn = 2 * sizeof(A) + sizeof(Row) + 2 * sizeof(Index);
  static constexpr Index kMostRows = Index{1} << std::min(std::numeric_limits<Row>::digits, 62);

  ArgColumns(Scratch& scratch, Index columns)
      : best_(scratch.take<A>(columns)),
        total_(scratch.take<A>(columns)),
        at_(scratch.take<Row>(columns)),
        total_at_(scratch.take<Index>(columns)),
        nan_at_(scratch.take<Index>(columns)),
        columns_(columns) {
    std::fill(nan_at_, nan_at_ + columns_, kNowhere);
  }

  template <class Rows>
  void add(const Rows& rows, int count) {
    if (visited_ + count - first_ > kMostRows) settle();
    bool lost = visited_ == first_ && begin(rows.row(0));
    const int from = visited_ == first_ ? 1 : 0;
    each_piece_of_rows(
        rows, count, columns_,
        [&](int r, Index first, Index columns, auto... row) { lost |= add_rows(number_of(r), first, columns, row...); },
        from);
    if (lost)
      for (int r = 0; r < count; ++r) find_nan(rows.row(r), visited_ + r);
    visited_ += count;
  }

  /// result(c): the best of column c and its row, counted from the first that was added.
  void finish() { settle(); }
  State result(Index c) const {
    if (nan_at_[c] != kNowhere) return {std::numeric_limits<A>::quiet_NaN(), nan_at_[c]};
    return {total_[c], total_at_[c]};
  }

 private:
  static constexpr Index kNowhere = -1;

  static constexpr bool kMax = std::is_same_v<typename Fold::Values, Max<A>>;
  using V = LanesOf<A>;

  static bool beats(A x, A best) { return kLast && x == best ? true : kMax ? x > best : x < best; }

  Row number_of(int r) const { return static_cast<Row>(visited_ + r - first_); }

  [[gnu::noinline]] bool begin(const A* __restrict row) {
    bool lost = false;
    for (Index c = 0; c < columns_; ++c) {
      best_[c] = row[c], at_[c] = 0;
      lost |= row[c] != row[c];
    }
    return lost;
  }

  /// Whether a NaN was met, which beats nothing here.
  template <class... Rows>
  [[gnu::flatten, gnu::noinline]] bool add_rows(Row number, Index first, Index columns, const Rows* __restrict... row) {
    A* __restrict best = best_ + first;
    Row* __restrict at = at_ + first;
    Index c = 0;
    bool lost = false;
    if constexpr (IsLanes<V>) {
      auto unordered_lanes = unordered(splat<V>(0), splat<V>(0));
      for (; c + kLanes<V> <= columns; c += kLanes<V>) {
        V value = load<V>(best + c), where = load<V>(at + c), here = splat<V>(number);
        const auto take = [&](V x) {
          auto better = kMax ? less(value, x) : less(x, value);
          if constexpr (kLast) better = either(better, equal(value, x));
          value = select(better, x, value);
          where = select(better, here, where);
          here = here + splat<V>(1);
          unordered_lanes = either(unordered_lanes, unordered(x, x));
        };
        (take(load<V>(row + c)), ...);
        store(best + c, value), store(at + c, where);
      }
      lost = any(unordered_lanes);
    }
    for (; c < columns; ++c) {
      A value = best[c];
      Row where = at[c], here = number;
      const auto take = [&](A x) {
        const bool better = beats(x, value);
        value = better ? x : value;
        where = better ? here : where;
        ++here;
        if constexpr (IsLanes<V>) lost |= x != x;
      };
      (take(row[c]), ...);
      best[c] = value, at[c] = where;
    }
    return lost;
  }

  void find_nan(const A* row, Index number) {
    for (Index c = 0; c < columns_; ++c)
      if (row[c] != row[c] && (kLast || nan_at_[c] == kNowhere)) nan_at_[c] = number;
  }

  /// Takes the rows since `first_` into the totals.
  void settle() {
    for (Index c = 0; c < columns_; ++c) {
      const bool better = first_ == 0 || beats(best_[c], total_[c]);
      total_at_[c] = better ? first_ + static_cast<Index>(at_[c]) : total_at_[c];
      total_[c] = better ? best_[c] : total_[c];
    }
    first_ = visited_;
  }

  A *best_, *total_;
  Row* at_;
  Index *total_at_, *nan_at_;
  Index columns_, visited_ = 0, first_ = 0;
};

}  // namespace ndfold::simd
