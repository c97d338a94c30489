// The specification, loop by loop.
#include "tests/support/reference.h"

namespace ndfold::test {
namespace {

/// The first NaN, else the first of the largest; +0 and -0 are equally large.
Index argmax_of(const Row& row) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return static_cast<Index>(i);
    if (row[i] > row[best]) best = i;
  }
  return static_cast<Index>(best);
}

Real product_of(const Row& row) {
  Real product = 1;
  for (const Real x : row) product *= x;
  return product;
}

/// Integer sums and products, modulo 2^64.
Real whole_of(ReduceOp op, DType input, const Row& row) {
  std::uint64_t total = op == ReduceOp::prod ? 1 : 0;
  for (const Real x : row) {
    const std::uint64_t bits = to_bits(x);
    total = op == ReduceOp::prod ? total * bits : total + (op == ReduceOp::sumsq ? bits * bits : bits);
  }
  return is_unsigned_integer(input) ? static_cast<Real>(total) : static_cast<Real>(static_cast<std::int64_t>(total));
}

}  // namespace

std::vector<Index> offsets(const std::vector<Index>& sizes, const std::vector<Index>& strides) {
  std::vector<Index> list = {0};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::vector<Index> longer;
    longer.reserve(list.size() * static_cast<std::size_t>(sizes[axis]));
    for (const Index base : list)
      for (Index i = 0; i < sizes[axis]; ++i) longer.push_back(base + i * strides[axis]);
    list = std::move(longer);
  }
  return list;
}

std::vector<bool> reduced_axes(int rank, const AxisSet& axes) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), axes.is_all());
  for (const int axis : axes.list()) reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  return reduced;
}

std::vector<Index> offsets_of(const ViewDesc& view, const std::vector<bool>& reduced, bool which) {
  std::vector<Index> sizes, strides;
  for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
    if (reduced[axis] != which) continue;
    sizes.push_back(view.sizes[axis]);
    strides.push_back(view.strides[axis]);
  }
  return offsets(sizes, strides);
}

Real element(const ConstTensorView& view, Index offset) {
  const auto bytes = static_cast<Index>(size_bytes(view.desc.dtype));
  return load(view.desc.dtype, static_cast<const std::byte*>(view.data) + offset * bytes);
}

Real sum_of(const Row& row) {
  Real sum = 0, lost = 0, plain = 0;
  for (const Real x : row) {
    const Real next = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
    plain += x;
  }
  return std::isfinite(plain) ? sum + lost : plain;
}

Real max_of(const Row& row) {
  Real best = -kInfinity;
  for (const Real x : row) {
    if (std::isnan(x)) return x;
    if (x > best || (x == best && !std::signbit(x))) best = x;
  }
  return best;
}

Real variance_of(const Row& row, Index ddof) {
  const Real n = static_cast<Real>(row.size());
  const Real mean = sum_of(row) / n;
  const Real m2 = sum_of(mapped(row, [mean](Real x) { return squared(x - mean); }));
  return m2 / std::max(n - static_cast<Real>(ddof), Real(0));
}

Real logsumexp_of(const Row& row) {
  const Real max = max_of(row);
  if (std::isinf(max)) return max;
  return max + std::log(sum_of(mapped(row, [max](Real x) { return std::exp(x - max); })));
}

Real reduced(const ReduceSpec& spec, DType input, const Row& row) {
  const bool whole = !is_floating(input);
  const Real n = static_cast<Real>(row.size());
  switch (spec.op) {
    case ReduceOp::sum: return whole ? whole_of(spec.op, input, row) : sum_of(row);
    case ReduceOp::prod: return whole ? whole_of(spec.op, input, row) : product_of(row);
    case ReduceOp::sumsq: return whole ? whole_of(spec.op, input, row) : sum_of(mapped(row, squared));
    case ReduceOp::mean: return sum_of(row) / n;
    case ReduceOp::max: return max_of(row);
    case ReduceOp::min: return -max_of(mapped(row, negated));
    case ReduceOp::var: return variance_of(row, spec.ddof);
    case ReduceOp::std_dev: return std::sqrt(variance_of(row, spec.ddof));
    case ReduceOp::any: return sum_of(mapped(row, is_nonzero)) > 0 ? 1 : 0;
    case ReduceOp::all: return sum_of(mapped(row, is_nonzero)) == n ? 1 : 0;
    case ReduceOp::count_nonzero: return sum_of(mapped(row, is_nonzero));
    case ReduceOp::argmax: return static_cast<Real>(argmax_of(row));
    case ReduceOp::argmin: return static_cast<Real>(argmax_of(mapped(row, negated)));
    case ReduceOp::l1: return sum_of(mapped(row, magnitude));
    case ReduceOp::l2: return std::sqrt(sum_of(mapped(row, squared)));
    case ReduceOp::linf: return row.empty() ? 0 : max_of(mapped(row, magnitude));
    case ReduceOp::logsumexp: return logsumexp_of(row);
  }
  return kNaN;
}

Row softmax_of(const SoftmaxSpec& spec, const Row& row) {
  const Row shifted = mapped(row, [&, max = max_of(mapped(row, [&](Real x) { return spec.scale * x; }))](Real x) {
    return spec.scale * x - max;
  });
  const Real sum = sum_of(mapped(shifted, [](Real y) { return std::exp(y); }));
  return mapped(shifted, [&](Real y) {
    return spec.alpha * (spec.kind == SoftmaxKind::softmax ? std::exp(y) / sum : y - std::log(sum));
  });
}

}  // namespace ndfold::test
