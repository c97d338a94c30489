#include "kernels/cpu/instances/entry.h"
#include "kernels/folds/sum.h"

namespace ndfold::simd {

FoldEntries product_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<Prod, float>(FoldKind::prod, DType::f32),
      entry<Prod, double>(FoldKind::prod, DType::f64),
      entry<Prod, std::uint64_t>(FoldKind::prod, DType::i64),
      entry<Prod, std::uint64_t>(FoldKind::prod, DType::u64),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
