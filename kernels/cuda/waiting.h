// Residency: where packs wait between the fold and the map of a softmax. What does not fit is read again, so that any
// alignment and any shape of runs is right. A lane gets back only what it kept, so no barrier is needed.
#pragma once
#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// Both are told the pack's number in the tile; get() also how to load it again.
struct ReadAgain {
  template <class P>
  struct Place {
    __device__ explicit Place(const Arguments&) {}
    __device__ void keep(Index, const P&) {}
    template <class Load>
    __device__ P get(Index, const Load& load) const {
      return load();
    }
  };
};

/// In the lanes' registers: row_registers.h alone does that. What does not fit there is read again.
struct InRegisters : ReadAgain {};

/// The first packs of the tile that fit.
struct InShared {
  template <class P>
  struct Place {
    __device__ explicit Place(const Arguments& step)
        : packs(reinterpret_cast<P*>(shared_memory() + kExchangeBytes)),
          capacity(static_cast<unsigned>(step.tile_bytes) / sizeof(P)) {}
    __device__ void keep(Index number, const P& pack) {
      if (number < capacity) packs[static_cast<unsigned>(number)] = pack;
    }
    template <class Load>
    __device__ P get(Index number, const Load& load) const {
      return number < capacity ? packs[static_cast<unsigned>(number)] : load();
    }
    P* packs;
    Index capacity;
  };
};

}  // namespace ndfold::cuda
