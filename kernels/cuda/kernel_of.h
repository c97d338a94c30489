// From a kernel's name to the kernel: which instantiations a row of the catalog stands for.
#pragma once
#include "kernels/cuda/bundles.h"
#include "kernels/cuda/columns_in_bundles.h"
#include "kernels/cuda/columns_in_lanes.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/permute.h"
#include "kernels/cuda/reduction_kernel.h"
#include "kernels/cuda/softmax_kernel.h"

namespace ndfold::cuda {
namespace detail {

// Rows that come in bundles: plans/build/in_bundles.cpp counts on so many threads of a multiprocessor.
template <class Dense, class Strided, class F, class Sink>
Found bundle() {
  constexpr bool kHasLongRows = Sink::kMaps && sizeof(typename Dense::Value) <= 4;
  constexpr int kMost = kHasLongRows ? kThreads : kFewThreads;
  return {.kernel = bundles<InLine<Dense>, InLine<Strided>, F, Sink, Tuned<kMost, kFewLoads, kHasLongRows ? 2 : 3>>,
          .threads = kMost,
          .pack = Dense::kSize,
          .bundles = true};
}

// Lines of columns that come in bundles.
template <class Strided, class F, class Sink>
Found bundle_of_lines() {
  constexpr bool kLarge = sizeof(typename Strided::Value) > 4;
  constexpr int kMost = kLarge ? kFewThreads : kThreads;
  return {.kernel = columns_in_bundles<Strided, F, Sink, Tuned<kMost, kFewLoads, kLarge ? 3 : 2>>,
          .threads = kMost,
          .bundles = true};
}

// Panels that lanes of a warp share.
template <class Strided, class F, class Sink>
Found shared_by_lanes() {
  using Tuning = Tuned<kFewThreads, kManyLoads, 4>;
  return {.kernel = columns_in_lanes<Strided, F, Sink, Tuning>, .threads = kFewThreads};
}

inline bool comes_in_bundles(const KernelKey& key) {
  return key.scope == Scope::lanes && key.residency == Residency::shared;
}

template <Body kBody, class Dense, class Strided, class SomeColumns, class F, class Sink, Breadth kBreadth>
Found in_body(const KernelKey& key, const Layout& layout) {
  constexpr bool fits = !Sink::kMaps || std::is_same_v<typename Sink::Out, typename Dense::Element>;
  if constexpr (kBody == Body::rows && kBreadth == Breadth::many && fits)
    if (comes_in_bundles(key)) return bundle<Dense, Strided, F, Sink>();
  if constexpr (kBody == Body::columns && kBreadth == Breadth::many && fits)
    if (comes_in_bundles(key)) return bundle_of_lines<Strided, F, Sink>();
  if constexpr (kBody == Body::columns)
    if (key.scope == Scope::lanes && key.residency == Residency::none) return shared_by_lanes<Strided, F, Sink>();
  if constexpr (Sink::kMaps)
    return softmax<kBody, Dense, Strided, SomeColumns, F, Sink, kBreadth>(key, layout);
  else
    return reduction<kBody, Dense, Strided, SomeColumns, F, kBreadth>(key, layout);
}

}  // namespace detail

/// F folds A's; T is the element type, `Loaded` is Elements or Truths; Sink says what a softmax writes.
template <class F, class A, class T, template <class, class, int> class Loaded, class Sink, Breadth kBreadth>
Found fold_kernel(const KernelKey& key, const Layout& layout) {
  using Dense = Loaded<T, A, kVector<T>>;
  using Strided = Loaded<T, A, 1>;
  using SomeColumns = Loaded<T, A, kColumnsApart<T>>;
  if constexpr (Sink::kMaps && kBreadth == Breadth::many && sizeof(A) == sizeof(float))
    if (layout.kept_rows != 0) return detail::kept_in_registers<Loaded, T, F, Sink>(layout.kept_rows);
  if (key.body == Body::rows)
    return detail::in_body<Body::rows, Dense, Strided, SomeColumns, F, Sink, kBreadth>(key, layout);
  return detail::in_body<Body::columns, Dense, Strided, SomeColumns, F, Sink, kBreadth>(key, layout);
}

/// Folds states of F.
template <class F>
Found merge_kernel() {
  return detail::kernel<Body::rows, States<F>, folds::Merge<F>, NearScope, ResultSink, ReadAgain, kThreads,
                        kFewLoads>();
}

/// `dense`: packs are neighbours in the input, and begin alike. No more than four columns a lane: each has a map.
template <class T, class A, class Out>
Found elementwise_kernel(bool dense) {
  constexpr int kPack = std::min(4, kVector<T>), kBlocks = sizeof(A) > 4 ? 2 : 4;
  constexpr int kLoads = kPack * sizeof(T) < kVectorBytes ? kManyLoads : kFewLoads;
  if (dense) return {elementwise<Elements<T, A, kPack>, Out, Tuned<kFewThreads, kLoads, kBlocks>>, kFewThreads, kPack};
  return {elementwise<Elements<T, A, 1>, Out, Tuned<kFewThreads, kManyLoads, kBlocks>>, kFewThreads, 1};
}

/// T is an unsigned integer of the elements' size.
template <class T>
Found permute_kernel(bool same_axis, bool dense) {
  using Tuning = Tuned<kThreads, kFewLoads>;
  if (!same_axis) return {permute_tiles<T, Tuning>, kThreads, 1};
  if (dense) return {permute_packs<Elements<T, T, kVector<T>>, Tuning>, kThreads, kVector<T>};
  return {permute_packs<Elements<T, T, 1>, Tuning>, kThreads, 1};
}

}  // namespace ndfold::cuda
