// Softmax of few rows of columns: all of a column's elements fit registers, so that many columns are taken at a time,
// and nothing waits anywhere but in L1.
#pragma once
#include "kernels/cpu/column_walk.h"
#include "kernels/cpu/packed_rows.h"
#include "kernels/cpu/slot_softmax.h"
#include "kernels/cpu/tile_writes.h"

namespace ndfold::simd {

/// More rows than that fill a tile's slab well enough.
inline constexpr int kFewRows = 16;

/// Where the elements of a few rows are, in the input or in the output: rows apart, columns side by side; or columns
/// apart, and the elements of each side by side.
struct FewPlaces {
  Index column = 0;
  Index rows[kFewRows] = {};
  bool along = false, across = false;

  FewPlaces(AxisList reduced, Axis kept_axis, Index Axis::*stride, int count) : column(kept_axis.*stride) {
    Odometer at(reduced);
    across = true;
    for (int r = 0; r < count; ++r, at.next()) {
      rows[r] = stride == &Axis::in ? at.in() : at.out();
      across = across && rows[r] == r;
    }
    along = column == 1;
  }
};

/// Reads groups of columns, a group's rows one after the other, times `scale`.
template <class T, class V>
[[gnu::noinline]] void read_few(const T* x, const FewPlaces& places, int rows, Index columns, V scale,
                                ScalarOf<V>* to) {
  constexpr int kWidth = kLanes<V>;
  const Index group = rows * kWidth, whole = columns / kWidth, stride = places.column;
  const int rest = static_cast<int>(columns % kWidth);
  const T* const end = x + whole * kWidth * stride;
  if (places.along) {
    for (; x < end; x += kWidth, to += group)
      for (int r = 0; r < rows; ++r) {
        prefetch(x + places.rows[r]);
        store(to + r * kWidth, load_elements(x + places.rows[r]) * scale);
      }
    for (int r = 0; r < rows && rest > 0; ++r) store(to + r * kWidth, load_elements(x + places.rows[r], rest) * scale);
    return;
  }
  for (int r = 0; r < rows; r += kWidth) {
    const int length = std::min(rows - r, kWidth);
    ScalarOf<V>* const at = to + r * kWidth;
    if (length < kWidth)
      load_runs_across(x + r, stride, kWidth, length, scale, scale, at, Squares{whole, group, kWidth});
    else
      for (Index g = 0; g < whole; ++g)
        load_square(x + r + g * kWidth * stride, stride, scale, scale, at + g * group, Index{kWidth});
    if (rest > 0) load_across(Runs<const T>{end + r, stride, rest, length}, scale, scale, at + whole * group, kWidth);
  }
}

template <bool kStreams, class T, class A = NumberOf<T>>
[[gnu::noinline]] void write_few_across(T* y, Index stride, int rows, Index columns, const A* from) {
  constexpr int kWidth = kLanes<LanesOf<A>>;
  const Index group = rows * kWidth, whole = columns / kWidth;
  const int rest = static_cast<int>(columns % kWidth);
  for (int r = 0; r < rows; r += kWidth) {
    const int length = std::min(rows - r, kWidth);
    const A* const at = from + r * kWidth;
    T* const end = y + r + whole * kWidth * stride;
    if (length < kWidth)
      store_runs_across<kStreams>(y + r, stride, kWidth, length, at, Squares{whole, group, kWidth});
    else
      for (Index g = 0; g < whole; ++g)
        store_square<kStreams>(y + r + g * kWidth * stride, stride, at + g * group, Index{kWidth});
    if (rest > 0) store_across<false>(Runs<T>{end, stride, rest, length}, at + whole * group, kWidth);
  }
}

template <class T, class A = NumberOf<T>>
[[gnu::noinline]] void write_few(T* y, const FewPlaces& places, int rows, Index columns, bool past_caches,
                                 const A* from) {
  constexpr int kWidth = kLanes<LanesOf<A>>;
  using V = LanesOf<A>;
  if (!places.along) {
    const Runs<T> first{y, places.column, kWidth, std::min(rows, kWidth)};  // where it fills lanes, all others do
    if (past_caches && fills_lanes(first) && (rows <= kWidth || rows % kWidth == 0))
      return write_few_across<true>(y, places.column, rows, columns, from);
    return write_few_across<false>(y, places.column, rows, columns, from);
  }
  for (Index first = 0; first < columns; first += kWidth, from += rows * kWidth) {
    const int count = static_cast<int>(std::min<Index>(kWidth, columns - first));
    for (int r = 0; r < rows; ++r) {
      T* to = y + places.rows[r] + first;
      const V value = load<V>(from + r * kWidth);
      if (count < kWidth)
        store_elements(to, value, count);
      else if (past_caches && unaligned_elements(to) == 0)
        stream_elements(to, value);
      else
        store_elements(to, value);
    }
  }
}

/// As many rows as registers hold beside what powers need. 2^24 f32 on a Zen 4 in 3, 8, 9 and 16 rows: 2.7, 3.2, 3.9
/// and 2.2 elements/ns; read, mapped and written one after the other 1.6, 1.9, 2.4 and 1.6.
template <class T>
inline constexpr int kMostHeld = std::is_same_v<T, float>&& kLanes<Lanes<float>> == 16 ? 16 : 8;

/// The elements that are read next, asked for while results are made of those at hand, a group's as they lie.
struct ComingFew {
  const std::byte* from;
  Index group_bytes;
  Index rows[kFewRows];  // in bytes from the group's first

