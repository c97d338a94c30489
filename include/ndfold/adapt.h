// view_of(x): views of other libraries' tensors, recognized by their members. No header but std and ndfold is needed.
#pragma once
#include <ndfold/view.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace Eigen {
struct half;
struct bfloat16;
}  // namespace Eigen
struct __half;         // CUDA, cuda_fp16.h
struct __nv_bfloat16;  // CUDA, cuda_bf16.h

namespace ndfold {

/// The DType of a C++ type, as `value`. Specialize it for number types of your own that have one of ndfold's formats.
template <class T>
struct dtype_of;

namespace detail {

template <class T, class... Others>
concept OneOf = (std::same_as<T, Others> || ...);

/// char is text and not a number; int8_t and uint8_t are signed char and unsigned char.
template <class T>
concept SignedNumber = OneOf<T, signed char, short, int, long, long long>;
template <class T>
concept UnsignedNumber = OneOf<T, unsigned char, unsigned short, unsigned, unsigned long, unsigned long long>;

template <DType kType>
using IsDType = std::integral_constant<DType, kType>;

/// One of four types that follow each other in DType: of 1, 2, 4 and 8 bytes.
template <class T, DType kOneByte>
using ByWidth = IsDType<static_cast<DType>(static_cast<int>(kOneByte) + std::countr_zero(sizeof(T)))>;

}  // namespace detail

template <detail::SignedNumber T>
struct dtype_of<T> : detail::ByWidth<T, DType::i8> {};
template <detail::UnsignedNumber T>
struct dtype_of<T> : detail::ByWidth<T, DType::u8> {};
template <>
struct dtype_of<float> : detail::IsDType<DType::f32> {};
template <>
struct dtype_of<double> : detail::IsDType<DType::f64> {};
template <>
struct dtype_of<bool> : detail::IsDType<DType::boolean> {};
template <>
struct dtype_of<Eigen::half> : detail::IsDType<DType::f16> {};
template <>
struct dtype_of<Eigen::bfloat16> : detail::IsDType<DType::bf16> {};
template <>
struct dtype_of<__half> : detail::IsDType<DType::f16> {};
template <>
struct dtype_of<__nv_bfloat16> : detail::IsDType<DType::bf16> {};

/// A type of elements, const or not.
template <class T>
concept Element = requires {
  { dtype_of<std::remove_const_t<T>>::value } -> std::convertible_to<DType>;
};

/// The largest power of two up to 128 that divides the address.
inline Index alignment_of(const void* address) {
  constexpr std::uintptr_t kMost = 128;
  return static_cast<Index>(std::uintptr_t{1} << std::countr_zero(reinterpret_cast<std::uintptr_t>(address) | kMost));
}

/// Any strided array: `data` is the address of element (0, …, 0); strides are in elements.
/// @return a TensorView, or a ConstTensorView when T is const.
template <Element T>
auto view_of(T* data, std::vector<Index> sizes, std::vector<Index> strides, Device device = {}) {
  using View = std::conditional_t<std::is_const_v<T>, ConstTensorView, TensorView>;
  ViewDesc desc = {.dtype = dtype_of<std::remove_const_t<T>>::value,
                   .sizes = std::move(sizes),
                   .strides = std::move(strides),
                   .alignment_bytes = alignment_of(data)};
  return View{data, std::move(desc), device};
}

/// A dense row-major array.
template <Element T>
auto view_of(T* data, std::vector<Index> sizes, Device device = {}) {
  auto strides = row_major_strides(sizes);
  return view_of(data, std::move(sizes), std::move(strides), device);
}

namespace detail {

template <class T>
concept ElementPointer = std::is_pointer_v<T> && Element<std::remove_pointer_t<T>>;

/// Members of std::mdspan.
template <class T>
concept MdspanLike = requires(T& x) {
  { x.data_handle() } -> ElementPointer;
  { x.rank() } -> std::convertible_to<std::size_t>;
  { x.extent(0) } -> std::convertible_to<Index>;
  { x.stride(0) } -> std::convertible_to<Index>;
};

/// Members of Eigen::Tensor, TensorFixedSize and TensorMap.
template <class T>
concept TensorLike = requires(T& x) {
  { x.data() } -> ElementPointer;
  x.dimensions();
  { T::NumDimensions } -> std::convertible_to<int>;
  { T::Layout } -> std::convertible_to<int>;
};

/// Members of Eigen::Matrix, Array, Map, Ref, Block and Transpose.
template <class T>
concept MatrixLike = requires(T& x) {
  { x.data() } -> ElementPointer;
  { x.rows() } -> std::convertible_to<Index>;
  { x.cols() } -> std::convertible_to<Index>;
  { x.innerStride() } -> std::convertible_to<Index>;
  { x.outerStride() } -> std::convertible_to<Index>;
  { T::IsRowMajor } -> std::convertible_to<bool>;
  { T::IsVectorAtCompileTime } -> std::convertible_to<bool>;
};

template <class T>
concept RangeLike = !MdspanLike<T> && !TensorLike<T> && !MatrixLike<T> && std::ranges::contiguous_range<T> &&
                    std::ranges::sized_range<T> && requires(T & x) {
  { std::ranges::data(x) } -> ElementPointer;
};

/// Owners of their elements: a view of a temporary one would dangle.
template <class T>
concept OwningTensor = requires(T& x) {
  x.resize(x.dimensions());
};
template <class T>
concept OwningMatrix = std::same_as<T, typename T::PlainObject>;

/// std::mdspan's rank is static, and of rank 0 its stride() must not even be instantiated.
template <class T>
concept RankZero = requires {
  requires T::rank()
  == 0;
};

}  // namespace detail

/// Anything like std::mdspan.
template <class T>
requires detail::MdspanLike<std::remove_reference_t<T>>
auto view_of(T&& x) {
  std::vector<Index> sizes;
  std::vector<Index> strides;
  if constexpr (!detail::RankZero<std::remove_cvref_t<T>>) {
    for (std::remove_cvref_t<decltype(x.rank())> i = 0; i < x.rank(); ++i) {
      sizes.push_back(static_cast<Index>(x.extent(i)));
      strides.push_back(static_cast<Index>(x.stride(i)));
    }
  }
  return view_of(x.data_handle(), std::move(sizes), std::move(strides));
}

/// Anything like Eigen::Tensor or TensorMap, in either layout; a Tensor must be a variable.
template <class T>
requires detail::TensorLike<std::remove_reference_t<T>> &&
    (std::is_lvalue_reference_v<T> || !detail::OwningTensor<T>)auto view_of(T&& x) {
  using Tensor = std::remove_cvref_t<T>;
  constexpr int kEigenRowMajor = 1;
  constexpr auto kRank = static_cast<std::size_t>(Tensor::NumDimensions);
  [[maybe_unused]] const auto& dimensions = x.dimensions();  // rank 0 asks for none
  auto sizes = [&]<std::size_t... kAxis>(std::index_sequence<kAxis...>) {
    return std::vector<Index>{static_cast<Index>(dimensions[kAxis])...};
  }
  (std::make_index_sequence<kRank>());
  if constexpr (static_cast<int>(Tensor::Layout) == kEigenRowMajor) {
    return view_of(x.data(), std::move(sizes));
  } else {
    std::vector<Index> strides = row_major_strides({sizes.rbegin(), sizes.rend()});
    std::ranges::reverse(strides);
    return view_of(x.data(), std::move(sizes), std::move(strides));
  }
}

/// Anything like Eigen::Matrix, Array, Map, Ref, Block or Transpose. What is a vector at compile time has one axis, all
/// else has two: rows and columns. A Matrix or Array must be a variable.
template <class T>
requires detail::MatrixLike<std::remove_reference_t<T>> &&
    (std::is_lvalue_reference_v<T> || !detail::OwningMatrix<T>)auto view_of(T&& x) {
  using Matrix = std::remove_cvref_t<T>;
  const auto rows = static_cast<Index>(x.rows());
  const auto columns = static_cast<Index>(x.cols());
  const auto inner = static_cast<Index>(x.innerStride());
  const auto outer = static_cast<Index>(x.outerStride());
  if constexpr (static_cast<bool>(Matrix::IsVectorAtCompileTime)) {
    return view_of(x.data(), std::vector<Index>{rows * columns}, std::vector<Index>{inner});
  } else {
    constexpr bool kRowMajor = static_cast<bool>(Matrix::IsRowMajor);
    return view_of(x.data(), std::vector<Index>{rows, columns},
                   kRowMajor ? std::vector<Index>{outer, inner} : std::vector<Index>{inner, outer});
  }
}

/// std::span, std::vector, std::array and other contiguous ranges: one axis. Owners of elements must be variables.
template <class T>
requires detail::RangeLike<std::remove_reference_t<T>> && std::ranges::borrowed_range<T>
auto view_of(T&& x) {
  return view_of(std::ranges::data(x), std::vector<Index>{static_cast<Index>(std::ranges::size(x))});
}

}  // namespace ndfold
