// argmax and argmin of many columns at once: the best of each and the number of its row, both in lanes.
#pragma once
#include "kernels/cpu/column_leaf.h"
#include "kernels/cpu/integer_extremum.h"
#include "kernels/cpu/odometer.h"
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

/// Where x beats the best of lanes so far; `Values` is Max or Min. Of equals the first wins, or with kLast the last.
template <class Values, bool kLast, class V>
requires IsLanes<V>
auto are_better(V x, V best) {
  const auto better = std::is_same_v<Values, Max<ScalarOf<V>>> ? less(best, x) : less(x, best);
  if constexpr (kLast)
    return either(better, equal(best, x));
  else
    return better;
}

/// `here` is the number of x.
template <class Values, bool kLast, class V>
requires IsLanes<V>
void take_better(V x, V here, V& best, V& where) {
  const auto better = are_better<Values, kLast>(x, best);
  best = select(better, x, best);
  where = select(better, here, where);
}

/// `Fold` is ArgMax or ArgMin of A. Of equals the first row wins, or with kLast the last.
template <class Fold, class A, bool kLast>
class ArgColumns {
 public:
  using State = typename Fold::State;
  /// Numbers a row in as many bits as an element has, so that both fill the same lanes; a floating one exactly. From 1
  /// on: 0 is no row since the last time that numbers were taken.
  using Row = std::conditional_t<std::is_floating_point_v<A>, A, typename UnsignedOf<sizeof(A)>::type>;
  static constexpr Index kBytesOfColumn = sizeof(A) + sizeof(Row) + 2 * sizeof(Index);
  static constexpr Index kMostRows = (Index{1} << std::min(std::numeric_limits<Row>::digits, 62)) - 1;

  ArgColumns(Scratch& scratch, Index columns)
      : best_(scratch.take<A>(columns)),
        at_(scratch.take<Row>(columns)),
        taken_at_(scratch.take<Index>(columns)),
        nan_at_(scratch.take<Index>(columns)),
        columns_(columns) {
    std::fill(nan_at_, nan_at_ + columns_, kNowhere);
  }

  template <class Rows>
  void add(const Rows& rows, int count) {
    if (visited_ + count - first_ > kMostRows) take_numbers();
    bool lost = visited_ == 0 && begin(rows.row(0));
    const int from = visited_ == 0 ? 1 : 0;
    const auto add_some = [&](auto at_once) {
      with_asking(columns_ * Index{sizeof(A)}, [&](auto ask) {
        if (from < count)
          each_rows<at_once()>(count - from, true,
                               [&](auto, int r, auto which) { lost = add_rows<ask>(rows, from + r, which) || lost; });
      });
    };
    if (are_taken_in_turn<A>(rows, count, columns_, Index{sizeof(A) + sizeof(Row)}))
      add_some(std::integral_constant<int, 1>());
    else
      add_some(std::integral_constant<int, kRowsAtOnce>());
    if (lost)
      for (int r = 0; r < count; ++r) find_nan(rows.row(r), visited_ + r);
    visited_ += count;
  }

  /// result(c): the best of column c and its row, counted from the first that was added.
  void finish() { take_numbers(); }
  State result(Index c) const {
    if (nan_at_[c] != kNowhere) return {std::numeric_limits<A>::quiet_NaN(), nan_at_[c]};
    return {best_[c], taken_at_[c]};
  }

 private:
  static constexpr Index kNowhere = -1;

  static constexpr bool kMax = std::is_same_v<typename Fold::Values, Max<A>>;
  using V = LanesOf<A>;

  static bool beats(A x, A best) { return kLast && x == best ? true : kMax ? x > best : x < best; }

  Row number_of(int r) const { return static_cast<Row>(visited_ + r - first_ + 1); }

  [[gnu::noinline]] bool begin(const A* __restrict row) {
    bool lost = false;
    for (Index c = 0; c < columns_; ++c) {
      best_[c] = row[c], at_[c] = 0, taken_at_[c] = 0;
      lost |= row[c] != row[c];
    }
    return lost;
  }

  /// As many as lanes take at a time.
  using Values = std::conditional_t<IsLanes<V>, V, Integers<A>>;
  using Numbers = std::conditional_t<IsLanes<V>, V, Integers<Row>>;
  static constexpr Index kWidth = sizeof(Values) / sizeof(A);

  template <class Lanes, class T>
  static Lanes lanes_at(const T* from) {
    if constexpr (IsLanes<V>)
      return load<Lanes>(from);
    else
      return load_integers<Lanes>(from);
  }

