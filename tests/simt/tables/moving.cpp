// The bodies that write as many elements as they read.
#include "tests/simt/tables/table.h"

namespace simt {
namespace {

template <class T, class A>
Found elementwise_into(DType output, bool dense) {
  if (output == kDTypeOf<A>) return elementwise_kernel<T, A, A>(dense);
  if (output == kDTypeOf<T>) return elementwise_kernel<T, A, T>(dense);
  if (std::is_same_v<T, A> && output == DType::bf16) return elementwise_kernel<T, A, BFloat16>(dense);
  return {};
}

Found elementwise_of(const KernelKey& key, bool dense) {
  switch (key.input) {
    case DType::f32: return elementwise_into<float, float>(key.output, dense);
    case DType::bf16: return elementwise_into<BFloat16, float>(key.output, dense);
    case DType::f64: return elementwise_into<double, double>(key.output, dense);
    default: return {};
  }
}

}  // namespace

Found moving_kernel(const KernelKey& key, const Layout& layout) {
  if (key.body == Body::elementwise) return elementwise_of(key, layout.dense);
  switch (size_bytes(key.input)) {
    case 1: return permute_kernel<std::uint8_t>(layout.same_axis, layout.dense);
    case 2: return permute_kernel<std::uint16_t>(layout.same_axis, layout.dense);
    case 4: return permute_kernel<std::uint32_t>(layout.same_axis, layout.dense);
    default: return permute_kernel<std::uint64_t>(layout.same_axis, layout.dense);
  }
}

}  // namespace simt
