// Data makers: what an element holds, as a function of its row-major number.
#pragma once
#include "tests/support/buffers.h"

namespace ndfold::test {

enum class Values {
  whole,       ///< integers in [-15, 15]: f32 sums of 2^20 of them are exact in any order
  factors,     ///< ±1, and a few ±2 and ±1/2: exact products
  positive,    ///< in (0, 1]
  mixed,       ///< in (-8, 8)
  cancelling,  ///< large pairs x, -x among small numbers
  decades,     ///< positive, from 1e-6 to 1e6 (1e-2 to 1e2 in f16)
  ties,        ///< one of 0, 1, 2
  shifted,     ///< in 1000 + (-1, 1): a mean that is large against the deviation
  bits,        ///< any integer of the type; as `mixed` for floats
  ascending,   ///< slowly rising: every element is a new maximum
};

inline constexpr Values kAllValues[] = {Values::whole,      Values::factors,  Values::positive, Values::mixed,
                                        Values::cancelling, Values::decades,  Values::ties,     Values::shifted,
                                        Values::bits,       Values::ascending};

/// Steele, Lea, Flood 2014 (SplitMix64): the same numbers on every machine and in any order.
std::uint64_t hash(std::uint64_t number);

/// Uniform in [0, 1).
Real uniform(std::uint64_t number);

/// Any whole number of the type.
Real any_bits(DType type, std::uint64_t random);

Real floating_value(Values values, DType type, Index i, std::uint64_t seed);

/// Element i of n.
Real value(Values values, DType type, Index i, Index n, std::uint64_t seed);

/// Views that visit an element several times leave the last value there.
void fill(Array& array, Values values, std::uint64_t seed = 1);

/// All elements alike.
void fill_with(Array& array, Real same);

void fill_with(Array& array, const Row& row);

/// What floating-point code gets wrong: put these at first, last and vector edges.
Row specials(DType type);

}  // namespace ndfold::test
