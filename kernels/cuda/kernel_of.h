// From a kernel's name to the kernel: what a catalog of one fold and one element type is made of.
#pragma once
#include "kernels/cuda/bind.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/permute.h"

namespace ndfold::cuda {

/// Which kernels of a fold are instantiated: every scope, or those of a single block.
enum class Breadth { all, block };

/// The tuning rows' numbers that are compiled in. A catalog has the rows of its tables; rounding up is always right.
inline constexpr int kFewLoads = 4, kManyLoads = 8;
inline constexpr int kFewThreads = 256, kThreads = 512, kMostThreads = 1024;

namespace detail {

template <class Source, class F, class Scope, class Sink, class Residency, int kThreads, int kLoads, int kBlocks = 1>
Found in_body(Body body) {
  using Tuning = Tuned<kThreads, kLoads, kBlocks>;
  if constexpr (!std::is_same_v<Scope, LanesScope>)
    if (body == Body::columns) return {columns<Source, F, Scope, Sink, Residency, Tuning>, kThreads};
  return {rows<Source, F, Scope, Sink, Residency, Tuning>, kThreads};
}

/// Registers: a block of many threads has few each. Blocks of a cooperative launch: as plans/build/in_grid.cpp counts.
template <class Source, class F, class Scope, class Sink, class Residency>
Found tuned(const KernelKey& key) {
  if constexpr (std::is_same_v<Scope, GridScope>) {
    constexpr int kLoads = Sink::kMaps ? kFewLoads : kManyLoads;
    if (key.tuning.threads > kFewThreads)
      return in_body<Source, F, Scope, Sink, Residency, kThreads, kLoads, 2>(key.body);
    return in_body<Source, F, Scope, Sink, Residency, kFewThreads, kLoads, 3>(key.body);
  } else {
    if constexpr (Sink::kMaps && std::is_same_v<Scope, BlockScope>)
      if (key.tuning.threads > 512)
        return in_body<Source, F, Scope, Sink, Residency, kMostThreads, kFewLoads>(key.body);
    constexpr int kThreads = std::is_same_v<Scope, LanesScope> ? kFewThreads : cuda::kThreads;
    if (key.tuning.unroll <= kFewLoads)
      return in_body<Source, F, Scope, Sink, Residency, kThreads, kFewLoads>(key.body);
    return in_body<Source, F, Scope, Sink, Residency, kThreads, kManyLoads>(key.body);
  }
}

template <class Source, class F, class Scope, class Sink>
Found resident(const KernelKey& key) {
  if constexpr (Sink::kMaps) {
    if (key.body == Body::rows && key.residency == Residency::registers && !Scope::kSharesParts)
      return tuned<Source, F, Scope, Sink, InRegisters>(key);
    if (key.residency == Residency::shared || key.residency == Residency::cluster)
      if constexpr (!std::is_same_v<Scope, LanesScope>) return tuned<Source, F, Scope, Sink, InShared>(key);
  }
  return tuned<Source, F, Scope, Sink, ReadAgain>(key);
}

template <class Source, class F, class Sink, Breadth kBreadth>
Found scoped(const KernelKey& key) {
  if (key.scope == Scope::block) return resident<Source, F, BlockScope, Sink>(key);
  if constexpr (kBreadth == Breadth::all) {
    if (key.scope == Scope::lanes) return resident<Source, F, LanesScope, Sink>(key);
    if (key.scope == Scope::cluster) return resident<Source, F, ClusterScope, Sink>(key);
    if (key.scope == Scope::grid) return resident<Source, F, GridScope, Sink>(key);
  }
  return {};
}

}  // namespace detail

/// F folds A's; T is the element type, `Loaded` is Elements or Truths; Sink says what a softmax writes.
template <class F, class A, class T, template <class, class, int> class Loaded, class Sink, Breadth kBreadth>
Found fold_kernel(const KernelKey& key) {
  if (key.body != Body::rows && key.body != Body::columns) return {};
  if (key.source == SourceKind::strided) return detail::scoped<Loaded<T, A, 1>, F, Sink, kBreadth>(key);
  if (key.source == SourceKind::dense) return detail::scoped<Loaded<T, A, kVector<T>>, F, Sink, kBreadth>(key);
  using Merged = folds::Merge<F>;
  if (key.body == Body::rows && key.scope == Scope::block && !Sink::kMaps)
    return {rows<States<F>, Merged, BlockScope, ResultSink, ReadAgain, Tuned<kThreads, kFewLoads>>, kThreads};
  return {};
}

/// `dense`: packs are neighbours in the input.
template <class T, class A, class Out>
Found elementwise_kernel(bool dense) {
  using Tuning = Tuned<kThreads, kFewLoads>;
  if (dense) return {elementwise<Elements<T, A, kVector<T>>, Out, Tuning>, kThreads};
  return {elementwise<Elements<T, A, 1>, Out, Tuning>, kThreads};
}

/// T is an unsigned integer of the elements' size.
template <class T>
Found permute_kernel(bool same_axis, bool dense) {
  using Tuning = Tuned<kThreads, kFewLoads>;
  if (!same_axis) return {permute_tiles<T, Tuning>, kThreads};
  if (dense) return {permute_packs<Elements<T, T, kVector<T>>, Tuning>, kThreads};
  return {permute_packs<Elements<T, T, 1>, Tuning>, kThreads};
}

}  // namespace ndfold::cuda
