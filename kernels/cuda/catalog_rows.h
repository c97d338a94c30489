// Makes rows of a catalog: from a fold, what it accumulates in, and the elements it reads.
#pragma once
#include "kernels/cuda/catalog.h"
#include "kernels/cuda/kernel_of.h"

namespace ndfold::cuda {

/// A reduction of T's by F.
template <class F, class T, Breadth kBreadth, template <class, class, int> class Loaded = Elements>
constexpr CatalogRow fold_row(FoldKind fold, DType accumulate) {
  return {.service = Service::fold,
          .fold = fold,
          .accumulate = accumulate,
          .input = kDTypeOf<T>,
          .output = DType::best,
          .find = [](const KernelKey& key, const Layout& layout) {
            return fold_kernel<F, typename F::Value, T, Loaded, ResultSink, kBreadth>(key, layout);
          }};
}

/// States of F that another step left.
template <class F>
constexpr CatalogRow merge_row(FoldKind fold, DType accumulate) {
  return {.service = Service::merge,
          .fold = fold,
          .accumulate = accumulate,
          .input = DType::best,
          .output = DType::best,
          .find = [](const KernelKey&, const Layout&) { return merge_kernel<F>(); }};
}

/// A softmax of T's into Out, in A.
template <class A, class T, class Out, Breadth kBreadth>
constexpr CatalogRow softmax_row() {
  return {.service = Service::softmax,
          .fold = FoldKind::softmax,
          .accumulate = kDTypeOf<A>,
          .input = kDTypeOf<T>,
          .output = kDTypeOf<Out>,
          .find = [](const KernelKey& key, const Layout& layout) {
            return fold_kernel<Softmax<A>, A, T, Elements, ElementSink<Out>, kBreadth>(key, layout);
          }};
}

/// Maps T's to Out, in A.
template <class A, class T, class Out>
constexpr CatalogRow map_row() {
  return {.service = Service::map,
          .fold = FoldKind::none,
          .accumulate = kDTypeOf<A>,
          .input = kDTypeOf<T>,
          .output = kDTypeOf<Out>,
          .find = [](const KernelKey&, const Layout& layout) { return elementwise_kernel<T, A, Out>(layout.dense); }};
}

/// Moves elements as large as T, an unsigned integer.
template <class T>
constexpr CatalogRow move_row() {
  return {
      .service = Service::move,
      .fold = FoldKind::none,
      .accumulate = DType::best,
      .input = kDTypeOf<T>,
      .output = DType::best,
      .find = [](const KernelKey&, const Layout& layout) { return permute_kernel<T>(layout.same_axis, layout.dense); }};
}

}  // namespace ndfold::cuda
