// Packs that begin anywhere in memory, word by word: neighbouring lanes ask for the others of a sector.
#pragma once
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// The pack at `from`. Of 16 bits the element before it or behind it may be read, too: words are whole.
template <class Source>
__device__ WordsOfPack<Source> load_across(const typename Source::Element* from) {
  using Words = WordsOfPack<Source>;
  constexpr int kWords = static_cast<int>(sizeof(Words) / sizeof(std::uint32_t));
  const auto address = reinterpret_cast<std::uintptr_t>(from), within = address % sizeof(std::uint32_t);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(address - within);
  Words pack;
#pragma unroll
  for (int i = 0; i < kWords; ++i) pack.at[i] = words[i];
  if constexpr (sizeof(typename Source::Element) < sizeof(std::uint32_t)) {
    const std::uint32_t last = words[kWords - (within == 0)];
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      pack.at[i] = word_across(pack.at[i], i + 1 < kWords ? pack.at[i + 1] : last, 8 * static_cast<unsigned>(within));
  }
  return pack;
}

/// Such packs of some rows.
template <class Source>
struct PacksAcross {
  static constexpr int kRows = 4;
  WordsOfPack<Source> of[kRows];
};
/// Of `count` rows, `bytes` apart, at most as many as there are. Not inlined: it would take registers where packs are
/// whole (bf16 [300,400001] axis 0 took 184 us for 167).
template <class Source>
[[gnu::noinline]] __device__ PacksAcross<Source> load_rows_across(const typename Source::Element* from, Index bytes,
                                                                  int count) {
  PacksAcross<Source> packs = {};
#pragma unroll
  for (int row = 0; row < PacksAcross<Source>::kRows; ++row, from = moved(from, bytes))
    if (row < count) packs.of[row] = load_across<Source>(from);
  return packs;
}

/// All of `count` such rows.
template <class Source, class Loaded, int kRows>
__device__ void load_all_across(const typename Source::Element* from, Index bytes, int count, Loaded (&packs)[kRows]) {
  constexpr int kTogether = PacksAcross<Source>::kRows;
#pragma unroll
  for (int k = 0; k < kRows; k += kTogether, from = moved(from, kTogether * bytes)) {
    const auto some = load_rows_across<Source>(from, bytes, count - k);
#pragma unroll
    for (int i = k; i < kRows && i < k + kTogether; ++i)
      if (i < count) packs[i] = std::bit_cast<Loaded>(some.of[i - k]);
  }
}

}  // namespace ndfold::cuda
