// The specification: naive loops in long double, one element at a time, never optimized.
#pragma once
#include <ndfold/spec.h>

#include "tests/support/convert.h"

#include <vector>

namespace ndfold::test {

using Row = std::vector<Real>;  // the elements behind one output, in row-major order of the reduced axes

/// Offsets of all elements, in row-major order of the axes.
std::vector<Index> offsets(const std::vector<Index>& sizes, const std::vector<Index>& strides);

/// One flag an axis: is it reduced?
std::vector<bool> reduced_axes(int rank, const AxisSet& axes);

/// The offsets of a view's axes that are reduced, or of those that are not.
std::vector<Index> offsets_of(const ViewDesc& view, const std::vector<bool>& reduced, bool which);

/// Element (0, …, 0) is at `data`; `offset` counts elements.
Real element(const ConstTensorView& view, Index offset);

/// Σ with the rounding errors carried along (Neumaier 1974); infinities and NaN as IEEE addition has them.
Real sum_of(const Row& row);

template <class Map>
Row mapped(Row row, Map map) {
  for (Real& x : row) x = map(x);
  return row;
}

/// NaN wins, and +0 is above -0; of nothing, -inf.
Real max_of(const Row& row);

inline Real negated(Real x) { return -x; }
inline Real squared(Real x) { return x * x; }
inline Real magnitude(Real x) { return std::fabs(x); }
inline Real is_nonzero(Real x) { return x != 0 ? 1 : 0; }  // NaN is not 0

Real variance_of(const Row& row, Index ddof);

Real logsumexp_of(const Row& row);

Real reduced(const ReduceSpec& spec, DType input, const Row& row);

/// The two-pass formula, so a +inf gives inf - inf = NaN, and so does a row of -inf.
Row softmax_of(const SoftmaxSpec& spec, const Row& row);

}  // namespace ndfold::test
