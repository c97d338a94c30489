// Softmax of tiles of columns with one exponential an element: powers wait in a slab on the stack, and while one tile's
// are made the results of the tile before leave the same places.
#pragma once
#include "kernels/cpu/column_powers.h"
#include "kernels/cpu/column_results.h"

namespace ndfold::simd {

/// Rows that a slab holds: at 256 bytes a row it is 1 MiB, what the second cache of a core holds, of wide tiles 2.
inline constexpr Index kSlabRows = 4096;

template <MapKind kMap, class A>
class SlabSoftmax {
  using V = LanesOf<A>;
  static constexpr Index kWidth = kLanes<V>;
  static constexpr Index kSlot = kTileRows * kWideColumns<A>;
  static constexpr bool kKeeps = kMap == MapKind::softmax;

 public:
  /// Columns are each an output's own, or `run` of them that lie side by side are one output's.
  SlabSoftmax(const Arguments& step, Index run, bool may_be_wide)
      : step_(step),
        leaves_(step, 0, elements(step.reduced)),
        run_(run),
        most_columns_(may_be_wide ? kWideColumns<A> : kTileColumns<A>),
        lines_(step) {}

  /// Makes the powers of a tile, and the results of the one that waited. `following` is read next.
  void turn(const Tile& tile, const std::byte* following) {
    const int groups = groups_of(tile);
    next_output_ = TileOutput<A>(step_, tile, lines_);
    if (groups_ > 0) output_.precede(next_output_);
    if (groups != groups_) finish();
    with_slab_groups<A>(groups, [&](auto count) { turn<count()>(tile, following); });
    groups_ = groups;
  }

  /// The results of the tile that waits, if one does.
  void finish() {
    RowOffsets offsets;
    RowsOfTile rows(step_, 0, leaves_.rows());
    for (Index at = 0; groups_ > 0 && rows.next(offsets); ++at)
      with_slab_groups<A>(groups_, [&](auto count) { write<count()>(at, offsets); });
    lines_.flush();
    groups_ = 0;
  }

 private:
  static int groups_of(const Tile& tile) { return static_cast<int>(ColumnPlace<V>::groups(tile.columns)); }

  A* slot(Index leaf) { return slots_ + leaf * kTileRows * most_columns_; }
  A* ends(Index leaf) { return ends_ + leaf * kTileRows * kWidth; }
  V* maxima(Index leaf) { return maxima_ + leaf * kWideGroups<A>; }

  /// Calls work(leaf, its rows, what to ask for, also) for each leaf of a tile, where also(row) writes what waits.
  template <int kGroups, class Work>
  void each_leaf(const Tile& tile, const std::byte* following, bool waits, const Work& work) {
    const bool overlaps = waits && output_.is_direct();
    if (overlaps) write<kGroups>(0, leaves_.first());
    Index leaf = 0;
    leaves_.each(
        tile, following,
        [&](const RowOffsets& here, const RowOffsets& next, const RowsAhead& ahead) {
          if (waits && !overlaps) write<kGroups>(leaf, here);
          const auto powers = [&](const auto& also) { work(leaf, here, ahead, also); };
          if (overlaps && next.count > 0)
            while_writing<kGroups>(leaf + 1, next, powers);
          else
            powers(NothingElse());
          ++leaf;
        },
        kGroups > kTileGroups);
  }

  template <int kGroups>
  void turn(const Tile& tile, const std::byte* following) {
    if constexpr (kRaisesPowers<A>)
      if (run_ == 1 && leaves_.rows() > 1) return raised_turn<kGroups>(tile, following);
    around_maxima<kGroups>(tile, following, groups_ > 0, nullptr);
    output_ = next_output_;
  }

  template <int kGroups>
  void raised_turn(const Tile& tile, const std::byte* following) {
    const bool was_far = is_far_;
    if (was_far) {
      is_far_ = around_maxima<kGroups>(tile, following, groups_ > 0, nullptr);
      output_ = next_output_, is_raised_ = false;
      if (is_far_) return;
    }
    RaisedSums<A, kGroups> sums;
    each_leaf<kGroups>(tile, following, groups_ > 0 && !was_far,
                       [&](Index leaf, const RowOffsets& rows, const RowsAhead& ahead, const auto& also) {
                         V total[kGroups];
                         raise_leaf<kKeeps ? Kept::powers : Kept::elements, kGroups, A>(step_, tile, rows, slot(leaf),
                                                                                        total, ahead, also);
                         sums.take(total);
                       });
    output_ = next_output_;
    const V* const all = sums.result();
    const TameColumns<kGroups> tame(all, step_.alpha);
    is_raised_ = tame.all, is_far_ = tame.none;
    if (!tame.all) around_maxima<kGroups>(tile, following, false, &tame);
    by_.template take_raised<kGroups>(kMap, all, tame, step_.alpha);
  }

  /// `raised` says which columns keep powers that were raised. Returns whether no column may have a tame sum.
  template <int kGroups>
  bool around_maxima(const Tile& tile, const std::byte* following, bool waits, const TameColumns<kGroups>* raised) {
    TileStates<A, kGroups> states;
    each_leaf<kGroups>(tile, following, waits,
                       [&](Index leaf, const RowOffsets& rows, const RowsAhead& ahead, const auto& also) {
                         auto highest = read_rows<kGroups, A>(step_, tile, rows, slot(leaf));
                         for (int g = 0; g < kGroups; ++g) {
                           const auto i = static_cast<std::size_t>(g);
                           maxima(leaf)[g] = highest[i] = states.raise(g, highest[i]);
                         }
                         sum_powers<kKeeps, kGroups, A>(slot(leaf), rows.count, highest, states, ahead, also);
                         if constexpr (kKeeps && kRaisesPowers<A>)
                           if (raised != nullptr) keep_raised<kGroups>(tile, leaf, rows, ahead, *raised);
                       });
    MaxAndSum<V>* const all = states.result();
    if (run_ > 1) meet_in_runs<A>(run_, tile.columns, all);
    by_ = TileNormalizer<A>(kMap, all, kGroups, step_.alpha);
    bool none = true;
    if constexpr (kRaisesPowers<A>)
      for (int g = 0; g < kGroups; ++g) none = none && !any(TameSums(step_.alpha).may_hold(all[g].max, all[g].sum));
    return none;
  }

