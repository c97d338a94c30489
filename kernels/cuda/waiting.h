// Residency: where packs wait between the fold and the map of a softmax. What does not fit is read again, so that any
// alignment and any shape of runs is right. A lane gets back only what it asked for or kept, so no barrier is needed.
#pragma once
#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// All are told the pack's number in the tile; get() also how to load it again.
struct ReadAgain {
  template <class P>
  struct Place {
    static constexpr bool kWaits = false;
    __device__ explicit Place(const Arguments&) {}
    template <class Load>
    __device__ P get(Index, const Load& load) const {
      return load();
    }
  };
};

/// In the lanes' registers: row_registers.h alone does that, and column_registers.h without asking for a residency.
/// What does not fit there is read again.
struct InRegisters : ReadAgain {};

/// All packs of a tile, if they fit; of one long line also the first ones. A lane asks for all of its packs before it
/// folds the first: its loads are on their way together, and no register waits for them.
struct InShared {
  template <class P>
  class Place {
   public:
    static constexpr bool kWaits = true;
    __device__ explicit Place(const Arguments& step)
        : packs_(reinterpret_cast<P*>(shared_memory() + kExchangeBytes)),
          capacity_(static_cast<unsigned>(step.tile_bytes) / sizeof(P)) {}

    __device__ Index room() const { return capacity_; }
    /// A tile of so many packs begins; whether they will be here.
    __device__ bool hold(Index packs) { return held_ = packs <= capacity_; }
    __device__ bool holds() const { return held_; }

    /// Copies come in so many groups, first asked for, first there.
    static constexpr int kGroups = 4;
    /// Of `count` packs that were asked for, the first of a group.
    __device__ static int begin_of(int group, int count) { return group * count / kGroups; }

    /// Calls ask_one(i) for i < `count`, which asks for what belongs to it.
    template <class AskOne>
    __device__ void request(int count, const AskOne& ask_one) {
#pragma unroll 1
      for (int group = 0, asked = 0; group < kGroups; ++group) {
        const int end = begin_of(group + 1, count);
#pragma unroll 4
        for (; asked < end; ++asked) ask_one(asked);
        end_copies();
      }
    }
    __device__ void ask(int number, const P* from) {
      if constexpr (sizeof(P) < 4)
        packs_[number] = *from;
      else
        copy_later(packs_ + number, from);
    }
    /// Until a group and those before it are there.
    __device__ void await_group(int group) const {
      if (group == 0) return await_copies<3>();
      if (group == 1) return await_copies<2>();
      if (group == 2) return await_copies<1>();
      await_copies<0>();
    }

    /// One at once: a pack that an end cuts.
    __device__ void keep(Index number, const P& pack) { packs_[number] = pack; }
    /// A pack that is here.
    __device__ const P& at(int number) const { return packs_[number]; }
    template <class Load>
    __device__ P get(Index number, const Load& load) const {
      return held_ ? packs_[number] : load();
    }

   private:
    P* packs_;
    unsigned capacity_;
    bool held_ = false;
  };
};

}  // namespace ndfold::cuda