  [[gnu::always_inline]] void ask(Index group, int row) const { ask_early(from + group * group_bytes + rows[row]); }
};

/// Sums of 4 and 8 rows are added up by halves, as in slots (slot_softmax.h): of as few columns as those take, results
/// have the same bits wherever elements lie. Those of others in turn. kRows = 0: as many as `count`.
template <int kRows, class V>
[[gnu::always_inline]] inline V sum_of_few(const V* powers, int count = kRows) {
  if constexpr (kRows == 4 || kRows == 8) {
    V sums[kRows / 2];
    for (int r = 0; r < kRows / 2; ++r) sums[r] = powers[r] + powers[r + kRows / 2];
    for (int half = kRows / 4; half > 0; half /= 2)
      for (int r = 0; r < half; ++r) sums[r] = sums[r] + sums[r + half];
    return sums[0];
  } else {
    V sum = splat<V>(0);
    for (int r = 0; r < (kRows > 0 ? kRows : count); ++r) sum = sum + powers[r];
    return sum;
  }
}

/// What scaled elements of columns with tame sums become.
template <MapKind kMap, class V>
struct FewResults {
  V shift = splat<V>(0), rest = shift, times;
  FewResults(V sum, V alpha) : times(kMap == MapKind::softmax ? alpha / sum : alpha) {
    if constexpr (kMap == MapKind::softmax) return;
    const auto logarithm = TameSums::logarithm(sum);
    shift = logarithm.shift, rest = logarithm.rest;
  }
  [[gnu::always_inline]] V operator()(V x, V power) const {
    return kMap == MapKind::softmax ? power * times : at_most_zero(x - shift - rest) * times;
  }
};

/// Scaled elements of columns become results around their maxima, but where sums are tame.
template <MapKind kMap, int kRows, class V>
[[gnu::noinline, gnu::flatten]] void map_around_maxima(V* x, int count, V times, const TameSums& tame) {
  const int rows = kRows > 0 ? kRows : count;
  V max = x[0], powers[kFewRows], raised[kFewRows];
  for (int r = 1; r < rows; ++r) max = any_maximum(max, x[r]);
  for (int r = 0; r < rows; ++r) powers[r] = power_below_one(x[r] - max);
  const V sum = sum_of_few<kRows>(powers, rows);
  const V by = kMap == MapKind::softmax ? times / sum : times, rest = log_of(sum);
  const auto around = [&](int r) { return kMap == MapKind::softmax ? powers[r] * by : (x[r] - max - rest) * by; };
  if constexpr (kRaisesPowers<ScalarOf<V>>) {
    for (int r = 0; r < rows; ++r) raised[r] = RaisedPower::of_scaled(x[r]);
    const V raised_sum = sum_of_few<kRows>(raised, rows);
    const auto mask = rows > 1 ? tame(raised_sum) : less(times, times);
    const FewResults<kMap, V> result(select(mask, raised_sum, splat<V>(1)), times);
    for (int r = 0; r < rows; ++r) x[r] = select(mask, result(x[r], raised[r]), around(r));
  } else {
    for (int r = 0; r < rows; ++r) x[r] = around(r);
  }
}

/// Groups of columns become results where they are.
template <MapKind kMap, class A, int kRows>
[[gnu::flatten, gnu::noinline]] void map_few(A* slot, Index groups, int count, A alpha, const ComingFew& coming) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const int rows = kRows > 0 ? kRows : count;
  const V times = splat<V>(alpha);
  const TameSums tame(static_cast<double>(alpha));
  for (Index g = 0; g < groups; ++g, slot += rows * kWidth) {
    for (int r = 0; r < rows; ++r) coming.ask(g, r);
    V some[kFewRows];
    if constexpr (kRaisesPowers<A>) {
      for (int r = 0; r < rows; ++r) some[r] = RaisedPower::of_scaled(load<V>(slot + r * kWidth));
      const V sum = sum_of_few<kRows>(some, rows);
      if (rows > 1 && are_all(tame(sum))) [[likely]] {  // of one, x - x
        const FewResults<kMap, V> result(sum, times);
        for (int r = 0; r < rows; ++r) store(slot + r * kWidth, result(load<V>(slot + r * kWidth), some[r]));
        continue;
      }
    }
    for (int r = 0; r < rows; ++r) some[r] = load<V>(slot + r * kWidth);
    map_around_maxima<kMap, kRows>(some, rows, times, tame);
    for (int r = 0; r < rows; ++r) store(slot + r * kWidth, some[r]);
  }
}

