// Bulk copies: stretches of whole 16 bytes between global and shared memory. All threads of a block call alike. On
// sm_90 one of them asks, and an arrival tells when; elsewhere, and where a block has a single stretch, which comes
// sooner so, each copies its part.
#pragma once
#include "kernels/cuda/pack.h"

namespace ndfold::cuda {

/// Tells that what a place of shared memory was promised is there.
struct alignas(8) Arrival {
  std::uint64_t state;
};

/// Stretches are brought to places 0, 1, … and are awaited in the same order.
class CopiesOfAll {
  using Unit = Pack<std::uint32_t, 4>;

 public:
  __device__ void bring(void* to, const void* from, int bytes) {
#pragma unroll 4
    for (int i = thread_of_block(); i < bytes / kVectorBytes; i += threads_of_block())
      copy_later(static_cast<Unit*>(to) + i, static_cast<const Unit*>(from) + i);
    end_copies();
  }

  /// `later`: stretches that were brought after this one.
  __device__ void await(int later) {
    const auto block = cg::this_thread_block();
    if (later == 0)
      await_copies<0>();
    else if (later == 1)
      await_copies<1>();
    else
      await_copies<2>();
    block.sync();  // every thread's part is there
  }

  __device__ void show() const {}

  __device__ void send(void* to, const void* from, int bytes) {
    for (int i = thread_of_block(); i < bytes / kVectorBytes; i += threads_of_block())
      static_cast<Unit*>(to)[i] = static_cast<const Unit*>(from)[i];
  }

  template <int kLeft>
  __device__ void await_sent() const {}
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
class Bulk {
 public:
  __device__ Bulk(Arrival* arrivals, int places)
      : arrivals_(arrivals), leads_(thread_of_block() == 0), is_single_(places == 1) {
    if (leads_ && !is_single_) {
      for (int i = 0; i < places; ++i)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared(arrivals_ + i)) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
  }

  __device__ void bring(int place, void* to, const void* from, int bytes) {
    if (is_single_) return single_.bring(to, from, bytes);
    if (!leads_) return;
    const unsigned arrival = shared(arrivals_ + place);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(arrival), "r"(bytes) : "memory");
    if (bytes > 0)
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)),
          "l"(from), "r"(bytes), "r"(arrival)
          : "memory");
  }

  /// What threads themselves have written to the place is there, too.
  __device__ void await(int place, int) {
    if (is_single_) return single_.await(0);
    const auto block = cg::this_thread_block();
    block.sync();  // the arrivals are there to be asked
    const unsigned arrival = shared(arrivals_ + place), turn = turns_ >> place & 1;
    turns_ ^= 1u << place;
    unsigned there = 0;
    while (there == 0)
      asm volatile(
          "{\n.reg .pred there;\nmbarrier.try_wait.parity.shared.b64 there, [%1], %2;\nselp.u32 %0, 1, 0, there;\n}"
          : "=r"(there)
          : "r"(arrival), "r"(turn)
          : "memory");
  }

  /// Before the barrier that a send() follows: it sees what this thread wrote.
  __device__ void show() const { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

  __device__ void send(void* to, const void* from, int bytes) {
    if (is_single_) return single_.send(to, from, bytes);
    if (!leads_) return;
    if (bytes > 0)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared(from)),
                   "r"(bytes)
                   : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }

  /// Until what was sent, but for the last kLeft stretches, may be written over.
  template <int kLeft>
  __device__ void await_sent() const {
    if (leads_) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
  }

 private:
  __device__ static unsigned shared(const void* place) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
  }

  Arrival* arrivals_;
  bool leads_, is_single_;
  CopiesOfAll single_;
  unsigned turns_ = 0;  ///< a bit a place: which of its two phases it is in
};
#else
class Bulk : public CopiesOfAll {
 public:
  __device__ Bulk(Arrival*, int) {}
  __device__ void bring(int, void* to, const void* from, int bytes) { CopiesOfAll::bring(to, from, bytes); }
  __device__ void await(int, int later) { CopiesOfAll::await(later); }
};
#endif

}  // namespace ndfold::cuda