  template <int kGroups>
  [[gnu::noinline]] void keep_raised(const Tile& tile, Index leaf, const RowOffsets& rows, const RowsAhead& ahead,
                                     const TameColumns<kGroups>& tame) {
    alignas(64) A powers[kSlot];
    V total[kGroups];
    raise_leaf<Kept::powers, kGroups, A>(step_, tile, rows, powers, total, ahead, NothingElse());
    for (int g = 0; g < kGroups; ++g) {
      maxima(leaf)[g] = select(tame.masks[g], splat<V>(0), maxima(leaf)[g]);
      for (int r = 0; r < rows.count; ++r) {
        const Index at = (r * kGroups + g) * kWidth;
        store(slot(leaf) + at, select(tame.masks[g], load<V>(powers + at), load<V>(slot(leaf) + at)));
      }
    }
  }

  /// Calls work(also), where also(row) writes a row that waits.
  template <int kGroups, class Work>
  void while_writing(Index leaf, const RowOffsets& offsets, const Work& work) {
    const auto result = results<kGroups>(leaf);
    const int count = offsets.count;
    output_.template with_put<kGroups>(offsets, ends(leaf), [&](const auto& put) {
      work([=](int r) {
        if (r < count) TileOutput<A>::template put_row<kGroups>(put, r, result);
      });
    });
  }

  template <int kGroups>
  void write(Index leaf, const RowOffsets& offsets) {
    output_.template write<kGroups>(offsets, ends(leaf), results<kGroups>(leaf));
  }

  /// Makes results of a leaf that waits, a (row, group) at a time.
  template <int kGroups>
  auto results(Index leaf) {
    std::array<V, kGroups> factor, shift, rest;
    for (int g = 0; g < kGroups; ++g) {
      const auto i = static_cast<std::size_t>(g);
      factor[i] = by_.factor[g], shift[i] = by_.shift[g], rest[i] = by_.rest[g];
      if constexpr (kKeeps)
        if (!is_raised_) factor[i] = OnlineSoftmax<V>::shrink(maxima(leaf)[g], shift[i]) * factor[i];
    }
    return [=, from = slot(leaf)](int r, int g) {
      const auto i = static_cast<std::size_t>(g);
      const V waiting = load<V>(from + (r * kGroups + g) * kWidth);
      if constexpr (kKeeps)
        return waiting * factor[i];
      else
        return at_most_zero(waiting - shift[i] - rest[i]) * factor[i];
    };
  }

  const Arguments& step_;
  const TileLeaves leaves_;
  const Index run_, most_columns_;
  int groups_ = 0;          ///< of the tile that waits; 0 when none does
  bool is_raised_ = false;  ///< all its powers are
  bool is_far_ = false;     ///< columns are expected to need their maxima
  TileOutput<A> output_, next_output_;
  LinesAcross<A> lines_;
  TileNormalizer<A> by_;
  V maxima_[kSlabRows / kTileRows * kWideGroups<A>];  ///< what the powers of each leaf are relative to
  alignas(64) A slots_[kSlabRows / kTileRows * kSlot];
  alignas(64) A ends_[kSlabRows * kWidth];  ///< of rows whose lines the next tile completes
};

/// Whether tiles of twice as many columns come sooner: many rows far apart that share sets of a cache, of which a Zen 5
/// keeps more on their way with 512 bytes of each ([256,65536] f32 axis 0 4.5 ms, 3.6 so; [64,512,512] axis 1 3.3
/// and 3.5), or all in a first or second cache ([64,1024] axis 0 11 us, 9.5 so).
template <class A>
bool may_be_wide(const Arguments& step, Index run) {
  constexpr Index kFarBytes = 16 << 10, kManyRows = 64;
  const Axis column = inner(step.kept), row = inner(step.reduced);
  if (!kAsksForRows || run > 1 || column.in != 1 || column.out != 1) return false;
  if (kWideGroups<A> == kTileGroups || step.input != kTypeOf<A> || step.output != kTypeOf<A>) return false;
  const Index size = sizeof(A);
  const bool are_far =
      elements(step.reduced) >= kManyRows && std::abs(row.in) * size >= kFarBytes && share_sets(row.in * size);
  return are_far || input_bytes(step) <= kNearBytes;
}

/// `wide`: tiles may be; results are the same bits.
template <MapKind kMap, class A>
[[gnu::noinline]] void softmax_in_slab(const Arguments& step, Index run, Index first, Index last, bool wide) {
  TileWalk<A> tiles(step, first, last, wide);
  SlabSoftmax<kMap, A> softmax(step, run, wide);
  Tile tile, next;
  for (bool any = tiles.next(tile); any; tile = next) {
    any = tiles.next(next);
    softmax.turn(tile, any ? next.in : tile.in);
  }
  softmax.finish();
  finish_streams();
}

}  // namespace ndfold::simd
