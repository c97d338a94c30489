// Sums of powers, lane by lane: pieces of a row are merged pairwise; short ones first add up, some to a leaf.
#pragma once
#include "kernels/cpu/softmax_looks.h"
#include "kernels/cpu/tree.h"

#include <memory>

namespace ndfold::simd {

template <class V>
class PowerTree {
  static constexpr Index kPieces = 32;

 public:
  void start() {
    std::construct_at(&tree_, Sum<V>());  // an assignment would copy all of its levels
    leaf_ = splat<V>(0), elements_ = pieces_ = 0;
  }

  void push(V sum, Index n) {
    leaf_ = leaf_ + sum;
    if ((elements_ += n) >= kPowerLeaf<ScalarOf<V>> || ++pieces_ == kPieces) close();
  }

  ScalarOf<V> result() {
    if (elements_ > 0) close();
    return packet::predux(tree_.result().value);
  }

 private:
  void close() {
    tree_.push(leaf_);
    leaf_ = splat<V>(0), elements_ = pieces_ = 0;
  }

  V leaf_ = splat<V>(0);
  Index elements_ = 0, pieces_ = 0;
  Tree<Sum<V>> tree_{{}};
};

}  // namespace ndfold::simd