template <MapKind kMap, class A>
void map_few(A* slot, Index groups, int rows, A alpha, const ComingFew& coming) {
  const auto map = rows == 4 ? map_few<kMap, A, 4> : rows == 8 ? map_few<kMap, A, 8> : map_few<kMap, A, 0>;
  map(slot, groups, rows, alpha, coming);
}

/// Rows that registers hold, from where they lie to where results belong, both along rows: groups of columns in turn.
template <MapKind kMap, int kRows, bool kStreams, class T, class A = NumberOf<T>>
[[gnu::flatten, gnu::noinline]] void map_held_rows(const T* x, const Index* in, T* y, const Index* out, Index columns,
                                                   A by, A alpha, const ComingFew& coming_rows) {
  using V = LanesOf<A>;
  constexpr int kWidth = kLanes<V>;
  const ComingFew coming = coming_rows;
  const V scale = splat<V>(by), times = splat<V>(alpha);
  const TameSums tame(static_cast<double>(alpha));
  const auto group = [&](Index at, const auto& load_row, const auto& put_row) {
    V here[kRows];
    for (int r = 0; r < kRows; ++r) here[r] = load_row(x + in[r] + at) * scale;
    if constexpr (kRaisesPowers<A>) {
      V powers[kRows];
      for (int r = 0; r < kRows; ++r) powers[r] = RaisedPower::of_scaled(here[r]);
      const V sum = sum_of_few<kRows>(powers);
      if (are_all(tame(sum))) [[likely]] {
        const FewResults<kMap, V> result(sum, times);
        for (int r = 0; r < kRows; ++r) put_row(y + out[r] + at, result(here[r], powers[r]));
        return;
      }
    }
    V results[kRows];
    for (int r = 0; r < kRows; ++r) results[r] = load_row(x + in[r] + at) * scale;  // again: few come here
    map_around_maxima<kMap, kRows>(results, kRows, times, tame);
    for (int r = 0; r < kRows; ++r) put_row(y + out[r] + at, results[r]);
  };
  Index g = 0;
  for (; (g + 1) * kWidth <= columns; ++g) {
    for (int r = 0; r < kRows; ++r) coming.ask(g, r);
    group(
        g * kWidth, [](const T* at) { return load_elements(at); }, [](T* at, V value) { put<kStreams>(at, value); });
  }
  const int some = static_cast<int>(columns - g * kWidth);
  if (some > 0)
    group(
        g * kWidth, [=](const T* at) { return load_elements(at, some); },
        [=](T* at, V value) { store_elements(at, value, some); });
}