  static auto better_of(V x, V best) requires IsLanes<V> { return are_better<typename Fold::Values, kLast>(x, best); }
  static auto better_of(Integers<A> x, Integers<A> best) {
    return kLast ? (kMax ? x >= best : x <= best) : (kMax ? x > best : x < best);
  }
  static void take(V x, V here, V& value, V& where) requires IsLanes<V> {
    take_better<typename Fold::Values, kLast>(x, here, value, where);
  }
  static void take(Integers<A> x, Integers<Row> here, Integers<A>& value, Integers<Row>& where) {
    const auto better = better_of(x, value);
    value = better ? x : value;
    where = better ? here : where;
  }

  static V nearer_of(V a, V b) requires IsLanes<V> {
    return Quick<std::conditional_t<kMax, Max<V>, Min<V>>>::nearest(a, b);
  }
  static Integers<A> nearer_of(Integers<A> a, Integers<A> b) { return nearer<typename Fold::Values>(a, b); }

  /// Whether the best of some values beats that of any column. Most do not, where columns are long.
  template <std::size_t kCount>
  [[gnu::always_inline]] static bool beat_any(const Values (&values)[kCount], Values best) {
    Values nearest[kCount];
    std::copy(values, values + kCount, nearest);
    meet_by_halves(nearest, [](Values x, Values y) { return nearer_of(x, y); });
    const auto better = better_of(nearest[0], best);
    if constexpr (IsLanes<V>)
      return any(better);
    else
      return any_of(better);
  }

  /// Whether a NaN was met, which beats nothing here.
  template <bool kAsk, class Rows, int... K>
  [[gnu::flatten, gnu::noinline]] bool add_rows(const Rows& rows, int r, std::integer_sequence<int, K...>) {
    const A* const row[] = {rows.row(r + K)...};
    A* __restrict const best = best_;
    Row* __restrict const at = at_;
    const Row number = number_of(r);
    const Index groups = columns_ / kWidth;
    bool lost = false;
    NanWatch<std::conditional_t<IsLanes<V>, V, Lanes<float>>> watch;
    each_together<sizeof...(K), kAsk, kWidth, true>(rows, r, groups, [&](Index g) {
      const Index c = g * kWidth;
      Values value = lanes_at<Values>(best + c);
      const Values here[] = {lanes_at<Values>(row[K] + c)...};
      if constexpr (IsLanes<V>) watch.see_sum(here[K]...);
      if constexpr (sizeof...(K) > 1)
        if (!beat_any(here, value)) return;
      Numbers where = lanes_at<Numbers>(at + c);
      (take(here[K], numbers(static_cast<Row>(number + static_cast<Row>(K))), value, where), ...);
      std::memcpy(best + c, &value, sizeof value);
      std::memcpy(at + c, &where, sizeof where);
    });
    if constexpr (IsLanes<V>) lost = any(watch.found());
    for (Index c = groups * kWidth; c < columns_; ++c)
      for (int k = 0; k < static_cast<int>(sizeof...(K)); ++k) {
        const A x = row[k][c];
        const bool better = beats(x, best[c]);
        best[c] = better ? x : best[c];
        at[c] = better ? static_cast<Row>(number + static_cast<Row>(k)) : at[c];
        if constexpr (IsLanes<V>) lost |= x != x;
      }
    return lost;
  }

  static Numbers numbers(Row all) {
    if constexpr (IsLanes<V>)
      return splat<V>(all);
    else
      return Numbers{} + all;
  }

  void find_nan(const A* row, Index number) {
    for (Index c = 0; c < columns_; ++c)
      if (row[c] != row[c] && (kLast || nan_at_[c] == kNowhere)) nan_at_[c] = number;
  }

  /// Numbers of rows since `first_`, wherever there is one. The best stay: rows after them seldom beat any.
  void take_numbers() {
    Row* __restrict const at = at_;
    Index* __restrict const taken_at = taken_at_;
    const Index before = first_ - 1, columns = columns_;
    for (Index c = 0; c < columns; ++c) {
      taken_at[c] = at[c] != 0 ? before + static_cast<Index>(at[c]) : taken_at[c];
      at[c] = 0;
    }
    first_ = visited_;
  }

  A* best_;
  Row* at_;
  Index *taken_at_, *nan_at_;
  Index columns_, visited_ = 0, first_ = 0;
};

}  // namespace ndfold::simd
