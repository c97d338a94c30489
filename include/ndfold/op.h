// The reductions and what they give back by default.
#pragma once
#include <ndfold/dtype.h>

#include <optional>
#include <string_view>

namespace ndfold {

/// n is the number of elements folded into one output.
enum class ReduceOp : std::uint8_t {
  sum,
  prod,
  mean,           ///< sum / n
  max,            ///< NaN wins; +0 is above -0 (IEEE 754-2019 maximum)
  min,            ///< NaN wins; -0 is below +0 (IEEE 754-2019 minimum)
  var,            ///< Σ(x - mean)² / max(n - ddof, 0); Chan, Golub, LeVeque 1979
  std_dev,        ///< square root of var; called "std"
  any,            ///< some element is not 0 (NaN counts as not 0)
  all,            ///< no element is 0
  count_nonzero,  ///< how many elements are not 0
  argmax,         ///< row-major index within the reduced axes; first NaN, else lowest index of the maximum
  argmin,         ///< as argmax, of the minimum
  sumsq,          ///< Σx²
  l1,             ///< Σ|x|
  l2,             ///< √Σx²
  linf,           ///< max |x|
  logsumexp,      ///< log Σ exp(x), by the running {max, sum} of Milakov and Gimelshein, arXiv:1805.02867
};

inline constexpr int kReduceOpCount = 17;

enum class SoftmaxKind : std::uint8_t {
  softmax,      ///< exp(x - max) / Σ exp(x - max)
  log_softmax,  ///< (x - max) - log Σ exp(x - max)
};

/// What an op gives for an empty set of elements, which element types it takes, and its default output type.
enum class OutputRule : std::uint8_t {
  arithmetic,     ///< floating input keeps its type; signed integers and bool → i64, unsigned → u64
  floating,       ///< floating input keeps its type; integers and bool → f64
  floating_only,  ///< floating input keeps its type; integers and bool are refused
  same,           ///< the input's type
  boolean,        ///< bool
  count,          ///< i64, or u64 for unsigned input
  index,          ///< i64
};

struct OpFacts {
  std::string_view name;  ///< as the command line spells it
  OutputRule output;
  bool needs_elements;  ///< refuses to reduce 0 elements
};

/// One row an op, in the order of the enum.
inline constexpr OpFacts kOpFacts[kReduceOpCount] = {
    {"sum", OutputRule::arithmetic, false},
    {"prod", OutputRule::arithmetic, false},
    {"mean", OutputRule::floating, false},
    {"max", OutputRule::same, true},
    {"min", OutputRule::same, true},
    {"var", OutputRule::floating, false},
    {"std", OutputRule::floating, false},
    {"any", OutputRule::boolean, false},
    {"all", OutputRule::boolean, false},
    {"count_nonzero", OutputRule::count, false},
    {"argmax", OutputRule::index, true},
    {"argmin", OutputRule::index, true},
    {"sumsq", OutputRule::arithmetic, false},
    {"l1", OutputRule::floating, false},
    {"l2", OutputRule::floating, false},
    {"linf", OutputRule::floating, false},
    {"logsumexp", OutputRule::floating_only, false},
};
static_assert(!kOpFacts[kReduceOpCount - 1].name.empty(), "every op has a row");

constexpr bool is_known(ReduceOp op) { return static_cast<int>(op) < kReduceOpCount; }
constexpr const OpFacts& facts(ReduceOp op) { return kOpFacts[is_known(op) ? static_cast<int>(op) : 0]; }
constexpr std::string_view name(ReduceOp op) { return is_known(op) ? facts(op).name : "unknown"; }
constexpr std::string_view name(SoftmaxKind kind) { return kind == SoftmaxKind::softmax ? "softmax" : "log_softmax"; }

/// The op called `text` ("sum", "std", "argmax", …), or nothing.
constexpr std::optional<ReduceOp> parse_op(std::string_view text) {
  for (int i = 0; i < kReduceOpCount; ++i)
    if (kOpFacts[i].name == text) return static_cast<ReduceOp>(i);
  return std::nullopt;
}

/// The output type used when the caller names none; DType::best when the op refuses this input.
constexpr DType default_output(ReduceOp op, DType input) {
  const bool floats = is_floating(input);
  const DType integer = is_unsigned_integer(input) ? DType::u64 : DType::i64;
  switch (facts(op).output) {
    case OutputRule::arithmetic: return floats ? input : integer;
    case OutputRule::floating: return floats ? input : DType::f64;
    case OutputRule::floating_only: return floats ? input : DType::best;
    case OutputRule::same: return input;
    case OutputRule::boolean: return DType::boolean;
    case OutputRule::count: return integer;
    case OutputRule::index: return DType::i64;
  }
  return DType::best;
}

}  // namespace ndfold
