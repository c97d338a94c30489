// The CPU kernels that write as many elements as they read.
#pragma once
#include "kernels/cpu/arguments.h"

namespace ndfold::simd {

Run softmax_kernel(Body body, DType accumulate);

Run elementwise_kernel(DType accumulate);
Index elementwise_blocks(DType accumulate, const Arguments& step);

Run permute_kernel(DType type);
Index permute_blocks(const Arguments& step);

}  // namespace ndfold::simd
