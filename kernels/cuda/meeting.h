// How blocks that share outputs across the grid meet. The first time at the grid's own barrier, which needs no memory
// of ours; it also publishes the counters, set to 0 just before, at which each group of blocks meets from then on.
#pragma once
#include "kernels/cuda/dialect.h"

namespace ndfold::cuda {

/// Blocks of one y are a group; a group takes a tile each turn. Whoever is late for a turn holds up its group alone.
class Meeting {
 public:
  __device__ explicit Meeting(const Arguments& step) : step_(step) {}

  /// Where block `part` of this group leaves its states. Two turns alternate: when all have met in a turn, all have
  /// read what was left two turns ago.
  template <class State>
  __device__ State* slot(int turn, Index part) const {
    const Index group = static_cast<Index>(turn % 2) * gridDim.y + blockIdx.y;
    return reinterpret_cast<State*>(step_.exchange) + (group * step_.parts + part) * step_.columns;
  }

  /// States between those of one block and of the next.
  __device__ Index pitch() const { return step_.columns; }

  /// What blocks of the group wrote before, all threads of all of them see after.
  __device__ void meet(int turn) const {
    unsigned* const counter = step_.counters + blockIdx.y * (kCounterBytes / sizeof(unsigned));
    if (turn == 0) {
      if (blockIdx.x == 0 && thread_of_block() == 0 && step_.tiles > gridDim.y) *counter = 0;
      cg::this_grid().sync();
      return;
    }
    const auto block = cg::this_thread_block();
    block.sync();
    if (thread_of_block() == 0) {
      add_release(counter);
      const unsigned wanted = static_cast<unsigned>(turn) * gridDim.x;
      while (static_cast<int>(load_acquire(counter) - wanted) < 0) {
      }
    }
    block.sync();
  }

 private:
  const Arguments& step_;
};

}  // namespace ndfold::cuda
