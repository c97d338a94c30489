// The results of a tile's columns: from {max, sum} to what elements are shifted by and multiplied with, and into the
// output.
#pragma once
#include "kernels/cpu/column_sink.h"
#include "kernels/cpu/lines_across.h"
#include "kernels/cpu/normalize.h"
#include "kernels/cpu/raised_columns.h"
#include "kernels/cpu/tile_writes.h"

namespace ndfold::simd {

/// Columns of a tile whose neighbours, `run` at a time, are one output's: each of them gets the state of all.
template <class A, class V = LanesOf<A>>
void meet_in_runs(Index run, Index columns, MaxAndSum<V>* states) {
  const OnlineSoftmax<A> fold;
  MaxAndSum<A> all[kTileColumns<A>];
  A max[kTileColumns<A>] = {}, sum[kTileColumns<A>] = {};
  each_number<V, MaxAndSum<A>>(states, columns, [&](Index at, Index count, const MaxAndSum<A>* some) {
    std::copy(some, some + count, all + at);
  });
  for (Index begin = 0; begin < columns; begin += run) {
    MaxAndSum<A> state = all[begin];
    for (Index k = 1; k < run; ++k) state = fold.combine(state, all[begin + k]);
    std::fill_n(max + begin, run, state.max);
    std::fill_n(sum + begin, run, state.sum);
  }
  for (Index g = 0; g < ColumnPlace<V>::groups(columns); ++g) {
    const Index first = ColumnPlace<V>::first(g, columns);
    states[g] = {load<V>(max + first), load<V>(sum + first)};
  }
}

/// The numbers of a Normalizer, for each column of a tile.
template <class A>
struct TileNormalizer {
  using V = LanesOf<A>;
  V shift[kWideGroups<A>], rest[kWideGroups<A>], factor[kWideGroups<A>];

  TileNormalizer() = default;
  TileNormalizer(MapKind map, const MaxAndSum<V>* states, int groups, double alpha) {
    for (int g = 0; g < groups; ++g) {
      const auto nan = splat<V>(std::numeric_limits<A>::quiet_NaN());
      const V sum = select(equal(states[g].max, splat<V>(kInfinity<V>)), nan, states[g].sum);
      const V times = splat<V>(static_cast<A>(alpha));
      shift[g] = states[g].max;
      rest[g] = map == MapKind::softmax ? splat<V>(most_of_softmax<A>(alpha)) : logarithm(sum);
      factor[g] = map == MapKind::softmax ? times / sum : times;
    }
  }

  /// Columns that need no maximum.
  template <int kGroups>
  void take_raised(MapKind map, const V* sums, const TameColumns<kGroups>& tame, double alpha) {
    const V times = splat<V>(static_cast<A>(alpha)), nothing = splat<V>(0);
    const bool softmax = map == MapKind::softmax;
    for (int g = 0; g < kGroups; ++g) {
      const Mask<A> mask = tame.masks[g];
      const auto logarithm = TameSums::logarithm(select(mask, sums[g], splat<V>(1)));
      shift[g] = select(mask, softmax ? nothing : logarithm.shift, shift[g]);
      rest[g] = select(mask, softmax ? nothing : logarithm.rest, rest[g]);
      factor[g] = select(mask, softmax ? times / sums[g] : times, factor[g]);
    }
  }

 private:
  static V logarithm(V lanes) {
    A all[kLanes<V>];
    store(all, lanes);
    for (A& one : all) one = std::log(one);
    return load<V>(all);
  }
};

/// Where results of a tile go, and how.
template <class A>
class TileOutput {
  using V = LanesOf<A>;
  static constexpr Index kWidth = kLanes<V>;

 public:
  TileOutput() = default;
  /// `lines` waits for whole lines, where columns suit it.
  TileOutput(const Arguments& step, const Tile& tile, LinesAcross<A>& lines)
      : to_(tile.out),
        columns_(tile.columns),
        elsewhere_{.type = step.output,
                   .column = inner(step.kept).out,
                   .row = inner(step.reduced).out,
                   .past_caches = step.past_caches},
        direct_(step.output == kTypeOf<A> && elsewhere_.column == 1 && columns_ >= kWidth),
        past_caches_(direct_ && step.past_caches),
        lines_(lines.suit() ? &lines : nullptr) {}

  bool is_direct() const { return direct_; }

  /// Says what is written after this: lines that both share wait for it.
  void precede(TileOutput& next) {
    is_followed_ = next.is_preceded_ = past_caches_ && next.past_caches_ && columns_ % kWidth == 0 &&
                                       to_ + columns_ * static_cast<Index>(sizeof(A)) == next.to_;
  }

