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

namespace detail {

/// Any number of axes, any distance. Not inlined: that keeps it out of the way of what is asked often.
[[gnu::noinline]] __device__ inline Offsets far_offsets(const Arguments& step, const AxisGroup& axes, Index linear) {
  Offsets sum;
  for (int i = 0; i < axes.rank; ++i) {
    const AxisNumbers& axis = i < kNearAxes ? axes.near[i] : step.far[axes.first_far + i - kNearAxes];
    turn_axis(axis, i + 1 == axes.rank, linear, sum);
  }
  return sum;
}

}  // namespace detail

/// `linear` is below the product of the axes' sizes; the nearest axis is the fastest. Up to three axes and 31 bits are
/// a few instructions.
__device__ inline Offsets offsets(const Arguments& step, const AxisGroup& axes, Index linear) {
  const AxisNumbers &first = axes.near[0], &second = axes.near[1], &third = axes.near[2];
  if (axes.rank <= 1) return {linear * first.in, linear * first.out, linear * first.value};
  if (axes.rank > kNearAxes || linear >> 31 != 0) return detail::far_offsets(step, axes, linear);
  Index rest = narrow_quotient(linear, first.by), at = linear - rest * first.size;
  Offsets sum{at * first.in, at * first.out, at * first.value};
  if (axes.rank == 3) {
    const Index last = narrow_quotient(rest, second.by);
    rest -= last * second.size;
    sum.in += last * third.in;
    sum.out += last * third.out;
    sum.value += last * third.value;
  }
  return {sum.in + rest * second.in, sum.out + rest * second.out, sum.value + rest * second.value};
}

/// A place among the walked axes, at most kNearAxes, that moves by equal steps: no division or product but for the
/// first. Overflows nothing below 2^30 places.
struct WalkPlace {
  int digits[kNearAxes];
  Index in, out;
};

__device__ inline bool is_walked_by_digits(const Arguments& step) { return step.walk.rank <= kNearAxes; }

__device__ inline WalkPlace walk_place(const Arguments& step, Index linear) {
  WalkPlace place = {};
#pragma unroll
  for (int i = 0; i < kNearAxes; ++i) {
    if (i >= step.walk.rank) break;
    const AxisNumbers& axis = step.walk.near[i];
    const Index rest = i + 1 < step.walk.rank ? narrow_quotient(linear, axis.by) : 0;
    const Index digit = linear - rest * axis.size;
    place.digits[i] = static_cast<int>(digit);
    place.in += digit * axis.in;
    place.out += digit * axis.out;
    linear = rest;
  }
  return place;
}

/// `carry`: what is nearer than the first walked axis begins anew.
__device__ inline void advance_walk(const Arguments& step, WalkPlace& at, const WalkPlace& by, bool carry) {
  at.in += by.in;
  at.out += by.out;
#pragma unroll
  for (int i = 0; i < kNearAxes; ++i) {
    if (i >= step.walk.rank) break;
    if (carry) {
      at.in += step.turns[i].in;
      at.out += step.turns[i].out;
    }
    at.digits[i] += by.digits[i] + static_cast<int>(carry);
    const int size = static_cast<int>(step.walk.near[i].size);
    carry = at.digits[i] >= size;
    if (carry) at.digits[i] -= size;
  }
}

}  // namespace ndfold::cuda
