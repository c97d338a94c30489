#include "kernels/cpu/instances/maps.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/permute.h"
#include "kernels/cpu/softmax_columns.h"

namespace ndfold::simd {

Run softmax_kernel(Body body, DType accumulate) {
  if (body == Body::rows) return accumulate == DType::f64 ? softmax_rows<double> : softmax_rows<float>;
  return accumulate == DType::f64 ? softmax_columns<double> : softmax_columns<float>;
}

Run elementwise_kernel(DType accumulate) { return accumulate == DType::f64 ? elementwise<double> : elementwise<float>; }

Index elementwise_blocks(DType accumulate, const Arguments& step) {
  const bool across = accumulate == DType::f64 ? maps_across<double>(step) : maps_across<float>(step);
  if (across) return CrossingTiles(step).blocks();
  return along_columns(step) ? column_blocks(step) : row_blocks(step);
}

Run permute_kernel(DType type) {
  switch (size_bytes(type)) {
    case 1: return permute<1>;
    case 2: return permute<2>;
    case 4: return permute<4>;
    default: return permute<8>;
  }
}

Index permute_blocks(const Arguments& step) { return PermutePlan(step.kept).blocks; }

}  // namespace ndfold::simd