  /// Calls work(put), where put(row, values) writes the groups of a row that is direct. `ends` has room for the last
  /// group of each row, where rows that begin anywhere in a line wait for the next tile; or is nothing.
  template <int kGroups, class Work>
  void with_put(const RowOffsets& rows, A* ends, const Work& work) const {
    const Index last = ColumnPlace<V>::first(kGroups - 1, columns_);
    std::byte* const base = to_;
    const Index* const out = rows.out;
    const auto row = [=](int r) { return reinterpret_cast<A*>(base + out[r]); };
    using Values = std::array<V, kGroups>;
    const int rest = static_cast<int>(columns_ % kWidth);
    if (past_caches_ && rest == 0 && begins_line(to_) && rows.out_bits % kLineBytes == 0) {
      work([=](int r, const Values& values) {
        A* const to = row(r);
        for (int g = 0; g < kGroups; ++g) stream(to + g * kWidth, values[static_cast<std::size_t>(g)]);
      });
    } else if (past_caches_ && ends != nullptr) {
      const Index ahead = rows.count > 1 ? kFetchedRows * (out[1] - out[0]) : 0, bytes = columns_ * sizeof(A);
      work([=, is_first = !is_preceded_, is_last = !is_followed_](int r, const Values& values) {
        if (is_first) __builtin_prefetch(base + out[r] + ahead, 1);
        if (is_last) __builtin_prefetch(base + out[r] + ahead + bytes - 1, 1);
        stream_row<kGroups>(row(r), values, rest, ends + r * kWidth, is_first, is_last);
      });
    } else {
      work([=, late = past_caches_ ? rows.count - kFetchedRows : 0](int r, const Values& values) {
        if (r < late) fetch_for_writing(row(r + kFetchedRows), kGroups);
        A* const to = row(r);
        for (int g = 0; g < kGroups; ++g)
          store(to + (g + 1 < kGroups ? g * kWidth : last), values[static_cast<std::size_t>(g)]);
      });
    }
  }

  /// A row's groups one right after the other: stores between them would part what goes to memory together.
  template <int kGroups, class Put, class Result>
  [[gnu::always_inline]] static void put_row(const Put& put, int r, const Result& result) {
    std::array<V, kGroups> values;
    for (int g = 0; g < kGroups; ++g) values[static_cast<std::size_t>(g)] = result(r, g);
    put(r, values);
  }

  /// Writes result(row, group) for all rows.
  template <int kGroups, class Result>
  void write(const RowOffsets& rows, A* ends, const Result& result) const {
    if (!direct_) {
      alignas(64) A mapped[kTileRows * kGroups * kWidth];
      for (int r = 0; r < rows.count; ++r)
        for (int g = 0; g < kGroups; ++g) store(mapped + (r * kGroups + g) * kWidth, result(r, g));
      if (lines_ != nullptr) return lines_->add(to_, elsewhere_.column, columns_, rows, kGroups, mapped);
      return write_rows(elsewhere_, to_, columns_, rows, kGroups, mapped);
    }
    with_put<kGroups>(rows, ends, [&](const auto& put) {
      for (int r = 0; r < rows.count; ++r) put_row<kGroups>(put, r, result);
    });
  }

 private:
  // Whole lines of a row that begins anywhere in one: the first needs the end of the tile before, the end waits for the
  // tile after it. Of the last group `rest` lanes are the row's, the last ones, or all.
  template <int kGroups>
  [[gnu::always_inline]] static void stream_row(A* to, const std::array<V, kGroups>& values, int rest, A* end,
                                                bool is_first, bool is_last) {
    const int skipped = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(A) % kWidth);
    const Joining<A> joined(skipped);
    A* const line = to - skipped;
    V before = load<V>(end);
    const int whole = rest > 0 ? kGroups - 1 : kGroups;
    for (int g = 0; g < kGroups; ++g) {
      if (g == whole) break;
      const V here = values[static_cast<std::size_t>(g)];
      if (g == 0 && is_first && skipped > 0)
        store_first(to, here, static_cast<int>(kWidth) - skipped);
      else
        stream(line + g * kWidth, joined(before, here));
      before = here;
    }
    if (!is_last) return store(end, before);
    if (skipped > 0) store_first(line + whole * kWidth, joined(before, before), skipped);
    if (rest == 0) return;
    const V last = values[static_cast<std::size_t>(kGroups - 1)];
    store_first(to + whole * kWidth, Joining<A>(rest)(last, last), rest);
  }

  // Rows that share lines go through the caches, which read a line before they write to it.
  static constexpr int kFetchedRows = 16;
  [[gnu::always_inline]] static void fetch_for_writing(const A* row, int groups) {
    for (int g = 0; g < groups; ++g) __builtin_prefetch(row + g * kWidth, 1);
    __builtin_prefetch(row + groups * kWidth - 1, 1);
  }

  std::byte* to_ = nullptr;
  Index columns_ = 0;
  TileTarget elsewhere_ = {};
  bool direct_ = false, past_caches_ = false;
  bool is_preceded_ = false, is_followed_ = false;
  LinesAcross<A>* lines_ = nullptr;
};

}  // namespace ndfold::simd
