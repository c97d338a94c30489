// The kernels that tests can run, by fold and element type: rows of the catalog's kind, fewer of them.
#pragma once
#include "kernels/cuda/catalog_rows.h"

#include <array>

namespace simt {

using namespace ndfold;
using namespace ndfold::cuda;

/// A reduction and the merging of its states.
template <class F, class T, Breadth kBreadth, template <class, class, int> class Loaded = Elements>
constexpr std::array<CatalogRow, 2> fold_rows(FoldKind fold, DType accumulate) {
  return {fold_row<F, T, kBreadth, Loaded>(fold, accumulate), merge_row<F>(fold, accumulate)};
}

template <class... Lists>
constexpr auto joined(const Lists&... lists) {
  std::array<CatalogRow, (std::tuple_size_v<Lists> + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& list) {
    for (const CatalogRow& row : list) all[at++] = row;
  };
  (append(lists), ...);
  return all;
}

// One list a file of this folder.
std::span<const CatalogRow> sum_rows();
std::span<const CatalogRow> argmax_rows();
std::span<const CatalogRow> pair_rows();
std::span<const CatalogRow> variance_rows();
std::span<const CatalogRow> softmax_rows();
std::span<const CatalogRow> other_rows();
std::span<const CatalogRow> type_rows();
std::span<const CatalogRow> moving_rows();

}  // namespace simt
