// The kernels that tests can run, by fold and element type: what a catalog will be, in small.
#pragma once
#include "kernels/cuda/bind.h"
#include "kernels/cuda/kernel_of.h"

#include <span>

namespace simt {

using namespace ndfold;
using namespace ndfold::cuda;

struct Row {
  FoldKind fold;
  DType accumulate, input;
  Found (*find)(const KernelKey&);
};

template <class T>
inline constexpr DType kDTypeOf = DType::best;
template <>
inline constexpr DType kDTypeOf<Half> = DType::f16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::bf16;
template <>
inline constexpr DType kDTypeOf<float> = DType::f32;
template <>
inline constexpr DType kDTypeOf<double> = DType::f64;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::i8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::i16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::i32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::i64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::u8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::u16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::u32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::u64;
template <>
inline constexpr DType kDTypeOf<Boolean> = DType::boolean;

/// A reduction.
template <class F, class T, Breadth kBreadth, template <class, class, int> class Loaded = Elements>
constexpr Row fold_row(FoldKind fold, DType accumulate) {
  return {fold, accumulate, kDTypeOf<T>, fold_kernel<F, typename F::Value, T, Loaded, ResultSink, kBreadth>};
}

/// A softmax into Out, or its states.
template <class A, class T, class Out, Breadth kBreadth>
Found softmax_kernel(const KernelKey& key) {
  using F = folds::OnlineSoftmax<A>;
  if (key.sink == SinkKind::store_state) return fold_kernel<F, A, T, Elements, ResultSink, kBreadth>(key);
  if (key.output != kDTypeOf<Out>) return {};
  return fold_kernel<F, A, T, Elements, ElementSink<Out>, kBreadth>(key);
}

template <class A, class T, class Out, Breadth kBreadth>
constexpr Row softmax_row() {
  return {FoldKind::softmax, kDTypeOf<A>, kDTypeOf<T>, softmax_kernel<A, T, Out, kBreadth>};
}

// One list a file of this folder.
std::span<const Row> sum_rows();
std::span<const Row> argmax_rows();
std::span<const Row> variance_rows();
std::span<const Row> softmax_rows();
std::span<const Row> fold_rows();
std::span<const Row> type_rows();
Found moving_kernel(const KernelKey& key, const Layout& layout);

}  // namespace simt
