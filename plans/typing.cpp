#include "plans/typing.h"

#include <algorithm>
#include <string>

namespace ndfold {
namespace {

struct OpRow {
  FoldKind fold, compensated;
  bool floating_only_result;  // integers are folded in f64 (mean, var, norms)
};

// In the order of ReduceOp.
constexpr OpRow kOpRows[kReduceOpCount] = {
    {FoldKind::sum, FoldKind::compensated_sum, false},
    {FoldKind::prod, FoldKind::none, false},
    {FoldKind::mean, FoldKind::compensated_mean, true},
    {FoldKind::max, FoldKind::none, false},
    {FoldKind::min, FoldKind::none, false},
    {FoldKind::var, FoldKind::none, true},
    {FoldKind::std_dev, FoldKind::none, true},
    {FoldKind::any, FoldKind::none, false},
    {FoldKind::all, FoldKind::none, false},
    {FoldKind::count_nonzero, FoldKind::none, false},
    {FoldKind::argmax, FoldKind::none, false},
    {FoldKind::argmin, FoldKind::none, false},
    {FoldKind::sumsq, FoldKind::none, false},
    {FoldKind::l1, FoldKind::none, true},
    {FoldKind::l2, FoldKind::none, true},
    {FoldKind::linf, FoldKind::none, true},
    {FoldKind::logsumexp, FoldKind::none, true},
};

static_assert(kOpRows[kReduceOpCount - 1].fold != FoldKind::none, "every op has a row");

const OpRow& row_of(ReduceOp op) { return kOpRows[static_cast<int>(op)]; }

std::string quoted(std::string_view text) { return std::string(text); }

// The types in which an op may accumulate this input; the first is its own choice.
struct Choices {
  DType first, second = DType::best;
};

Choices accumulators(ReduceOp op, DType input) {
  switch (facts(op).output) {
    case OutputRule::boolean:
    case OutputRule::count: return {DType::i64};
    case OutputRule::same:
    case OutputRule::index: return {is_floating(input) ? floating_accumulator(input) : input};
    default: break;
  }
  if (input == DType::f64) return {DType::f64};
  if (is_floating(input)) return {DType::f32, DType::f64};
  if (row_of(op).floating_only_result) return {DType::f64};
  return {is_unsigned_integer(input) ? DType::u64 : DType::i64};
}

struct IntegerRange {
  int low_bits, high_bits;  // holds [-2^low_bits, 2^high_bits), low_bits 0 for unsigned
};

IntegerRange range_of(DType type) {
  const int bits = static_cast<int>(size_bytes(type)) * 8;
  if (type == DType::boolean) return {0, 1};
  return is_signed_integer(type) ? IntegerRange{bits - 1, bits - 1} : IntegerRange{0, bits};
}

bool holds_all(DType outer, DType inner) {
  if (outer == inner) return true;
  if (outer == DType::boolean || !is_integer(outer)) return false;
  return range_of(outer).low_bits >= range_of(inner).low_bits && range_of(outer).high_bits >= range_of(inner).high_bits;
}

bool may_write(ReduceOp op, DType input, DType output) {
  switch (facts(op).output) {
    case OutputRule::arithmetic: return is_floating(input) ? is_floating(output) : is_integer(output);
    case OutputRule::floating: return is_floating(output);
    case OutputRule::floating_only: return is_floating(input) && is_floating(output);
    case OutputRule::same: return is_floating(input) ? is_floating(output) : holds_all(output, input);
    case OutputRule::boolean: return output == DType::boolean || output == DType::u8;
    case OutputRule::count:
    case OutputRule::index: return is_integer(output) && size_bytes(output) >= 4;
  }
  return false;
}

}  // namespace

FoldKind fold_of(ReduceOp op, bool compensated) { return compensated ? row_of(op).compensated : row_of(op).fold; }

Result<DType> accumulate_type(ReduceOp op, DType input, DType wanted) {
  const auto [first, second] = accumulators(op, input);
  if (wanted == DType::best) return first;
  if (wanted == first || wanted == second) return wanted;
  return Status(Code::unsupported, quoted(name(op)) + " of " + quoted(name(input)) + " cannot accumulate in " +
                                       quoted(name(wanted)) + ", only in " + quoted(name(first)) +
                                       (second == DType::best ? "" : " or " + quoted(name(second))));
}

Status check_output_type(ReduceOp op, DType input, DType output) {
  if (default_output(op, input) == DType::best)
    return Status(Code::unsupported, quoted(name(op)) + " takes floating input, not " + quoted(name(input)));
  if (!may_write(op, input, output))
    return Status(Code::unsupported, quoted(name(op)) + " of " + quoted(name(input)) + " cannot be written as " +
                                         quoted(name(output)) + "; its own output type is " +
                                         quoted(name(default_output(op, input))));
  return {};
}

Index state_bytes(FoldKind fold, DType accumulate) {
  const Index word = static_cast<Index>(size_bytes(accumulate));
  switch (fold) {
    case FoldKind::none: return 0;
    case FoldKind::compensated_sum:
    case FoldKind::compensated_mean:
    case FoldKind::logsumexp:
    case FoldKind::softmax: return 2 * word;
    case FoldKind::var:
    case FoldKind::std_dev: return 3 * word;
    case FoldKind::any:
    case FoldKind::all:
    case FoldKind::count_nonzero: return 8;
    case FoldKind::argmax:
    case FoldKind::argmin: return 16;
    default: return word;
  }
}

}  // namespace ndfold
