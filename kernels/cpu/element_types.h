// The type that a fold reads elements in where they lie, so that no buffer has to hold them converted.
#pragma once
#include "kernels/cpu/convert.h"
#include "kernels/cpu/integer_leaf.h"

namespace ndfold::simd {

/// What a fold's elements are loaded as: themselves, or whether they are 0.
enum class Loading : std::uint8_t { values, truth };

/// Elements of `type` may be read as T.
template <class T, Loading kLoading>
bool lies_as(DType type) {
  return kLoading == Loading::values && type == kTypeOf<T>;
}

template <class Work>
void as_words(DType type, Work&& work) {
  if (is_floating(type)) switch (size_bytes(type)) {
      case 2: return work(Word<std::uint16_t, true>());
      case 4: return work(Word<std::uint32_t, true>());
      default: return work(Word<std::uint64_t, true>());
    }
  switch (size_bytes(type)) {
    case 1: return work(Word<std::uint8_t, false>());
    case 2: return work(Word<std::uint16_t, false>());
    case 4: return work(Word<std::uint32_t, false>());
    default: return work(Word<std::uint64_t, false>());
  }
}

template <class Work>
void as_integers(DType type, Work&& work) {
  switch (type) {
    case DType::i8: return work(std::int8_t());
    case DType::i16: return work(std::int16_t());
    case DType::i32: return work(std::int32_t());
    case DType::u8: return work(std::uint8_t());
    case DType::u16: return work(std::uint16_t());
    case DType::u32: return work(std::uint32_t());
    default: return work(std::uint64_t());
  }
}

/// Calls work(T()) with the type that a fold in A takes dense elements of `type` in; with A itself when it takes none
/// but its own, and others have to be staged as A.
template <class Fold, class A, Loading kLoading, class Work>
void as_they_lie(DType type, bool dense, Work&& work) {
  if constexpr (kLoading == Loading::truth) {
    if (dense) return as_words(type, work);
  } else if constexpr (std::is_same_v<Fold, Sum<std::uint64_t>>) {
    if (dense && type == DType::boolean) return work(Word<std::uint8_t, false>());
    if (type != DType::boolean) return as_integers(type, work);
  } else if constexpr (std::is_same_v<Fold, SumOfSquares<std::uint64_t>>) {
    if (type != DType::boolean) return as_integers(type, work);
  } else if constexpr (std::is_same_v<Fold, Mean<double>>) {
    if (!is_floating(type) && type != DType::boolean && size_bytes(type) < 8) return as_integers(type, work);
  } else if constexpr (std::is_same_v<A, float>) {
    if (dense && type == DType::f16) return work(Half());
    if (dense && type == DType::bf16) return work(BrainHalf());
  }
  return work(A());
}

}  // namespace ndfold::simd