template <class A>
class FewRows {
  using V = LanesOf<A>;
  static constexpr Index kWidth = kLanes<V>, kSlot = 8192 / static_cast<Index>(sizeof(A)) + kFewRows * kWidth;

 public:
  explicit FewRows(const Arguments& step)
      : step_(step),
        rows_(static_cast<int>(elements(step.reduced))),
        in_(step.reduced, inner(step.kept), &Axis::in, rows_),
        out_(step.reduced, inner(step.kept), &Axis::out, rows_) {
    const Index size = static_cast<Index>(size_bytes(step.input));
    coming_.group_bytes = in_.column * kWidth * size;
    for (int r = 0; r < rows_; ++r) coming_.rows[r] = in_.along ? in_.rows[r] * size : r * coming_.group_bytes / rows_;
  }

  /// Of a step with at most kFewRows reduced elements.
  bool can() const {
    const auto has_lanes = [](DType type) { return visit_elements<A>(type, []<class T>(T) {}); };
    return (in_.along || in_.across) && (out_.along || out_.across) && has_lanes(step_.input) &&
           has_lanes(step_.output);
  }

  /// Columns from `in` and `out` on; those at `following` are next.
  void map(const std::byte* in, std::byte* out, Index columns, const std::byte* following) {
    if (are_dense_rows() && map_dense_rows(in, out, columns)) return;
    const Index most = 8192 / static_cast<Index>(sizeof(A)) / (rows_ * kWidth) * kWidth;
    for (Index done = 0; done < columns;) {
      std::byte* const to = advance(out, step_.output, done * out_.column);
      const Index before = done == 0 ? columns_before_line(to) : 0;
      const Index count = std::min(before > 0 ? before : std::max(most, kWidth), columns - done);
      const std::byte* const from = advance(in, step_.input, done * in_.column);
      done += count;
      coming_.from = done < columns ? advance(in, step_.input, done * in_.column) : following;
      chunk(from, to, count);
    }
  }

 private:
  // Columns whose elements lie one behind the other, and so do columns.
  bool are_dense_rows() const {
    return in_.across && out_.across && in_.column == rows_ && out_.column == rows_ && step_.input == step_.output;
  }

  bool map_dense_rows(const std::byte* in, std::byte* out, Index columns) const {
    bool is_done = false;
    visit_elements<A>(step_.input, [&]<class T>(T) {
      const T* x = reinterpret_cast<const T*>(in);
      T* y = reinterpret_cast<T*>(out);
      is_done = step_.sink == SinkKind::softmax ? map_dense_rows<T, MapKind::softmax>(x, y, columns)
                                                : map_dense_rows<T, MapKind::log_softmax>(x, y, columns);
    });
    return is_done;
  }

  template <class T, MapKind kMap>
  bool map_dense_rows(const T* x, T* y, Index columns) const {
    if (!are_packed_rows<T, kMap>(inner(step_.kept).size, rows_, step_))
      return softmax_in_slots<T, kMap>(x, y, columns, rows_, step_);
    softmax_of_packed_rows<T, kMap>(x, y, columns, rows_, step_);
    return true;
  }

