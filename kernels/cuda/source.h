// Sources: what a lane loads at a time, and what number each element stands for.
#pragma once
#include "kernels/cuda/pack.h"
#include "kernels/folds/fold.h"

namespace ndfold::cuda {

/// Elements of type T read as numbers of type A, kPack neighbours at a time; 1 when they are not neighbours.
template <class T, class A, int kPack>
struct Elements {
  using Element = T;
  using Value = A;
  static constexpr int kSize = kPack;
  __device__ static A value(T element) { return from_element<A>(element); }
};

template <class Source>
using PackOf = Pack<typename Source::Element, Source::kSize>;

/// A pack as words: compilers take elements of 16 bits apart wherever two ways to load them meet.
template <class Source>
using WordsOfPack = Pack<std::uint32_t, sizeof(PackOf<Source>) / sizeof(std::uint32_t)>;

/// Elements [low, high) of a pack, one by one. Not inlined: two lines of all need it.
template <class Source>
[[gnu::noinline]] __device__ WordsOfPack<Source> load_some(const typename Source::Element* from, int low, int high) {
  PackOf<Source> pack = {};
#pragma unroll
  for (int i = 0; i < Source::kSize; ++i)
    if (i >= low && i < high) pack.at[i] = from[i];
  return std::bit_cast<WordsOfPack<Source>>(pack);
}

/// Number i of a pack. Those of bf16 come from the word they are in, by a shift or a mask: taken apart first, they are
/// two instructions more.
template <class Source, class P>
__device__ auto number_of(const P& pack, int i) {
  using T = typename Source::Element;
  constexpr int kSize = Source::kSize;
  if constexpr (std::is_same_v<T, BFloat16> && std::is_same_v<typename Source::Value, float> && kSize > 1 &&
                sizeof(P) == kSize * sizeof(T)) {
    struct Words {
      std::uint32_t at[kSize / 2];
    };
    const std::uint32_t word = std::bit_cast<Words>(pack).at[i / 2];
    return std::bit_cast<float>(i % 2 != 0 ? word & 0xffff0000u : word << 16);
  } else {
    return Source::value(pack.at[i]);
  }
}

/// Sources of packs of 16-bit numbers, which lie in pairs.
template <class Source>
concept InPairs =
    kIs16BitFloat<typename Source::Element> && std::is_same_v<typename Source::Value, float> && Source::kSize % 2 == 0;

/// Whether elements are 0: what any, all and count_nonzero fold.
template <class T, class A, int kPack>
struct Truths {
  using Element = T;
  using Value = A;
  static constexpr int kSize = kPack;
  __device__ static A value(T element) { return static_cast<A>(is_nonzero(element)); }
};

/// The same where what is walked for an output is one contiguous line of elements, or one axis of rows of columns:
/// fewer numbers to keep.
template <class Source>
struct InLine : Source {};

template <class Source>
inline constexpr bool kIsInLine = false;
template <class Source>
inline constexpr bool kIsInLine<InLine<Source>> = true;

/// The same where columns are no whole packs: a lane takes kSize of them that are as far apart as there are lanes side
/// by side, so that each of its loads has neighbours in the next lanes.
template <class Source>
struct Apart : Source {};

/// The same where packs of 16-bit elements begin anywhere: they are loaded word by word (load_across.h). A lane's last
/// ones may hold what lies behind the row.
template <class Source>
struct Across : Source {};

template <class Source>
inline constexpr bool kIsAcross = false;
template <class Source>
inline constexpr bool kIsAcross<Across<Source>> = true;
template <class Source>
inline constexpr bool kIsAcross<InLine<Source>> = kIsAcross<Source>;

/// As many as make up for narrow loads, without the states of more.
template <class T>
inline constexpr int kColumnsApart = std::min(4, kVector<T>);

template <class Source>
inline constexpr bool kIsApart = false;
template <class Source>
inline constexpr bool kIsApart<Apart<Source>> = true;
template <class Source>
inline constexpr bool kIsApart<InLine<Source>> = kIsApart<Source>;

/// States of an earlier step.
template <class F>
struct States {
  using Element = typename F::State;
  using Value = typename F::State;
  static constexpr int kSize = 1;
  __device__ static Value value(const Element& state) { return state; }
};

}  // namespace ndfold::cuda
