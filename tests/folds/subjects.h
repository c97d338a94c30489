// What the laws have to know of a fold beside its text: the elements it is tried on, and what the reference says of
// them.
#pragma once
#include <ndfold/adapt.h>

#include "kernels/cpu/states.h"
#include "tests/support/bounds.h"
#include "tests/support/compare.h"

#include <random>
#include <sstream>

namespace ndfold::test {

using namespace folds;

/// The largest elements for which no partial result of a correct fold overflows.
enum class Range : std::uint8_t {
  any,      ///< nothing is computed with them
  sums,     ///< largest / 128: laws fold fewer than 128
  squares,  ///< its square root
  factors,  ///< about 1
};

struct Subject {
  ReduceOp op;
  Range range = Range::any;
  bool exact = false;             ///< every tree gives the same bits
  bool commutes = true;           ///< a ∘ b and b ∘ a are the same bits
  bool uses_exponential = false;  ///< the lanes' is not the numbers'
  bool compensated = false;
  double scale = 1;
  Index ddof = 0;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  Index below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(Index n) { return below(n) == 0; }
  std::uint64_t bits() { return engine_(); }
  /// In [low, high).
  Real between(Real low, Real high) { return low + (high - low) * static_cast<Real>(engine_() >> 11) * 0x1p-53L; }

 private:
  std::mt19937_64 engine_;
};

template <class A>
A huge(Range range) {
  const Real largest = std::numeric_limits<A>::max();
  if (range == Range::sums) return static_cast<A>(largest / 128);
  if (range == Range::squares) return static_cast<A>(std::sqrt(largest) / 128);
  return static_cast<A>(range == Range::factors ? 2 : largest);
}

/// An element without NaN or infinity; `mood` is shared by a row.
template <class A>
Real ordinary(Range range, Index mood, Random& random) {
  const Real sign = random.one_in(2) ? 1 : -1;
  if (range == Range::factors) {
    if (mood == 0) return sign * random.between(0.5L, 2);
    if (mood == 1) return sign * std::ldexp(Real(1), static_cast<int>(random.below(3)) - 1);
    return sign * (random.one_in(9) ? Real(std::numeric_limits<A>::denorm_min()) : random.between(0.5L, 1));
  }
  switch (mood) {
    case 0: return random.between(-8, 8);
    case 1: return sign * static_cast<Real>(random.below(4));  // ties, and zeros of both signs
    case 2: return sign * std::ldexp(random.between(1, 2), static_cast<int>(random.below(40)) - 20);
    case 3: return sign * Real(std::numeric_limits<A>::denorm_min()) * static_cast<Real>(random.below(3));
    case 4: return sign * Real(huge<A>(range)) * random.between(0.5L, 1);
    default: return 1000 + random.between(-1, 1);
  }
}

/// An element that floating-point code gets wrong.
inline Real special(Index family, Random& random) {
  const Real kFamilies[][3] = {{-kInfinity, -kInfinity, -kInfinity},
                               {kInfinity, kInfinity, kInfinity},
                               {kNaN, kNaN, kNaN},
                               {-kInfinity, kNaN, -kInfinity},
                               {kInfinity, -kInfinity, 0},
                               {kNaN, kInfinity, -kInfinity},
                               {0, -0.0L, 0},
                               {-kInfinity, 1, -kInfinity}};
  return kFamilies[family % 8][random.below(3)];
}

/// A row of n elements of type A: plain, sprinkled with specials, or made of nothing else.
template <class A>
Row any_row(Range range, Index n, Random& random) {
  constexpr DType kType = dtype_of<A>::value;
  const Index mood = random.below(range == Range::factors ? 3 : 6), family = random.below(8);
  const bool may_underflow = range == Range::factors && mood == 2;  // then 0 · inf depends on the tree
  const Index rarity = !may_underflow && random.one_in(3) ? (random.one_in(2) ? 1 : 10) : 0;
  Row row;
  for (Index i = 0; i < n; ++i) {
    Real x;
    if constexpr (std::is_integral_v<A>)
      x = random.one_in(3) ? any_bits(kType, random.one_in(2) ? 0 : ~std::uint64_t{0} >> 1)
                           : any_bits(kType, random.bits());
    else
      x = rarity > 0 && random.one_in(rarity) ? special(family, random) : ordinary<A>(range, mood, random);
    row.push_back(stored(kType, x));
  }
  return row;
}

/// Relative error of a sum of powers that is scaled anew at each of n merges.
inline Real powers_error(const Precision& p, Index n) {
  return exp_sum_error(p, n) + static_cast<Real>(n) * (p.exp_error() + 2 * p.u());
}

inline std::string misfit_text(Real got, Real want, Real bound) {
  std::ostringstream text;
  text.precision(20);
  text << "got " << got << ", not " << want << " ± " << bound;
  return text.str();
}

/// Why `got` is not what the reference makes of `row`; empty when it is.
template <class A, class R>
std::string misfit(const Subject& subject, const Row& row, R got) {
  constexpr DType kType = dtype_of<A>::value;
  const ReduceSpec spec{.op = subject.op, .ddof = subject.ddof, .compensated = subject.compensated};
  const Row scaled = mapped(row, [&](Real x) { return subject.scale * x; });
  const Real want = reduced(spec, kType, subject.uses_exponential ? scaled : row);
  const bool floats = std::is_floating_point_v<R>;
  const bool sign_counts = floats && (subject.op == ReduceOp::max || subject.op == ReduceOp::min);
  if (is_same(static_cast<Real>(got), floats ? stored(kType, want) : want, sign_counts)) return {};
  const Precision precision = precision_of(kType, DType::best, kType);
  Real bound = subject.exact ? 0 : reduce_bound(spec, precision, subject.uses_exponential ? scaled : row, want);
  if (subject.uses_exponential && std::isfinite(want)) bound += powers_error(precision, static_cast<Index>(row.size()));
  if (std::fabs(static_cast<Real>(got) - want) <= bound) return {};
  const bool vanished =
      subject.ddof > 0 && std::isinf(want) && variance_of(row, 0) < precision.arithmetic.smallest_normal();
  if (vanished && std::isnan(static_cast<Real>(got))) return {};  // 0 / 0: a variance below the smallest number
  return misfit_text(static_cast<Real>(got), want, bound);
}

/// Of a softmax state. Around an infinite maximum only what later uses of the sum need is asked of it.
template <class A>
std::string misfit(const Subject& subject, const Row& row, MaxAndSum<A> got) {
  const Row scaled = mapped(row, [&](Real x) { return subject.scale * x; });
  const Real max = max_of(scaled);
  if (std::isnan(max)) return std::isnan(got.max) || std::isnan(got.sum) ? "" : "a NaN was lost";
  if (got.max != static_cast<A>(max)) return "max: " + misfit_text(got.max, max, 0);
  if (max == kInfinity) return got.sum > 0 ? "" : "sum beside +inf: " + misfit_text(got.sum, kInfinity, 0);
  if (max == -kInfinity) return got.sum >= 0 ? "" : "sum beside -inf: " + misfit_text(got.sum, 0, 0);
  const Real want = sum_of(mapped(scaled, [max](Real x) { return std::exp(x - max); }));
  const Precision precision = precision_of(dtype_of<A>::value, DType::best, dtype_of<A>::value);
  const Real bound = want * powers_error(precision, static_cast<Index>(row.size()));
  return std::fabs(got.sum - want) <= bound ? "" : "sum: " + misfit_text(got.sum, want, bound);
}

}  // namespace ndfold::test
