#include "tests/simt/simulate.h"
#include "tests/simt/tables/table.h"

namespace simt {

Found find_kernel(const KernelKey& key, const Layout& layout) {
  if (key.body == Body::elementwise || key.body == Body::permute) return moving_kernel(key, layout);
  for (const auto rows : {sum_rows(), argmax_rows(), variance_rows(), softmax_rows(), fold_rows(), type_rows()})
    for (const Row& row : rows)
      if (row.fold == key.fold && row.accumulate == key.accumulate && row.input == key.input)
        if (const Found found = row.find(key); found.kernel != nullptr) return found;
  return {};
}

}  // namespace simt
