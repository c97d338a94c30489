// Packs that begin anywhere in memory, word by word: neighbouring lanes ask for the others of a sector.
#pragma once
#include "kernels/cuda/arguments.h"
#include "kernels/cuda/source.h"

namespace ndfold::cuda {

/// The pack at `from`. Of 16 bits the element before it or behind it may be read, too: words are whole.
template <class Source>
__device__ WordsOfPack<Source> load_across(const typename Source::Element* from) {
  using Words = WordsOfPack<Source>;
  constexpr unsigned kBytes = sizeof(typename Source::Element);
  constexpr int kWords = static_cast<int>(sizeof(Words) / sizeof(std::uint32_t));
  const auto within = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint32_t));
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from - within / kBytes);
  Words pack;
#pragma unroll
  for (int i = 0; i < kWords; ++i) pack.at[i] = words[i];
  if constexpr (kBytes < sizeof(std::uint32_t)) {
    const std::uint32_t last = words[kWords - (within == 0)];
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      pack.at[i] = word_across(pack.at[i], i + 1 < kWords ? pack.at[i + 1] : last, 8 * within);
  }
  return pack;
}

/// Whether what lies around the pack at element `at` of the input is the tensor's, or between what is.
template <class Source>
__device__ bool is_surrounded(const Arguments& step, Index at) {
  return at > step.reach_from && at + Source::kSize <= step.reach_to;
}

/// Elements [low, high) of the packs at some elements of the input. Not inlined and by value: few lanes need it.
template <class Source, int kRows>
struct SomePacks {
  Index at[kRows];
  WordsOfPack<Source> words[kRows];
};
template <class Source, int kRows>
[[gnu::noinline]] __device__ SomePacks<Source, kRows> load_some_packs(const typename Source::Element* in, int low,
                                                                      int high, SomePacks<Source, kRows> packs) {
#pragma unroll 1
  for (int r = 0; r < kRows; ++r) packs.words[r] = load_some<Source>(in + packs.at[r], low, high);
  return packs;
}

/// The packs at elements at[0], at[1], … of the input, all asked for before one is there; where not all of them are
/// surrounded, elements [low, high). `is_inner`: all are, for they lie within a row.
template <class Source, int kRows>
__device__ void load_packs_across(const Arguments& step, bool is_inner, const Index (&at)[kRows], int low, int high,
                                  PackOf<Source> (&packs)[kRows]) {
  const auto* const in = reinterpret_cast<const typename Source::Element*>(step.in);
  WordsOfPack<Source> words[kRows];
  bool are_surrounded = true;
  if (!is_inner)
#pragma unroll
    for (int r = 0; r < kRows; ++r) are_surrounded &= is_surrounded<Source>(step, at[r]);
  if (are_surrounded) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) words[r] = load_across<Source>(in + at[r]);
  } else {
    SomePacks<Source, kRows> some;
#pragma unroll
    for (int r = 0; r < kRows; ++r) some.at[r] = at[r];
    some = load_some_packs<Source, kRows>(in, low, high, some);
#pragma unroll
    for (int r = 0; r < kRows; ++r) words[r] = some.words[r];
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) packs[r] = std::bit_cast<PackOf<Source>>(words[r]);
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
