// Results in packs that begin elsewhere in memory: a lane's last elements go to its neighbour, which stores whole
// packs.
#pragma once
#include "kernels/cuda/dialect.h"
#include "kernels/cuda/pack.h"

#include <bit>

namespace ndfold::cuda {

/// Four of eight words, from byte `begin` on: 2 to 14, even, the same for all lanes.
__device__ inline Pack<std::uint32_t, 4> words_from(const Pack<std::uint32_t, 4>& low,
                                                    const Pack<std::uint32_t, 4>& high, int begin) {
  std::uint32_t from[5] = {};
  const auto take = [&]<int kFirst>() {
#pragma unroll
    for (int i = 0; i < 5 && kFirst + i < 8; ++i)
      from[i] = kFirst + i < 4 ? low.at[(kFirst + i) % 4] : high.at[(kFirst + i) % 4];
  };
  if (begin < 4)
    take.template operator()<0>();
  else if (begin < 8)
    take.template operator()<1>();
  else if (begin < 12)
    take.template operator()<2>();
  else
    take.template operator()<3>();
  Pack<std::uint32_t, 4> words;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    words.at[i] = static_cast<std::uint32_t>((std::uint64_t{from[i + 1]} << 32 | from[i]) >> (8 * (begin % 4)));
  return words;
}

/// Stores a pack where element 0 belongs, `shift` elements behind a whole pack. All lanes of a warp call alike. `here`:
/// the lane has one; `preceded`, `followed`: the lane before, or the next one, has the pack before, or the next.
template <class T, int kSize>
__device__ void store_shifted(const T (&results)[kSize], T* to, int shift, bool here, bool preceded, bool followed) {
  static_assert(kSize * sizeof(T) == kVectorBytes);
  using Words = Pack<std::uint32_t, 4>;
  if (shift == 0) {
    if (here) store_whole(results, to);
    return;
  }
  const auto warp = cg::tiled_partition<kWarp>(cg::this_thread_block());
  const int lane = lane_of_warp();
  Pack<T, kSize> pack;
#pragma unroll
  for (int i = 0; i < kSize; ++i) pack.at[i] = results[i];
  const Words mine = std::bit_cast<Words>(pack);
  Words before;
#pragma unroll
  for (int i = 0; i < 4; ++i) before.at[i] = warp.shfl(mine.at[i], static_cast<unsigned>(lane > 0 ? lane - 1 : 0));
  const auto whole =
      std::bit_cast<Pack<T, kSize>>(words_from(before, mine, kVectorBytes - shift * static_cast<int>(sizeof(T))));
  if (!here) return;
  if (preceded) store_vector(whole, to - shift);
  if (!preceded || !followed)
    store_elements(results, to, 1, preceded ? kSize - shift : 0, followed ? kSize - shift : kSize);
}

}  // namespace ndfold::cuda
