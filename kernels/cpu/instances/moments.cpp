#include "kernels/folds/moments.h"

#include "kernels/cpu/instances/entry.h"

namespace ndfold::simd {

FoldEntries moment_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<Variance, float>(FoldKind::var, DType::f32),
      entry<Variance, double>(FoldKind::var, DType::f64),
      entry<StandardDeviation, float>(FoldKind::std_dev, DType::f32),
      entry<StandardDeviation, double>(FoldKind::std_dev, DType::f64),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
