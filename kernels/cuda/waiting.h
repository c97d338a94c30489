// Residency: where packs wait between the fold and the map of a softmax. What does not fit is read again, so that any
// alignment and any shape of runs is right. A lane gets back only what it kept, so no barrier is needed.
#pragma once
#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// keep() and get() are told the pack's number in the tile, and as which (`u`) of its first batch the lane loaded it;
/// keep() also whether it is `here` at all: in registers an absent one is kept too, which costs no decision.
struct ReadAgain {
  template <class P, int kUnroll>
  struct Place {
    static constexpr bool kKeepsFirstBatch = false;
    __device__ explicit Place(const Arguments&) {}
    template <bool kFirstBatch>
    __device__ void keep(Index, int, const P&, bool) {}
    template <bool kFirstBatch>
    __device__ bool get(Index, int, P&) const {
      return false;
    }
  };
};

/// The packs of a lane's first batch.
struct InRegisters {
  template <class P, int kUnroll>
  struct Place {
    static constexpr bool kKeepsFirstBatch = true;
    __device__ explicit Place(const Arguments&) {}
    template <bool kFirstBatch>
    __device__ void keep(Index, int u, const P& pack, bool) {
      if constexpr (kFirstBatch) packs[u] = pack;
    }
    template <bool kFirstBatch>
    __device__ bool get(Index, int u, P& pack) const {
      if constexpr (kFirstBatch) pack = packs[u];
      return kFirstBatch;
    }
    P packs[kUnroll];
  };
};

/// The first packs of the tile that fit.
struct InShared {
  template <class P, int kUnroll>
  struct Place {
    static constexpr bool kKeepsFirstBatch = false;
    __device__ explicit Place(const Arguments& step)
        : packs(reinterpret_cast<P*>(shared_memory() + kExchangeBytes)),
          capacity(static_cast<unsigned>(step.tile_bytes) / sizeof(P)) {}
    template <bool kFirstBatch>
    __device__ void keep(Index number, int, const P& pack, bool here) {
      if (here && number < capacity) packs[static_cast<unsigned>(number)] = pack;
    }
    template <bool kFirstBatch>
    __device__ bool get(Index number, int, P& pack) const {
      if (number < capacity) pack = packs[static_cast<unsigned>(number)];
      return number < capacity;
    }
    P* packs;
    Index capacity;
  };
};

}  // namespace ndfold::cuda
