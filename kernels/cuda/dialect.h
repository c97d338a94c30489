// The words of CUDA that kernels are written in: cooperative groups, and a few operations that a host compiler needs
// told another way (tests/simt runs this very text on a CPU).
#pragma once
#include "kernels/cuda/arguments.h"

#include <cooperative_groups.h>

namespace ndfold::cuda {

namespace cg = cooperative_groups;

/// The dynamic shared memory of this block, aligned to 16 bytes.
__device__ inline std::byte* shared_memory() {
#ifdef __CUDACC__
  extern __shared__ uint4 memory[];
  return reinterpret_cast<std::byte*>(memory);
#else
  return simt::shared_memory();
#endif
}

/// Clusters came with sm_90; before, plans have none and a block stands for its cluster.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
struct Cluster {
  __device__ void sync() const { cg::this_thread_block().sync(); }
  __device__ unsigned num_blocks() const { return 1; }
  __device__ unsigned block_rank() const { return 0; }
  template <class T>
  __device__ T* map_shared_rank(T* mine, unsigned) const {
    return mine;
  }
};
__device__ inline Cluster this_cluster() { return {}; }
#else
__device__ inline cg::cluster_group this_cluster() { return cg::this_cluster(); }
#endif

/// The cluster once its blocks have read what others left: this barrier publishes nothing, so that nobody waits until
/// earlier writes have reached memory, which took a tenth of a softmax of columns.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
struct ClusterOfReaders {
  __device__ void sync() const {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  }
};
__device__ inline ClusterOfReaders cluster_of_readers() { return {}; }
#else
__device__ inline auto cluster_of_readers() { return this_cluster(); }
#endif

/// A number as if it were another each time: what is made of it is not made before a loop, to wait for it in registers.
__device__ inline int made_anew(int number) {
#ifdef __CUDACC__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

/// Bits [by, by + 32) of two words; `by` is less than 32.
__device__ inline std::uint32_t word_across(std::uint32_t low, std::uint32_t high, unsigned by) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, by);
#else
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> by);
#endif
}

/// 0, which compilers do not know to be: grids have two sides.
__device__ inline unsigned nothing() {
#ifdef __CUDACC__
  return blockIdx.z;
#else
  return 0;
#endif
}

/// Adds 1; what this thread saw before is seen by whoever sees the sum through load_acquire().
__device__ inline void add_release(unsigned* counter) {
#ifdef __CUDACC__
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
#else
  simt::add_release(counter);
#endif
}

__device__ inline unsigned load_acquire(const unsigned* counter) {
#ifdef __CUDACC__
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
#else
  return simt::load_acquire(counter);
#endif
}

/// A word that others look for: it is written at once, and orders nothing else. `after_barrier`: it is read after one,
/// as all else is; which the simulator watches, and a GPU does not need to know.
__device__ inline void store_word(std::uint64_t* place, std::uint64_t word, [[maybe_unused]] bool after_barrier) {
#ifdef __CUDACC__
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
#else
  if (after_barrier)
    *place = word;
  else
    simt::store_word(place, word);
#endif
}

__device__ inline std::uint64_t load_word(const std::uint64_t* from, [[maybe_unused]] bool after_barrier) {
#ifdef __CUDACC__
  std::uint64_t word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
#else
  return after_barrier ? *from : simt::load_word(from);
#endif
}

/// Asks for a copy of 4, 8 or 16 bytes into shared memory, past the registers. This thread may read it after
/// await_copies(), others of its block after a barrier that follows.
template <class P>
__device__ void copy_later(P* to, const P* from) {
  static_assert(sizeof(P) == 4 || sizeof(P) == 8 || sizeof(P) == 16);
#ifdef __CUDACC__
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (sizeof(P) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(sizeof(P)) : "memory");
#else
  const P value = *from;
  simt::copy_later(to, &value, sizeof(P));
#endif
}

/// Ends a group of copies.
__device__ inline void end_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  simt::end_copies();
#endif
}

/// Until all groups but the last kGroups are there.
template <int kGroups>
__device__ void await_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#else
  simt::await_copies(kGroups);
#endif
}

// Launches of a stream overlap (sm_90): the next one's blocks begin while the last of this one still run, find where
// their elements lie, ask for the first of them, and wait. Before that they read and write nothing but shared memory.

/// Brings what is read first to L2; it is read once the launch before has ended, whatever that writes there.
template <class T>
__device__ void ask_early(const T* from) {
#if !defined(__CUDACC__)
  simt::ask_early(from, sizeof *from);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

/// Whether asking early is worth it. Most of many blocks begin when the launch before has long ended, and what they ask
/// for they load at once: sums of rows of 96 took 168 us for 140.
__device__ inline bool has_few_blocks() {
  constexpr unsigned kFewBlocks = 1024;
  return gridDim.x * gridDim.y <= kFewBlocks;
}

/// The next launch may begin, and wait for this one. By await_launch_before() it may, too; sooner pays where little is
/// written.
__device__ inline void let_next_launch_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Until all that the launch before wrote is there. `located`: numbers and addresses that are computed before, not
/// after.
template <class... Located>
__device__ void await_launch_before(const Located&... located) {
#if !defined(__CUDACC__)
  simt::await_launch_before();
  (static_cast<void>(located), ...);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const auto compute = [](const auto& value) {
    if constexpr (sizeof value == sizeof(int))
      asm volatile("" ::"r"(value));
    else
      asm volatile("" ::"l"(value));
  };
  (compute(located), ...);
  asm volatile("griddepcontrol.wait;" ::: "memory");
  let_next_launch_begin();
#endif
}

/// The high 64 bits of a product.
__device__ inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDACC__
  return __umul64hi(a, b);
#else
  return simt::high_product(a, b);
#endif
}

__device__ inline std::uint32_t high_product(std::uint32_t a, std::uint32_t b) {
#ifdef __CUDACC__
  return __umulhi(a, b);
#else
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b >> 32);
#endif
}

/// Of n < 2^31; the quotient is 0 for any divisor that is wider.
__device__ inline Index narrow_quotient(Index n, const Divider& by) {
  return high_product(static_cast<std::uint32_t>(n), by.narrow_multiplier) >> (by.shift & 31);
}

__device__ inline Index quotient(Index n, const Divider& by) {
  if (by.multiplier == 0) return n;
  if (n >> 31 == 0) return narrow_quotient(n, by);
  return static_cast<Index>(high_product(static_cast<std::uint64_t>(n), by.multiplier) >> by.shift);
}

/// A thread's number in its block, the threads of the block, and its number in its warp.
__device__ inline int thread_of_block() { return static_cast<int>(threadIdx.x); }
__device__ inline int threads_of_block() { return static_cast<int>(blockDim.x); }
__device__ inline int lane_of_warp() { return thread_of_block() % kWarp; }

}  // namespace ndfold::cuda
