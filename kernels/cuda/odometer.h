// From a row-major index over some axes to offsets in the buffers.
#pragma once
#include "kernels/cuda/dialect.h"

namespace ndfold::cuda {

struct Offsets {
  Index in = 0, out = 0, value = 0;  // in elements
};

/// `linear` is below the product of the axes' sizes; the last axis is the fastest.
__device__ inline Offsets offsets(const AxisNumbers* axes, int rank, Index linear) {
  Offsets sum;
  for (int i = rank; i-- > 0;) {
    const Index rest = i > 0 ? quotient(linear, axes[i].by) : 0;
    const Index at = linear - rest * axes[i].size;
    sum.in += at * axes[i].in;
    sum.out += at * axes[i].out;
    sum.value += at * axes[i].value;
    linear = rest;
  }
  return sum;
}

}  // namespace ndfold::cuda
