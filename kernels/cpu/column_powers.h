// {max, Σ exp(x - max)} of a tile's columns, a leaf at a time, around the maximum so far: one exponential an element
// and one more a leaf and column.
#pragma once
#include "kernels/cpu/raised_columns.h"
#include "kernels/folds/online_softmax.h"

namespace ndfold::simd {

/// The states of a tile while it is folded: kTurns turns of kTileRows on a running sum, then a tree.
template <class A, int kGroups>
class TileStates {
  using V = LanesOf<A>;
  using Fold = OnlineSoftmax<V>;
  using Tree = ColumnTree<Fold>;
  static constexpr int kTurns = Tree::kRadix / 2, kMostLevels = 24;

 public:
  TileStates() : tree_({}, levels_, kGroups) {
    for (auto& state : running_) state = Fold().identity();
  }

  /// The maximum so far of a group, with that of further rows.
  V raise(int group, V further) const { return any_maximum(running_[group].max, further); }

  /// Takes the sum of their powers, around the raised maximum.
  void take(int group, V max, V sum) {
    MaxAndSum<V>& to = running_[group];
    to.sum = to.sum * Fold::shrink(to.max, max) + sum;
    to.max = max;
  }
  void end_rows() {
    if (++turns_ < kTurns) return;
    tree_.push(running_);
    turns_ = 0;
    for (auto& state : running_) state.sum = splat<V>(0);
  }

  /// Room for states that were made elsewhere.
  MaxAndSum<V>* place() { return running_; }

  MaxAndSum<V>* result() {
    if (turns_ > 0) tree_.push(running_);
    return tree_.result();
  }

 private:
  MaxAndSum<V> running_[kGroups];
  int turns_ = 0;
  MaxAndSum<V> levels_[kMostLevels * kGroups];
  Tree tree_;
};

/// Powers of rows in their slot, around the maximum so far: summed, and kept where kKeeps says so. After each row's
/// also(row) is called and a row ahead is fetched: memory and arithmetic overlap.
template <bool kKeeps, int kGroups, class A, class Power, class Also>
[[gnu::always_inline]] inline void sum_powers_by(const Power& power_of, A* slot, int rows,
                                                 const std::array<LanesOf<A>, kGroups>& maxima,
                                                 LanesOf<A> (&total)[kGroups], const RowsAhead& ahead,
                                                 const Also& also_by_row) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const Also also = also_by_row;  // a copy: what the rows' stores cannot reach stays in registers
  V pivot[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    pivot[g] = OnlineSoftmax<V>().pivot(maxima[static_cast<std::size_t>(g)], 0);
    total[g] = splat<V>(0);
  }
  for (int r = 0; r < rows;) {
    const int end = std::min(rows, r + static_cast<int>(kLeafRows));
    V sum[kGroups];
    for (int g = 0; g < kGroups; ++g) sum[g] = splat<V>(0);
    for (; r < end; ++r) {
      ahead.fetch<kGroups>(r);
      for (int g = 0; g < kGroups; ++g) {
        A* at = slot + (r * kGroups + g) * kWidth;
        const V power = power_of(load<V>(at) - pivot[g]);
        if constexpr (kKeeps) store(at, power);
        sum[g] = sum[g] + power;
      }
      also(r);
    }
    for (int g = 0; g < kGroups; ++g) total[g] = total[g] + sum[g];
  }
}

/// Around +inf, measured as 0, some powers are infinite. Kept ones need not be right: a softmax makes NaN of them all.
template <int kGroups, class A>
[[gnu::noinline]] void sum_around_infinity(A* slot, int rows, const std::array<LanesOf<A>, kGroups>& maxima,
                                           LanesOf<A> (&total)[kGroups], const RowsAhead& ahead) {
  sum_powers_by<false, kGroups, A>([](auto x) { return exponential(x); }, slot, rows, maxima, total, ahead,
                                   NothingElse());
}

/// The same, added to the tile's states.
template <bool kKeeps, int kGroups, class A, class Also>
[[gnu::flatten, gnu::noinline]] void sum_powers(A* slot, int rows, const std::array<LanesOf<A>, kGroups>& maxima,
                                                TileStates<A, kGroups>& states, const RowsAhead& ahead,
                                                const Also& also) {
  using V = LanesOf<A>;
  V total[kGroups];
  sum_powers_by<kKeeps, kGroups, A>([](V x) { return power_below_one(x); }, slot, rows, maxima, total, ahead, also);
  if constexpr (!kKeeps) {
    Mask<A> infinite = equal(maxima[0], splat<V>(kInfinity<V>));
    for (const V& max : maxima) infinite = either(infinite, equal(max, splat<V>(kInfinity<V>)));
    if (any(infinite)) [[unlikely]]
      sum_around_infinity<kGroups, A>(slot, rows, maxima, total, ahead);
  }
  for (int g = 0; g < kGroups; ++g) states.take(g, maxima[static_cast<std::size_t>(g)], total[g]);
  states.end_rows();
}

/// The same around their maxima.
template <int kGroups, class A>
[[gnu::noinline]] MaxAndSum<LanesOf<A>>* fold_around_maxima(const Arguments& step, const TileLeaves& leaves,
                                                            const Tile& tile, const std::byte* following,
                                                            TileStates<A, kGroups>& states) {
  alignas(64) A slot[kTileRows * kTileColumns<A>];
  leaves.each(tile, following, [&](const RowOffsets& rows, const RowOffsets&, const RowsAhead& ahead) {
    auto maxima = read_rows<kGroups, A>(step, tile, rows, slot);
    for (int g = 0; g < kGroups; ++g)
      maxima[static_cast<std::size_t>(g)] = states.raise(g, maxima[static_cast<std::size_t>(g)]);
    sum_powers<false, kGroups, A>(slot, rows.count, maxima, states, ahead, NothingElse());
  });
  return states.result();
}

/// Folds a tile; `following` is read next.
template <int kGroups, class A>
MaxAndSum<LanesOf<A>>* fold_tile(const Arguments& step, const TileLeaves& leaves, const Tile& tile,
                                 const std::byte* following, TileStates<A, kGroups>& states) {
  using V = LanesOf<A>;
  if (!kRaisesPowers<A> || leaves.rows() == 1)
    return fold_around_maxima<kGroups>(step, leaves, tile, following, states);
  if constexpr (kRaisesPowers<A>) {
    alignas(64) A slot[kTileRows * kTileColumns<A>];
    RaisedSums<A, kGroups> sums;
    leaves.each(tile, following, [&](const RowOffsets& rows, const RowOffsets&, const RowsAhead& ahead) {
      V total[kGroups];
      raise_leaf<Kept::nothing, kGroups, A>(step, tile, rows, slot, total, ahead, NothingElse());
      sums.take(total);
    });
    const V* const all = sums.result();
    const TameColumns<kGroups> tame(all, 1);
    MaxAndSum<V>* const to =
        tame.all ? states.place() : fold_around_maxima<kGroups>(step, leaves, tile, following, states);
    for (int g = 0; g < kGroups; ++g) {
      const MaxAndSum<V> raised = TameSums::state(select(tame.masks[g], all[g], splat<V>(1)));
      to[g] = {select(tame.masks[g], raised.max, to[g].max), select(tame.masks[g], raised.sum, to[g].sum)};
    }
    return to;
  }
}

}  // namespace ndfold::simd
