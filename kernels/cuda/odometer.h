// From a row-major index over some axes to offsets in the buffers.
#pragma once
#include "kernels/cuda/dialect.h"

namespace ndfold::cuda {

struct Offsets {
  Index in = 0, out = 0, value = 0;  // in elements
};

namespace detail {

/// Takes this axis's part of `linear` off.
__device__ inline void turn_axis(const AxisNumbers& axis, bool is_last, Index& linear, Offsets& sum) {
  const Index rest = is_last ? 0 : quotient(linear, axis.by);
  const Index at = linear - rest * axis.size;
  sum.in += at * axis.in;
  sum.out += at * axis.out;
  sum.value += at * axis.value;
  linear = rest;
}

}  // namespace detail

/// `linear` is below the product of the axes' sizes; the nearest axis is the fastest. The near ones are operands of
/// instructions; the far ones are looked up, which takes longer than all the rest.
__device__ inline Offsets offsets(const Arguments& step, const AxisGroup& axes, Index linear) {
  Offsets sum;
  if (axes.rank > 0) detail::turn_axis(axes.near[0], axes.rank == 1, linear, sum);
  if (axes.rank > 1) detail::turn_axis(axes.near[1], axes.rank == 2, linear, sum);
  for (int i = kNearAxes; i < axes.rank; ++i)
    detail::turn_axis(step.far[axes.first_far + i - kNearAxes], i + 1 == axes.rank, linear, sum);
  return sum;
}

}  // namespace ndfold::cuda
