// Who shares a line of a softmax: a block, or those of a cluster, which exchange a maximum and a sum.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/scopes.h"

namespace ndfold::cuda {

/// The blocks that share a line: one, or those of a cluster, which only kernels of many threads ask for.
template <class Tuning>
class Sharers {
 public:
  static constexpr bool kMayBeMany = Tuning::kThreads > 256;
  __device__ explicit Sharers(const NearScope& scope) : many_(kMayBeMany && scope.shares_parts()) {}
  __device__ int lane(const NearScope& scope) const {
    return many_ ? static_cast<int>(blockIdx.x) * scope.lanes() + scope.lane() : scope.lane();
  }
  __device__ int lanes(const NearScope& scope) const {
    return many_ ? static_cast<int>(gridDim.x) * scope.lanes() : scope.lanes();
  }
  /// Before states of a line meet: loads that are on their way already hide it.
  __device__ void await_each_other() const {
    if constexpr (kMayBeMany)
      if (many_) {
        const auto read_cluster = cluster_of_readers();
        read_cluster.sync();  // all blocks are there, and have read the states of the line before
      }
  }
  /// A block's maximum and sum become those of all; what its powers are multiplied with, to be measured from there.
  template <class F, class A>
  __device__ A meet(const F& fold, A& max, A& sum) const {
    if constexpr (kMayBeMany)
      if (many_) {
        const A from = max;
        const auto whole = exchange_in_cluster(fold, {max, sum});
        max = whole.max;
        sum = whole.sum;
        return F::shrink(from, max);
      }
    return 1;
  }

 private:
  bool many_;
};

}  // namespace ndfold::cuda
