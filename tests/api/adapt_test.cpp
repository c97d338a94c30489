// view_of(x): sizes, strides and addresses against the elements that the other library itself finds.
#include <ndfold/adapt.h>

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <unsupported/Eigen/CXX11/Tensor>
#include <vector>

namespace ndfold {
namespace {

// As much of std::mdspan as counts here: a static rank, and a stride() that does not compile for rank 0.
template <class T, std::size_t kRank>
struct Mdspan {
  T* data;
  std::array<std::size_t, kRank> extents;
  std::array<std::size_t, kRank> strides;

  static constexpr std::size_t rank() { return kRank; }
  constexpr T* data_handle() const { return data; }
  constexpr std::size_t extent(std::size_t i) const { return extents[i]; }
  constexpr std::size_t stride(std::size_t i) const {
    static_assert(kRank > 0);
    return strides[i];
  }
};

// Another one whose rank is known only when it runs.
struct DynamicMdspan {
  std::vector<double>* values;
  double* data_handle() const { return values->data(); }
  int rank() const { return 2; }
  long extent(int i) const { return i == 0 ? 2 : 3; }
  long stride(int i) const { return i == 0 ? 1 : 2; }
};

template <class T>
const T& element(const ConstTensorView& view, std::initializer_list<Index> at) {
  Index offset = 0;
  std::size_t axis = 0;
  for (const Index i : at) offset += i * view.desc.strides[axis++];
  return static_cast<const T*>(view.data)[offset];
}

template <class X>
concept Viewable = requires(X&& x) {
  view_of(std::forward<X>(x));
};

template <class X>
using ViewOf = decltype(view_of(std::declval<X>()));

TEST(adapt, every_element_type_has_its_dtype) {
  static_assert(dtype_of<float>::value == DType::f32 && dtype_of<double>::value == DType::f64);
  static_assert(dtype_of<std::int8_t>::value == DType::i8 && dtype_of<std::uint8_t>::value == DType::u8);
  static_assert(dtype_of<std::int16_t>::value == DType::i16 && dtype_of<std::uint16_t>::value == DType::u16);
  static_assert(dtype_of<std::int32_t>::value == DType::i32 && dtype_of<std::uint32_t>::value == DType::u32);
  static_assert(dtype_of<std::int64_t>::value == DType::i64 && dtype_of<std::uint64_t>::value == DType::u64);
  static_assert(dtype_of<long long>::value == DType::i64 && dtype_of<unsigned long long>::value == DType::u64);
  static_assert(dtype_of<long>::value == DType::i64 && dtype_of<unsigned long>::value == DType::u64);
  static_assert(dtype_of<bool>::value == DType::boolean);
  static_assert(dtype_of<Eigen::half>::value == DType::f16 && dtype_of<Eigen::bfloat16>::value == DType::bf16);
  static_assert(dtype_of<__half>::value == DType::f16 && dtype_of<__nv_bfloat16>::value == DType::bf16);
  static_assert(Element<const float> && !Element<std::byte> && !Element<char> && !Element<long double>);
  static_assert(!Element<void> && !Element<float*> && !Element<wchar_t>);
}

TEST(adapt, const_data_give_const_views) {
  static_assert(std::same_as<ViewOf<std::vector<float>&>, TensorView>);
  static_assert(std::same_as<ViewOf<const std::vector<float>&>, ConstTensorView>);
  static_assert(std::same_as<ViewOf<std::span<float>>, TensorView>);
  static_assert(std::same_as<ViewOf<std::span<const float>>, ConstTensorView>);
  static_assert(std::same_as<ViewOf<Eigen::MatrixXf&>, TensorView>);
  static_assert(std::same_as<ViewOf<const Eigen::MatrixXf&>, ConstTensorView>);
  static_assert(std::same_as<ViewOf<Eigen::Map<const Eigen::MatrixXf>>, ConstTensorView>);
  static_assert(std::same_as<ViewOf<Eigen::Ref<const Eigen::MatrixXf>&>, ConstTensorView>);
  static_assert(std::same_as<ViewOf<Eigen::Ref<Eigen::MatrixXf>&>, TensorView>);
  static_assert(std::same_as<ViewOf<Eigen::Tensor<float, 2>&>, TensorView>);
  static_assert(std::same_as<ViewOf<const Eigen::Tensor<float, 2>&>, ConstTensorView>);
  static_assert(std::same_as<ViewOf<Eigen::TensorMap<const Eigen::Tensor<float, 2>>&>, ConstTensorView>);
  static_assert(std::same_as<ViewOf<Mdspan<float, 2>>, TensorView>);
  static_assert(std::same_as<ViewOf<const Mdspan<const float, 2>&>, ConstTensorView>);
}

TEST(adapt, temporary_owners_and_other_things_are_refused) {
  static_assert(Viewable<std::vector<float>&> && !Viewable<std::vector<float>>);
  static_assert(Viewable<Eigen::MatrixXf&> && !Viewable<Eigen::MatrixXf> && !Viewable<Eigen::ArrayXXf>);
  static_assert(Viewable<Eigen::Tensor<float, 2>&> && !Viewable<Eigen::Tensor<float, 2>>);
  static_assert(Viewable<Eigen::TensorMap<Eigen::Tensor<float, 2>>> && Viewable<Eigen::Map<Eigen::MatrixXf>>);
  static_assert(!Viewable<std::vector<bool>&> && !Viewable<std::string&> && !Viewable<std::vector<std::byte>&>);
  static_assert(!Viewable<std::vector<std::string>&> && !Viewable<int&> && !Viewable<float*>);
  static_assert(!Viewable<decltype(std::declval<Eigen::MatrixXf&>() + std::declval<Eigen::MatrixXf&>())>);
}

TEST(adapt, mdspans_keep_their_strides) {
  std::vector<float> memory(100);
  const Mdspan<float, 3> span = {memory.data() + 1, {2, 3, 4}, {1, 2, 6}};
  const TensorView view = view_of(span);
  EXPECT_EQ(view.data, memory.data() + 1);
  EXPECT_EQ(view.desc.dtype, DType::f32);
  EXPECT_EQ(view.desc.sizes, (std::vector<Index>{2, 3, 4}));
  EXPECT_EQ(view.desc.strides, (std::vector<Index>{1, 2, 6}));

  const Mdspan<const float, 0> scalar = {memory.data(), {}, {}};
  EXPECT_EQ(view_of(scalar).desc.rank(), 0);

  std::vector<double> values(6);
  const TensorView dynamic = view_of(DynamicMdspan{&values});
  EXPECT_EQ(dynamic.desc.sizes, (std::vector<Index>{2, 3}));
  EXPECT_EQ(dynamic.desc.strides, (std::vector<Index>{1, 2}));
}

template <int kLayout>
void check_tensor() {
  Eigen::Tensor<double, 3, kLayout> tensor(2, 3, 4);
  std::iota(tensor.data(), tensor.data() + tensor.size(), 0.0);
  const Eigen::TensorMap<Eigen::Tensor<double, 3, kLayout>> map(tensor.data(), 2, 3, 4);
  for (const ConstTensorView& view : {ConstTensorView(view_of(tensor)), ConstTensorView(view_of(map))}) {
    EXPECT_EQ(view.data, tensor.data());
    EXPECT_EQ(view.desc.sizes, (std::vector<Index>{2, 3, 4}));
    for (Index i = 0; i < 2; ++i)
      for (Index j = 0; j < 3; ++j)
        for (Index k = 0; k < 4; ++k) EXPECT_EQ(element<double>(view, {i, j, k}), tensor(i, j, k));
  }
}

TEST(adapt, eigen_tensors_of_both_layouts) {
  check_tensor<Eigen::ColMajor>();
  check_tensor<Eigen::RowMajor>();
}

TEST(adapt, eigen_tensors_of_fixed_size_and_rank_0) {
  Eigen::TensorFixedSize<std::int16_t, Eigen::Sizes<2, 5>> fixed;
  EXPECT_EQ(view_of(fixed).desc.sizes, (std::vector<Index>{2, 5}));
  EXPECT_EQ(view_of(fixed).desc.strides, (std::vector<Index>{1, 2}));
  Eigen::Tensor<Eigen::half, 0> scalar;
  EXPECT_EQ(view_of(scalar).desc.rank(), 0);
  EXPECT_EQ(view_of(scalar).desc.dtype, DType::f16);
}

template <class Matrix>
void check_matrix(Matrix&& matrix) {
  const ConstTensorView view = view_of(matrix);
  ASSERT_EQ(view.desc.sizes, (std::vector<Index>{matrix.rows(), matrix.cols()}));
  for (Index i = 0; i < matrix.rows(); ++i)
    for (Index j = 0; j < matrix.cols(); ++j)
      EXPECT_EQ(&element<float>(view, {i, j}), &matrix.coeffRef(i, j)) << i << ", " << j;
}

TEST(adapt, eigen_matrices_in_every_form) {
  using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using AnyStride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  Eigen::MatrixXf columns = Eigen::MatrixXf::Random(5, 7);
  RowMatrix rows = RowMatrix::Random(5, 7);
  Eigen::Array<float, 3, 4> fixed = Eigen::Array<float, 3, 4>::Random();
  check_matrix(columns);
  check_matrix(rows);
  check_matrix(fixed);
  check_matrix(columns.block(1, 2, 3, 4));
  check_matrix(rows.block(1, 2, 3, 4));
  check_matrix(columns.transpose());
  check_matrix(rows.transpose());
  check_matrix(Eigen::Map<Eigen::MatrixXf, 0, AnyStride>(columns.data(), 2, 3, AnyStride(10, 2)));
  check_matrix(Eigen::Map<RowMatrix, 0, AnyStride>(columns.data(), 2, 3, AnyStride(10, 2)));
  check_matrix(Eigen::Ref<Eigen::MatrixXf, 0, Eigen::OuterStride<>>(columns.topRows(3)));
}

TEST(adapt, eigen_vectors_have_one_axis) {
  Eigen::MatrixXf matrix = Eigen::MatrixXf::Random(5, 7);
  Eigen::VectorXf column(9);
  Eigen::RowVectorXf row(9);
  EXPECT_EQ(view_of(column).desc, view_of(std::span(column.data(), 9)).desc);
  EXPECT_EQ(view_of(row).desc.sizes, std::vector<Index>{9});
  const TensorView third = view_of(matrix.row(3));
  EXPECT_EQ(third.desc.sizes, std::vector<Index>{7});
  for (Index j = 0; j < 7; ++j) EXPECT_EQ(&element<float>(third, {j}), &matrix.coeffRef(3, j));
  const TensorView second = view_of(matrix.col(2));
  EXPECT_EQ(second.desc.strides, std::vector<Index>{1});
  EXPECT_EQ(second.data, &matrix.coeffRef(0, 2));
}

TEST(adapt, ranges_have_one_axis) {
  std::vector<std::int32_t> vector(5);
  std::array<std::uint8_t, 3> array = {};
  double plain[4] = {};
  EXPECT_EQ(view_of(vector).desc.sizes, std::vector<Index>{5});
  EXPECT_EQ(view_of(vector).data, vector.data());
  EXPECT_EQ(view_of(array).desc.dtype, DType::u8);
  EXPECT_EQ(view_of(plain).desc.sizes, std::vector<Index>{4});
  EXPECT_EQ(view_of(std::span(vector).subspan(2)).data, &vector[2]);
  EXPECT_EQ(view_of(std::span<float>()).desc.sizes, std::vector<Index>{0});
}

TEST(adapt, pointers_need_sizes) {
  float memory[24] = {};
  const float* constant = memory;
  const TensorView dense_view = view_of(memory + 0, {2, 3, 4});
  EXPECT_EQ(dense_view.desc.strides, (std::vector<Index>{12, 4, 1}));
  const ConstTensorView strided = view_of(constant + 23, {2, 3}, {-1, -2});
  EXPECT_EQ(strided.desc.strides, (std::vector<Index>{-1, -2}));
  EXPECT_EQ(strided.data, constant + 23);
  const Device gpu = {.kind = DeviceKind::cuda, .ordinal = 1};
  EXPECT_EQ(view_of(constant, {4}, gpu).device, gpu);
  EXPECT_EQ(view_of(constant, {}).desc.rank(), 0);
}

TEST(adapt, alignment_is_that_of_the_address) {
  alignas(256) static std::array<std::uint8_t, 512> memory = {};
  for (const auto& [offset, alignment] : std::vector<std::pair<std::size_t, Index>>{
           {0, 128}, {1, 1}, {2, 2}, {4, 4}, {12, 4}, {8, 8}, {16, 16}, {96, 32}, {64, 64}, {128, 128}, {256, 128}})
    EXPECT_EQ(view_of(memory.data() + offset, {1}).desc.alignment_bytes, alignment) << offset;
}

}  // namespace
}  // namespace ndfold
