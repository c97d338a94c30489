// Summation trees of many columns at once: arrays of states, merged eight at a time so that few arrays are alive.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/folds/fold.h"

namespace ndfold::simd {

/// Arrays of states that a tree of so many leaves holds, eight of each level's to one of the next.
inline int tree_levels(Index leaves) {
  constexpr Index kRadix = 8;
  int levels = 2;
  for (; leaves > kRadix; leaves = (leaves + kRadix - 1) / kRadix) ++levels;
  return levels;
}

/// `State` holds lanes; an array covers all columns of a panel. Height 8 a level, log8 of the leaves.
template <class F>
class ColumnTree {
 public:
  using State = typename F::State;
  static constexpr int kRadix = 8;

  static int levels_for(Index leaves) { return tree_levels(leaves); }

  /// `memory` holds levels_for(leaves) arrays of `groups` states.
  ColumnTree(const F& fold, State* memory, Index groups) : fold_(fold), memory_(memory), groups_(groups) {}

  void push(const State* leaf) {
    add(0, leaf);
    for (int level = 0; held_[level] == kRadix; ++level) {
      add(level + 1, array(level));
      held_[level] = 0;
    }
  }

  /// Folds what is left; the results stay in the returned array.
  State* result() {
    State* total = nullptr;
    for (int level = 0; level < kMostLevels; ++level) {
      if (held_[level] == 0) continue;
      if (total != nullptr) combine(array(level), total);
      total = array(level);
    }
    return total;
  }

 private:
  static constexpr int kMostLevels = 24;  // 8^22 > 2^63 leaves

  State* array(int level) { return memory_ + level * groups_; }

  void add(int level, const State* from) {
    State* to = array(level);
    if (held_[level]++ == 0)
      for (Index g = 0; g < groups_; ++g) to[g] = from[g];
    else
      combine(to, from);
  }

  // All columns have as many elements: what depends on that alone is worked out once.
  void combine(State* to, const State* from) {
    if constexpr (requires { fold_.shares(*to, *from); }) {
      const auto shares = fold_.shares(*to, *from);
      for (Index g = 0; g < groups_; ++g) to[g] = fold_.combine(to[g], from[g], shares);
    } else {
      for (Index g = 0; g < groups_; ++g) to[g] = fold_.combine(to[g], from[g]);
    }
  }

  F fold_;
  State* memory_;
  Index groups_;
  int held_[kMostLevels] = {};
};

}  // namespace ndfold::simd
