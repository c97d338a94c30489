#include "tests/simt/simulate.h"
#include "tests/simt/tables/table.h"

namespace simt {

Found find_kernel(const KernelKey& key, const Layout& layout) {
  for (const auto list :
       {sum_rows, argmax_rows, pair_rows, variance_rows, softmax_rows, other_rows, type_rows, moving_rows})
    if (const Found found = find_among(list(), key, layout); found.kernel != nullptr) return found;
  return {};
}

}  // namespace simt
