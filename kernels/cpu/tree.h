// Pairwise summation, a leaf at a time: a binary counter whose digits are states. Height log2 of the leaves.
#pragma once
#include "kernels/cpu/arguments.h"
#include "kernels/folds/fold.h"

namespace ndfold::simd {

template <Fold F>
class Tree {
 public:
  explicit Tree(const F& fold) : fold_(fold) {}

  void push(typename F::State state) {
    int level = 0;
    for (std::uint64_t carry = leaves_; carry & 1; carry >>= 1) state = fold_.combine(levels_[level++], state);
    levels_[level] = state;
    ++leaves_;
  }

  typename F::State result() const {
    auto state = fold_.identity();
    bool any = false;
    int level = 0;
    for (std::uint64_t rest = leaves_; rest != 0; rest >>= 1, ++level) {
      if ((rest & 1) == 0) continue;
      state = any ? fold_.combine(levels_[level], state) : levels_[level];
      any = true;
    }
    return state;
  }

 private:
  F fold_;
  std::uint64_t leaves_ = 0;
  typename F::State levels_[64];
};

}  // namespace ndfold::simd
