// The specification: naive loops in long double, one element at a time, never optimized.
#pragma once
#include <ndfold/spec.h>

#include "tests/support/convert.h"

#include <vector>

namespace ndfold::test {

using Row = std::vector<Real>;  // the elements behind one output, in row-major order of the reduced axes

/// Offsets of all elements, in row-major order of the axes.
inline std::vector<Index> offsets(const std::vector<Index>& sizes, const std::vector<Index>& strides) {
  std::vector<Index> list = {0};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::vector<Index> longer;
    for (const Index base : list)
      for (Index i = 0; i < sizes[axis]; ++i) longer.push_back(base + i * strides[axis]);
    list = std::move(longer);
  }
  return list;
}

/// One flag an axis: is it reduced?
inline std::vector<bool> reduced_axes(int rank, const AxisSet& axes) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), axes.is_all());
  for (const int axis : axes.list()) reduced[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  return reduced;
}

/// The offsets of a view's axes that are reduced, or of those that are not.
inline std::vector<Index> offsets_of(const ViewDesc& view, const std::vector<bool>& reduced, bool which) {
  std::vector<Index> sizes, strides;
  for (std::size_t axis = 0; axis < view.sizes.size(); ++axis) {
    if (reduced[axis] != which) continue;
    sizes.push_back(view.sizes[axis]);
    strides.push_back(view.strides[axis]);
  }
  return offsets(sizes, strides);
}

/// Element (0, …, 0) is at `data`; `offset` counts elements.
inline Real element(const ConstTensorView& view, Index offset) {
  const auto bytes = static_cast<Index>(size_bytes(view.desc.dtype));
  return load(view.desc.dtype, static_cast<const std::byte*>(view.data) + offset * bytes);
}

/// Σ with the rounding errors carried along (Neumaier 1974); infinities and NaN as IEEE addition has them.
inline Real sum_of(const Row& row) {
  Real sum = 0, lost = 0, plain = 0;
  for (const Real x : row) {
    const Real next = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
    plain += x;
  }
  return std::isfinite(plain) ? sum + lost : plain;
}

template <class Map>
Row mapped(Row row, Map map) {
  for (Real& x : row) x = map(x);
  return row;
}

/// NaN wins, and +0 is above -0; of nothing, -inf.
inline Real max_of(const Row& row) {
  Real best = -kInfinity;
  for (const Real x : row) {
    if (std::isnan(x)) return x;
    if (x > best || (x == best && !std::signbit(x))) best = x;
  }
  return best;
}

/// The first NaN, else the first of the largest; +0 and -0 are equally large.
inline Index argmax_of(const Row& row) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return static_cast<Index>(i);
    if (row[i] > row[best]) best = i;
  }
  return static_cast<Index>(best);
}

inline Real negated(Real x) { return -x; }
inline Real squared(Real x) { return x * x; }
inline Real magnitude(Real x) { return std::fabs(x); }
inline Real is_nonzero(Real x) { return x != 0 ? 1 : 0; }  // NaN is not 0

inline Real product_of(const Row& row) {
  Real product = 1;
  for (const Real x : row) product *= x;
  return product;
}

inline Real variance_of(const Row& row, Index ddof) {
  const Real n = static_cast<Real>(row.size());
  const Real mean = sum_of(row) / n;
  const Real m2 = sum_of(mapped(row, [mean](Real x) { return squared(x - mean); }));
  return m2 / std::max(n - static_cast<Real>(ddof), Real(0));
}

inline Real logsumexp_of(const Row& row) {
  const Real max = max_of(row);
  if (std::isinf(max)) return max;
  return max + std::log(sum_of(mapped(row, [max](Real x) { return std::exp(x - max); })));
}

/// Integer sums and products, modulo 2^64.
inline Real whole_of(ReduceOp op, DType input, const Row& row) {
  std::uint64_t total = op == ReduceOp::prod ? 1 : 0;
  for (const Real x : row) {
    const std::uint64_t bits = to_bits(x);
    total = op == ReduceOp::prod ? total * bits : total + (op == ReduceOp::sumsq ? bits * bits : bits);
  }
  return is_unsigned_integer(input) ? static_cast<Real>(total) : static_cast<Real>(static_cast<std::int64_t>(total));
}

inline Real reduced(const ReduceSpec& spec, DType input, const Row& row) {
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

/// The two-pass formula, so a +inf gives inf - inf = NaN, and so does a row of -inf.
inline Row softmax_of(const SoftmaxSpec& spec, const Row& row) {
  const Row shifted = mapped(row, [&, max = max_of(mapped(row, [&](Real x) { return spec.scale * x; }))](Real x) {
    return spec.scale * x - max;
  });
  const Real sum = sum_of(mapped(shifted, [](Real y) { return std::exp(y); }));
  return mapped(shifted, [&](Real y) {
    return spec.alpha * (spec.kind == SoftmaxKind::softmax ? std::exp(y) / sum : y - std::log(sum));
  });
}

}  // namespace ndfold::test