  // Rows of one type, few enough for registers.
  bool hold_rows(const std::byte* in, std::byte* out, Index columns) const {
    if (!in_.along || !out_.along || step_.input != step_.output) return false;
    bool is_done = false;
    visit_elements<A>(step_.input, [&]<class T>(T) {
      T* const y = reinterpret_cast<T*>(out);
      bool streams = step_.past_caches;
      for (int r = 0; r < rows_; ++r) streams = streams && unaligned_elements(y + out_.rows[r]) == 0;
      unrolled<kMostHeld<T> - 1>([&](auto i) {
        if (constexpr int kRows = i + 2; rows_ == kRows) {
          const auto map = step_.sink == SinkKind::softmax ? held_rows<MapKind::softmax, kRows, T>(streams)
                                                           : held_rows<MapKind::log_softmax, kRows, T>(streams);
          map(reinterpret_cast<const T*>(in), in_.rows, y, out_.rows, columns, static_cast<A>(step_.scale),
              static_cast<A>(step_.alpha), coming_);
          is_done = true;
        }
      });
    });
    return is_done;
  }
  template <MapKind kMap, int kRows, class T>
  static auto held_rows(bool streams) {
    return streams ? map_held_rows<kMap, kRows, true, T> : map_held_rows<kMap, kRows, false, T>;
  }

  void chunk(const std::byte* in, std::byte* out, Index columns) {
    if (hold_rows(in, out, columns)) return;
    alignas(64) A slot[kSlot];
    const V scale = splat<V>(static_cast<A>(step_.scale));
    visit_elements<A>(step_.input,
                      [&]<class T>(T) { read_few(reinterpret_cast<const T*>(in), in_, rows_, columns, scale, slot); });
    const Index groups = (columns + kWidth - 1) / kWidth;
    (step_.sink == SinkKind::softmax
         ? map_few<MapKind::softmax, A>
         : map_few<MapKind::log_softmax, A>)(slot, groups, rows_, static_cast<A>(step_.alpha), coming_);
    visit_elements<A>(step_.output, [&]<class T>(T) {
      write_few(reinterpret_cast<T*>(out), out_, rows_, columns, step_.past_caches, slot);
    });
  }

  /// Columns before the first whose results begin a line; 0 when none of the next ones does.
  Index columns_before_line(const std::byte* out) const {
    const Index size = static_cast<Index>(size_bytes(step_.output));
    for (Index c = 0; c < kWidth && step_.past_caches; ++c)
      if (begins_line(out + c * out_.column * size)) return c;
    return 0;
  }

  const Arguments& step_;
  int rows_;
  FewPlaces in_, out_;
  ComingFew coming_;
};

/// Blocks as softmax_columns; those of a line are taken together. False where it cannot.
template <class A>
bool softmax_few_rows(const Arguments& step, Index first, Index last) {
  if (elements(step.reduced) > kFewRows) return false;
  FewRows<A> rows(step);
  if (!rows.can()) return false;
  const Axis column = inner(step.kept);
  const Index panels = (column.size + step.panel - 1) / step.panel;
  Odometer lines(outer(step.kept), first / panels);
  for (Index panel = first % panels, left = last - first; left > 0; panel = 0) {
    const Index count = std::min(panels - panel, left), begin = panel * step.panel;
    const Index end = std::min(column.size, begin + count * step.panel);
    const std::byte* const in = advance(step.in, step.input, lines.in() + begin * column.in);
    std::byte* const out = advance(step.out, step.output, lines.out() + begin * column.out);
    lines.next();
    rows.map(in, out, end - begin, advance(step.in, step.input, lines.in()));
    left -= count;
  }
  finish_streams();
  return true;
}

}  // namespace ndfold::simd
