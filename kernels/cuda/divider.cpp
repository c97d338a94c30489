#include "kernels/cuda/bind.h"

#include <bit>

namespace ndfold::cuda {

Divider divide_by(Index divisor) {
  if (divisor <= 1) return {};
  const auto by = static_cast<std::uint64_t>(divisor);
  const int bits = static_cast<int>(std::bit_width(by - 1));  // 2^(bits - 1) < divisor <= 2^bits
  std::uint64_t quotient = 0, narrow = 0, rest = 1;
  for (int i = 0; i < 63 + bits; ++i) {  // 2^(63 + bits) / divisor, a bit at a time
    rest *= 2;
    quotient = quotient * 2 + (rest >= by);
    if (rest >= by) rest -= by;
    if (i + 1 == 31 + bits) narrow = quotient;
  }
  const bool is_narrow = bits < 32;
  return {.multiplier = quotient + 1,
          .narrow_multiplier = is_narrow ? static_cast<std::uint32_t>(narrow + 1) : 0,
          .shift = bits - 1};
}

}  // namespace ndfold::cuda
