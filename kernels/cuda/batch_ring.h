// A ring of batches in shared memory: a lane asks for its packs batch by batch and finds them there in the same order.
// Nobody else reads them, so no barrier is needed.
#pragma once
#include <ndfold/travelling.h>

#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// Until at most `later` groups of copies have yet to come, which are fewer than places.
__device__ inline void await_but(int later) {
  static_assert(kMostPlacesOfRing == 6);
  switch (later) {
    case 0: return await_copies<0>();
    case 1: return await_copies<1>();
    case 2: return await_copies<2>();
    case 3: return await_copies<3>();
    case 4: return await_copies<4>();
    default: return await_copies<5>();
  }
}

/// Of `loads` packs of a lane each, in as many places as step.tile_bytes have room for.
template <class P, int kThreads>
class BatchRing {
 public:
  __device__ BatchRing(const Arguments& step, Index offset, int loads)
      : mine_(reinterpret_cast<P*>(shared_memory() + offset) + thread_of_block()),
        packs_(loads * kThreads),
        places_(static_cast<int>(step.tile_bytes) / (packs_ * static_cast<int>(sizeof(P)))) {}

  __device__ int places() const { return places_; }
  __device__ int after(int place) const { return place + 1 < places_ ? place + 1 : 0; }
  /// A lane's first pack of a batch; the next is kThreads further.
  __device__ P* packs(int place) const { return mine_ + place * packs_; }

 private:
  P* mine_;
  int packs_, places_;
};

}  // namespace ndfold::cuda
