// Packs: neighbouring elements that one lane loads and stores at once, where alignment and the ends of a run allow it.
#pragma once
#include "kernels/cuda/dialect.h"
#include "kernels/cuda/elements.h"

#include <algorithm>

namespace ndfold::cuda {

template <class T, int kSize>
struct alignas(kSize == 1 ? alignof(T) : sizeof(T) * kSize) Pack {
  T at[kSize];
};

/// Bytes between T's, for moved(). Of 16 bits compilers do not know what they are made of, for they would go on in
/// elements, a shift each time; nor do they take them out of a loop, where they would wait in registers.
template <class T>
__device__ Index bytes_apart(Index elements) {
  Index bytes = elements * Index{sizeof(T)};
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 2) asm volatile("" : "+l"(bytes));
#endif
  return bytes;
}
/// So many bytes further.
template <class T>
__device__ T* moved(T* at, Index bytes) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(at) + bytes);
}

/// Elements of the widest load.
template <class T>
inline constexpr int kVector = sizeof(T) < kVectorBytes ? kVectorBytes / static_cast<int>(sizeof(T)) : 1;

template <class P>
__device__ bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % alignof(P) == 0;
}

/// Elements between the last multiple of a pack and `from`.
template <int kSize, class T>
__device__ int phase_of(const T* from) {
  if constexpr (kSize == 1)
    return 0;
  else
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(from) / sizeof(T) % std::uintptr_t{kSize});
}

/// Elements [low, high) of the pack at `from`, which are `stride` apart; the others are zeros and never touched.
template <class T, int kSize>
__device__ Pack<T, kSize> load_pack(const T* from, Index stride, int low, int high) {
  using P = Pack<T, kSize>;
  if constexpr (kSize > 1)
    if (low == 0 && high == kSize && stride == 1 && is_aligned<P>(from)) return *reinterpret_cast<const P*>(from);
  P pack = {};
#pragma unroll
  for (int i = 0; i < kSize; ++i)
    if (i >= low && i < high) pack.at[i] = from[i * stride];
  return pack;
}

/// All elements, `stride` apart.
template <class T, int kSize>
__device__ Pack<T, kSize> load_elements(const T* from, Index stride) {
  Pack<T, kSize> pack;
#pragma unroll
  for (int i = 0; i < kSize; ++i) pack.at[i] = from[i * stride];
  return pack;
}

/// All elements at once, at an aligned address in device memory. Of 8 and 16 bytes by name: compilers that see stores
/// of some of them beside it make one store an element of all (columns_by_sectors took 1.2 to 2 times as long).
template <class T, int kSize>
__device__ void store_vector(const Pack<T, kSize>& elements, T* to) {
#ifdef __CUDACC__
  constexpr bool kIsWhole = sizeof elements == kVectorBytes;
  if constexpr (kIsWhole || sizeof elements == kVectorBytes / 2) {
    const auto words = std::bit_cast<Pack<std::uint32_t, sizeof elements / sizeof(std::uint32_t)>>(elements);
    if constexpr (kIsWhole)
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.at[0]), "r"(words.at[1]),
                   "r"(words.at[2]), "r"(words.at[3])
                   : "memory");
    else
      asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(words.at[0]), "r"(words.at[1]) : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<T, kSize>*>(to) = elements;
}

/// Elements of a store of kSize elements' vectors.
template <class T, int kSize>
inline constexpr int kStored = std::min(kSize, kVector<T>);

template <class T, int kSize>
__device__ bool is_aligned_for_stores(const T* to) {
  return is_aligned<Pack<T, kStored<T, kSize>>>(to);
}

/// All elements, at an address that is_aligned_for_stores().
template <class T, int kSize>
__device__ void store_whole(const T (&elements)[kSize], T* to) {
  constexpr int kPart = kStored<T, kSize>;
#pragma unroll
  for (int part = 0; part < kSize; part += kPart) {
    Pack<T, kPart> pack;
#pragma unroll
    for (int i = 0; i < kPart; ++i) pack.at[i] = elements[part + i];
    store_vector(pack, to + part);
  }
}

/// Elements [low, high) one by one, `stride` apart.
template <class T, int kSize>
__device__ void store_elements(const T (&elements)[kSize], T* to, Index stride, int low, int high) {
#pragma unroll
  for (int i = 0; i < kSize; ++i)
    if (i >= low && i < high) to[i * stride] = elements[i];
}

/// Bits 0, kBlock, 2 kBlock, …
template <int kBlock>
inline constexpr unsigned kFirstOfBlocks = ~0u / ((1u << kBlock) - 1u);

/// Stores blocks of kBlock elements whose first bit is in `whole`, but for those that larger ones hold, and then larger
/// ones: without branches.
template <int kBlock, class T, int kSize>
__device__ void store_blocks(const T (&elements)[kSize], T* to, unsigned whole) {
  unsigned larger = 0;
  if constexpr (kBlock < kSize / 2) {
    larger = whole & whole >> kBlock & kFirstOfBlocks<2 * kBlock>;
    store_blocks<2 * kBlock>(elements, to, larger);
  }
  const unsigned here = whole & ~(larger | larger << kBlock);
#pragma unroll
  for (int first = 0; first < kSize; first += kBlock) {
    Pack<T, kBlock> pack;
#pragma unroll
    for (int i = 0; i < kBlock; ++i) pack.at[i] = elements[first + i];
    if ((here >> first & 1) != 0) *reinterpret_cast<Pack<T, kBlock>*>(to + first) = pack;
  }
}

/// Elements [low, high) of a pack, at the address of a whole one, in few stores: memory takes each that is a part of a
/// sector by itself. Not all of them.
template <class T, int kSize>
__device__ void store_cut(const T (&elements)[kSize], T* to, int low, int high) {
  const unsigned below = (1u << (high < kSize ? high : kSize)) - 1u, before = (1u << (low < 0 ? 0 : low)) - 1u;
  store_blocks<1>(elements, to, below & ~before);
}

/// The same in vectors where they fit.
template <class T, int kSize>
__device__ void store_pack(const T (&elements)[kSize], T* to, Index stride, int low, int high) {
  if constexpr (kSize > 1)
    if (low == 0 && high == kSize && stride == 1 && is_aligned_for_stores<T, kSize>(to))
      return store_whole(elements, to);
  store_elements(elements, to, stride, low, high);
}

}  // namespace ndfold::cuda
