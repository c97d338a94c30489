// The bounds, term by term.
#include "tests/support/bounds.h"

#include <bit>

namespace ndfold::test {
namespace {

Index log2_ceil(Index n) {
  return static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(std::max<Index>(n, 1) - 1)));
}

/// |√(s + e) - √s| for |e| <= error, and the root's own rounding.
Real root_error(const Precision& p, Real exact_square, Real error) {
  const Real root = std::sqrt(exact_square);
  const Real spread = root > 0 ? std::min(error / root, std::sqrt(error)) : std::sqrt(error);
  return spread + 2 * p.u() * root;
}

Real sum_error(const Precision& p, const Row& row, bool compensated) {
  const auto height = static_cast<Real>(tree_height(static_cast<Index>(row.size())));
  const Real size = sum_of(mapped(row, magnitude));
  if (!compensated) return p.gamma(height) * size;
  return 2 * p.u() * std::fabs(sum_of(row)) + 2 * height * height * p.u() * p.u() * size;
}

/// Squares may underflow: each loses at most the smallest number.
Real sumsq_error(const Precision& p, const Row& row) {
  const auto n = static_cast<Index>(row.size());
  const Real underflow = static_cast<Real>(n) * p.arithmetic.smallest();
  return p.gamma(static_cast<Real>(tree_height(n) + 1)) * sum_of(mapped(row, squared)) + underflow;
}

Real logsumexp_error(const Precision& p, const Row& row) {
  const Real exact = logsumexp_of(row);
  const Real log_sum = exact - max_of(row);
  return exp_sum_error(p, static_cast<Index>(row.size())) + p.log_error() * std::fabs(log_sum) +
         p.u() * std::fabs(exact);
}

}  // namespace

Index tree_height(Index n) { return std::min(n, kLeafHeight) + log2_ceil(n) + kMergeSlack; }

Precision precision_of(DType input, DType accumulate, DType output) {
  const bool narrow = is_floating(input) && input != DType::f64;
  const DType arithmetic = accumulate != DType::best ? accumulate : narrow ? DType::f32 : DType::f64;
  return {.arithmetic = format_of(arithmetic), .output = format_of(output)};
}

Real with_output(const Precision& p, Real exact, Real error) {
  return error + p.output.unit_roundoff() * (std::fabs(exact) + error) + p.output.smallest();
}

Real variance_error(const Precision& p, const Row& row, Index ddof) {
  const Real n = static_cast<Real>(row.size());
  const Real mean = sum_of(row) / n;
  const Real variance = variance_of(row, 0);
  const Real first = p.gamma(static_cast<Real>(tree_height(static_cast<Index>(row.size())) + 3));
  const Real error = first * std::sqrt(variance * variance + mean * mean * variance) +
                     4 * first * first * (mean * mean + variance) + p.arithmetic.smallest_normal();
  return error * n / std::max(n - static_cast<Real>(ddof), Real(1));
}

Real exp_sum_error(const Precision& p, Index n) {
  const Real merges = static_cast<Real>(log2_ceil(n) + kMergeSlack);
  const Real log_n = std::log(static_cast<Real>(std::max<Index>(n, 1)));
  return 2 * p.u() * log_n + p.exp_error() + merges * (p.exp_error() + p.u()) +
         p.gamma(static_cast<Real>(tree_height(n)));
}

Real reduce_bound(const ReduceSpec& spec, const Precision& p, const Row& row, Real exact) {
  const Real n = static_cast<Real>(row.size());
  const bool nothing = row.empty() || !std::isfinite(exact);
  if (nothing) return 0;
  switch (spec.op) {
    case ReduceOp::sum: return with_output(p, exact, sum_error(p, row, spec.compensated));
    case ReduceOp::mean:  // n is rounded, and the quotient
      return with_output(p, exact, sum_error(p, row, spec.compensated) / n + 2 * p.u() * std::fabs(exact));
    case ReduceOp::prod: return with_output(p, exact, p.gamma(n) * std::fabs(exact) + p.arithmetic.smallest_normal());
    case ReduceOp::l1: return with_output(p, exact, sum_error(p, row, false));
    case ReduceOp::sumsq: return with_output(p, exact, sumsq_error(p, row));
    case ReduceOp::l2: return with_output(p, exact, root_error(p, exact * exact, sumsq_error(p, row)));
    case ReduceOp::var: return with_output(p, exact, variance_error(p, row, spec.ddof));
    case ReduceOp::std_dev:
      return with_output(p, exact, root_error(p, exact * exact, variance_error(p, row, spec.ddof)));
    case ReduceOp::logsumexp: return with_output(p, exact, logsumexp_error(p, row));
    default: return 0;
  }
}

SoftmaxFacts softmax_facts(const SoftmaxSpec& spec, const Precision& p, const Row& row) {
  const Row scaled = mapped(row, [&](Real x) { return spec.scale * x; });
  const auto n = static_cast<Index>(row.size());
  const Real max = max_of(scaled);
  const Real log_n = std::log(static_cast<Real>(std::max<Index>(n, 1)));
  const Real scaling = spec.scale == 1 ? 0 : 2 * p.u() * (std::fabs(max) + log_n);
  return {.max = max, .log_sum = logsumexp_of(scaled) - max, .sum_error = exp_sum_error(p, n) + scaling};
}

Real softmax_bound(const SoftmaxSpec& spec, const Precision& p, const SoftmaxFacts& row, Real x, Real exact) {
  if (!std::isfinite(exact)) return 0;
  const Real y = spec.scale * x;
  const Real alpha = std::fabs(Real(spec.alpha));
  if (std::isinf(y)) return 0;
  const Real distance = std::fabs(y - row.max);
  const Real scaling = spec.scale == 1 ? 0 : p.u() * (std::fabs(y) + std::fabs(row.max) + distance);
  const Real exponent = p.u() * distance + scaling;
  if (spec.kind == SoftmaxKind::softmax) {
    const Real relative = exponent + p.exp_error() + row.sum_error + kFinalRoundings * p.u();
    return with_output(p, exact, relative * std::fabs(exact) + alpha * p.arithmetic.smallest_normal());
  }
  const Real error = exponent + row.sum_error + p.log_error() * std::fabs(row.log_sum);
  return with_output(p, exact, alpha * error + kFinalRoundings * p.u() * std::fabs(exact));
}

}  // namespace ndfold::test
