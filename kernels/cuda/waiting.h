// Residency: where packs wait between the fold and the map of a softmax. What does not fit is read again, so that any
// alignment and any shape of runs is right. A lane gets back only what it kept, so no barrier is needed.
#pragma once
#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// keep() and get() are told the pack's number in the tile, and when (`turn`) and as which (`u`) the lane loaded it.
struct ReadAgain {
  template <class P, int kUnroll>
  struct Place {
    __device__ explicit Place(const Arguments&) {}
    __device__ void keep(Index, bool, int, const P&) {}
    __device__ bool get(Index, bool, int, P&) const { return false; }
  };
};

/// The packs of a lane's first batch.
struct InRegisters {
  template <class P, int kUnroll>
  struct Place {
    __device__ explicit Place(const Arguments&) {}
    __device__ void keep(Index, bool first_batch, int u, const P& pack) {
      if (first_batch) packs[u] = pack;
    }
    __device__ bool get(Index, bool first_batch, int u, P& pack) const {
      if (first_batch) pack = packs[u];
      return first_batch;
    }
    P packs[kUnroll];
  };
};

/// The first packs of the tile that fit.
struct InShared {
  template <class P, int kUnroll>
  struct Place {
    __device__ explicit Place(const Arguments& step)
        : packs(reinterpret_cast<P*>(shared_memory() + kExchangeBytes)),
          capacity(step.tile_bytes / static_cast<Index>(sizeof(P))) {}
    __device__ void keep(Index number, bool, int, const P& pack) {
      if (number < capacity) packs[number] = pack;
    }
    __device__ bool get(Index number, bool, int, P& pack) const {
      if (number < capacity) pack = packs[number];
      return number < capacity;
    }
    P* packs;
    Index capacity;
  };
};

}  // namespace ndfold::cuda
