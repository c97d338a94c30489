// Data for timing: zeros would flatter a kernel, and NaN or huge numbers would slow it.
#include "tools/random.h"

#include <cstring>
#include <random>

namespace ndfold::cli {
namespace {

constexpr std::uint64_t kSeed = 20240607;

struct FloatFormat {
  DType type;
  unsigned mantissa_bits;
  std::uint64_t bias;
};

constexpr FloatFormat kFormats[] = {
    {DType::f16, 10, 15}, {DType::bf16, 7, 127}, {DType::f32, 23, 127}, {DType::f64, 52, 1023}};

// Sign, exponent -3 … 1 and mantissa from the bits of one random word.
std::uint64_t float_bits(const FloatFormat& format, std::uint64_t word) {
  const std::uint64_t mantissa = word & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const std::uint64_t exponent = format.bias - 3 + (word >> 56) % 5;
  const std::uint64_t sign = (word >> 55) & 1;
  const auto sign_place = 8 * size_bytes(format.type) - 1;
  return sign << sign_place | exponent << format.mantissa_bits | mantissa;
}

}  // namespace

void fill_random(DType type, void* data, std::size_t elements) {
  const FloatFormat* format = nullptr;
  for (const auto& row : kFormats)
    if (row.type == type) format = &row;
  std::mt19937_64 words(kSeed);
  auto* at = static_cast<std::byte*>(data);
  for (std::size_t i = 0; i < elements; ++i, at += size_bytes(type)) {
    std::uint64_t bits = words();
    if (format != nullptr)
      bits = float_bits(*format, bits);
    else if (type == DType::boolean)
      bits &= 1;
    std::memcpy(at, &bits, size_bytes(type));  // little-endian: the low bytes of the word
  }
}

}  // namespace ndfold::cli
