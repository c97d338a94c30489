// Runs of elements in and out of the types that arithmetic is done in: any dtype, any stride.
#pragma once
#include "kernels/cpu/half_lanes.h"

namespace ndfold::simd {

/// The element type that `A` is, so that a dense run of it needs no conversion.
template <class A>
inline constexpr DType kTypeOf = DType::best;
template <>
inline constexpr DType kTypeOf<Half> = DType::f16;
template <>
inline constexpr DType kTypeOf<BrainHalf> = DType::bf16;
template <>
inline constexpr DType kTypeOf<float> = DType::f32;
template <>
inline constexpr DType kTypeOf<double> = DType::f64;
template <>
inline constexpr DType kTypeOf<std::int8_t> = DType::i8;
template <>
inline constexpr DType kTypeOf<std::int16_t> = DType::i16;
template <>
inline constexpr DType kTypeOf<std::int32_t> = DType::i32;
template <>
inline constexpr DType kTypeOf<std::int64_t> = DType::i64;
template <>
inline constexpr DType kTypeOf<std::uint8_t> = DType::u8;
template <>
inline constexpr DType kTypeOf<std::uint16_t> = DType::u16;
template <>
inline constexpr DType kTypeOf<std::uint32_t> = DType::u32;
template <>
inline constexpr DType kTypeOf<std::uint64_t> = DType::u64;

/// to[i] = from[i · stride] as an A, for n elements of `type`. Integers become a wider unsigned type modulo 2^64.
template <class A>
void load_run(DType type, const std::byte* from, Index stride, Index n, A* to);

/// to[i] = (from[i · stride] ≠ 0).
void load_truth(DType type, const std::byte* from, Index stride, Index n, std::uint8_t* to);

/// to[i · stride] = from[i] as an element of `type`, rounded once; integers wrap; bool is "≠ 0".
template <class A>
void store_run(DType type, std::byte* to, Index stride, Index n, const A* from);

/// The address `elements` further on.
inline const std::byte* advance(const std::byte* from, DType type, Index elements) {
  return from + elements * static_cast<Index>(size_bytes(type));
}
inline std::byte* advance(std::byte* from, DType type, Index elements) {
  return from + elements * static_cast<Index>(size_bytes(type));
}

}  // namespace ndfold::simd
