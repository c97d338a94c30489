// Columns of a tile around 0 instead of around their maxima (raised_power.h): a leaf is looked at once.
#pragma once
#include "kernels/cpu/column_tree.h"
#include "kernels/cpu/raised_power.h"
#include "kernels/cpu/tile_reads.h"

namespace ndfold::simd {

/// Nothing else to do while powers are made.
struct NothingElse {
  void operator()(int) const {}
};

/// Sums of a tile's raised powers, in the order of TileStates: leaves on a running sum, then a tree.
template <class A, int kGroups>
class RaisedSums {
  using V = LanesOf<A>;
  using Tree = ColumnTree<Sum<V>>;
  static constexpr int kTurns = Tree::kRadix / 2, kMostLevels = 24;

 public:
  RaisedSums() : tree_({}, levels_, kGroups) { restart(); }

  void take(const V (&sums)[kGroups]) {
    for (int g = 0; g < kGroups; ++g) running_[g] = running_[g] + sums[g];
    if (++turns_ < kTurns) return;
    tree_.push(running_);
    restart();
  }

  V* result() {
    if (turns_ > 0) tree_.push(running_);
    return tree_.result();
  }

 private:
  void restart() {
    turns_ = 0;
    for (V& sum : running_) sum = splat<V>(0);
  }

  V running_[kGroups];
  int turns_ = 0;
  V levels_[kMostLevels * kGroups];
  Tree tree_;
};

/// Sums of the raised powers of rows, whose scaled elements load_group(r, g) gives. After each row also(row) is called
/// and a row ahead is fetched.
template <Kept kKept, int kGroups, class A, class LoadGroup, class Also>
[[gnu::always_inline]] inline void raise_rows(const LoadGroup& load_group, A* slot, int rows,
                                              LanesOf<A> (&total)[kGroups], const RowsAhead& ahead,
                                              const Also& also_by_row) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const Also also = also_by_row;  // a copy: what the rows' stores cannot reach stays in registers
  for (V& sum : total) sum = splat<V>(0);
  for (int r = 0; r < rows;) {
    const int end = std::min(rows, r + static_cast<int>(kLeafRows));
    V sum[kGroups];
    for (V& one : sum) one = splat<V>(0);
    for (; r < end; ++r) {
      ahead.fetch<kGroups>(r);
      for (int g = 0; g < kGroups; ++g) {
        A* const at = slot + (r * kGroups + g) * kWidth;
        const V element = load_group(r, g), power = RaisedPower::of_scaled(element);
        if constexpr (kKept == Kept::elements) store(at, element);
        if constexpr (kKept == Kept::powers) store(at, power);
        sum[g] = sum[g] + power;
      }
      also(r);
    }
    for (int g = 0; g < kGroups; ++g) total[g] = total[g] + sum[g];
  }
}

/// The same of a tile's rows, wherever they lie.
template <Kept kKept, int kGroups, class A, class Also>
[[gnu::flatten, gnu::noinline]] void raise_leaf(const Arguments& step, const Tile& tile, const RowOffsets& rows,
                                                A* slot, LanesOf<A> (&total)[kGroups], const RowsAhead& ahead,
                                                const Also& also) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const bool done = with_groups_in_place<kGroups, A>(step, tile, rows, [&](const auto& load_group) {
    raise_rows<kKept, kGroups, A>(load_group, slot, rows.count, total, ahead, also);
  });
  if (done) return;
  read_rows<kGroups, A>(step, tile, rows, slot);
  raise_rows<kKept, kGroups, A>([&](int r, int g) { return load<V>(slot + (r * kGroups + g) * kWidth); }, slot,
                                rows.count, total, ahead, also);
}

/// Which columns of a tile have sums that need no maximum.
template <int kGroups>
struct TameColumns {
  using V = Lanes<float>;
  Mask<float> masks[kGroups];
  bool all = true, none = true;

  TameColumns(const V* sums, double alpha) {
    const TameSums tame(alpha);
    for (int g = 0; g < kGroups; ++g) {
      masks[g] = tame(sums[g]);
      all = all && are_all(masks[g]);
      none = none && !any(masks[g]);
    }
  }
};

}  // namespace ndfold::simd
