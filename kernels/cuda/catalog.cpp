#include "kernels/cuda/catalog.h"

namespace ndfold::cuda {
namespace {

// The states of a softmax are those of logsumexp.
FoldKind states_of(FoldKind fold) { return fold == FoldKind::softmax ? FoldKind::logsumexp : fold; }

bool serves(const CatalogRow& row, const KernelKey& key) {
  switch (row.service) {
    case Service::move: return size_bytes(row.input) == size_bytes(key.input);
    case Service::map: return row.accumulate == key.accumulate && row.input == key.input && row.output == key.output;
    case Service::merge: return row.fold == states_of(key.fold) && row.accumulate == key.accumulate;
    case Service::fold:
      return row.fold == states_of(key.fold) && row.accumulate == key.accumulate && row.input == key.input;
    case Service::softmax:
      return row.accumulate == key.accumulate && row.input == key.input && row.output == key.output;
  }
  return false;
}

}  // namespace

Service service_of(const KernelKey& key) {
  if (key.body == Body::permute) return Service::move;
  if (key.body == Body::elementwise) return Service::map;
  if (key.source == SourceKind::states) return Service::merge;
  return maps_elements(key.sink) ? Service::softmax : Service::fold;
}

Found find_among(std::span<const CatalogRow> rows, const KernelKey& key, const Layout& layout) {
  const Service wanted = service_of(key);
  for (const CatalogRow& row : rows)
    if (row.service == wanted && serves(row, key)) return row.find(key, layout);
  return {};
}

}  // namespace ndfold::cuda
