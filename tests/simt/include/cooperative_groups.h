// Stands in for CUDA's header of this name where kernels are compiled for the simulator: the same words, as far as
// kernels use them. The words of the language itself are macros here because they are no C++.
#pragma once
#include "tests/simt/machine.h"

#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)

namespace simt {

struct Extent {
  unsigned x, y, z;
};

/// Reads as a variable, asks the machine.
template <unsigned (*kX)(), unsigned (*kY)()>
struct Builtin {
  struct X {
    operator unsigned() const { return kX(); }
  };
  struct Y {
    operator unsigned() const { return kY(); }
  };
  [[no_unique_address]] X x;
  [[no_unique_address]] Y y;
};

inline unsigned zero() { return 0; }
inline unsigned one() { return 1; }
inline unsigned thread_x() { return ids().thread; }
inline unsigned block_x() { return ids().block_x; }
inline unsigned block_y() { return ids().block_y; }
inline unsigned threads_x() { return static_cast<unsigned>(grid().threads); }
inline unsigned blocks_x() { return grid().x; }
inline unsigned blocks_y() { return grid().y; }

}  // namespace simt

inline constexpr simt::Builtin<simt::thread_x, simt::zero> threadIdx{};
inline constexpr simt::Builtin<simt::block_x, simt::block_y> blockIdx{};
inline constexpr simt::Builtin<simt::threads_x, simt::one> blockDim{};
inline constexpr simt::Builtin<simt::blocks_x, simt::blocks_y> gridDim{};

namespace cooperative_groups {

using Where = std::source_location;

struct thread_block {
  void sync(const Where& where = Where::current()) const { simt::meet(simt::Meeting::block, where); }
};
inline thread_block this_thread_block() { return {}; }

template <unsigned kSize>
struct thread_block_tile {
  static_assert(kSize == 32, "the simulator knows tiles of a warp");
  template <class T>
  T shfl(T value, unsigned lane, const Where& where = Where::current()) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32);
    T other;
    simt::exchange(&value, &other, sizeof(T), lane, where);
    return other;
  }
  template <class T>
  T shfl_xor(T value, unsigned mask, const Where& where = Where::current()) const {
    return shfl(value, ids_lane() ^ mask, where);
  }
  bool all(bool mine, const Where& where = Where::current()) const {
    for (unsigned mask = 1; mask < kSize; mask *= 2) mine = shfl_xor(mine, mask, where) && mine;
    return mine;
  }
  static unsigned ids_lane() { return simt::ids().thread % 32; }
};
template <unsigned kSize>
thread_block_tile<kSize> tiled_partition(const thread_block&) {
  return {};
}

struct cluster_group {
  void sync(const Where& where = Where::current()) const { simt::meet(simt::Meeting::cluster, where); }
  unsigned num_blocks() const { return simt::grid().cluster; }
  unsigned block_rank() const { return simt::ids().block_x % simt::grid().cluster; }
  template <class T>
  T* map_shared_rank(T* mine, unsigned rank) const {
    return static_cast<T*>(simt::remote(mine, rank));
  }
};
inline cluster_group this_cluster() { return {}; }

struct grid_group {
  void sync(const Where& where = Where::current()) const { simt::meet(simt::Meeting::grid, where); }
};
inline grid_group this_grid() { return {}; }

}  // namespace cooperative_groups
