// The kernel that a step names, among rows of instantiations: the catalog's, or a test's. Plain host code.
#pragma once
#include "kernels/cuda/bind.h"

#include <span>

namespace ndfold::cuda {

/// What tuning rows ask for is rounded up to what is compiled: independent loads in flight a lane, threads of a block
/// at most, and of one whose lanes keep a row in their registers, or which meets others over the grid.
inline constexpr int kFewLoads = 4, kManyLoads = 8;
inline constexpr int kFewThreads = 256, kThreads = 512;

/// What a row serves: folds of elements, softmaxes, merges of states, maps of elements, moves of elements.
enum class Service : std::uint8_t { fold, softmax, merge, map, move };

struct CatalogRow {
  Service service = Service::fold;
  FoldKind fold = FoldKind::none;
  DType accumulate = DType::best;
  DType input = DType::best;   ///< merge: any; move: any of this size
  DType output = DType::best;  ///< softmax, map; a reduction asks at run time
  Found (*find)(const KernelKey&, const Layout&) = nullptr;
};

Service service_of(const KernelKey& key);

/// The kernel of the first row that serves the key, or none.
Found find_among(std::span<const CatalogRow> rows, const KernelKey& key, const Layout& layout);

/// The kernel among all that this build has: generated (kernels/cuda/catalog.cmake), with CUDA only.
Found find_kernel(const KernelKey& key, const Layout& layout);

}  // namespace ndfold::cuda
