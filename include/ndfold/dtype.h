// Element types: what they are called, how wide they are, which family they belong to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ndfold {

/// Sizes, strides, offsets and counts: 64-bit, signed, in elements unless a name says bytes.
using Index = std::int64_t;

/// The element types. `best` is not a type of data: it asks the library to choose (see default_output()).
enum class DType : std::uint8_t { best, f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

inline constexpr int kDTypeCount = 14;

enum class DTypeFamily : std::uint8_t { none, floating, signed_integer, unsigned_integer, boolean };

struct DTypeFacts {
  std::string_view name;  ///< as the command line and explain() spell it: "f32", "u8", "bool"
  std::size_t bytes;      ///< of one element; 0 for `best`
  DTypeFamily family;
};

/// One row a type, in the order of the enum.
inline constexpr DTypeFacts kDTypeFacts[kDTypeCount] = {
    {"best", 0, DTypeFamily::none},
    {"f16", 2, DTypeFamily::floating},
    {"bf16", 2, DTypeFamily::floating},
    {"f32", 4, DTypeFamily::floating},
    {"f64", 8, DTypeFamily::floating},
    {"i8", 1, DTypeFamily::signed_integer},
    {"i16", 2, DTypeFamily::signed_integer},
    {"i32", 4, DTypeFamily::signed_integer},
    {"i64", 8, DTypeFamily::signed_integer},
    {"u8", 1, DTypeFamily::unsigned_integer},
    {"u16", 2, DTypeFamily::unsigned_integer},
    {"u32", 4, DTypeFamily::unsigned_integer},
    {"u64", 8, DTypeFamily::unsigned_integer},
    {"bool", 1, DTypeFamily::boolean},
};

constexpr bool is_known(DType type) { return static_cast<int>(type) < kDTypeCount; }
constexpr const DTypeFacts& facts(DType type) { return kDTypeFacts[is_known(type) ? static_cast<int>(type) : 0]; }
constexpr std::string_view name(DType type) { return is_known(type) ? facts(type).name : "unknown"; }
constexpr std::size_t size_bytes(DType type) { return facts(type).bytes; }
constexpr bool is_floating(DType type) { return facts(type).family == DTypeFamily::floating; }
constexpr bool is_signed_integer(DType type) { return facts(type).family == DTypeFamily::signed_integer; }
constexpr bool is_unsigned_integer(DType type) { return facts(type).family == DTypeFamily::unsigned_integer; }
constexpr bool is_integer(DType type) { return is_signed_integer(type) || is_unsigned_integer(type); }

/// The type called `text` ("f32", "bool", …), or nothing.
constexpr std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypeFacts[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace ndfold
