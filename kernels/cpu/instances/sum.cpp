#include "kernels/folds/sum.h"

#include "kernels/cpu/instances/entry.h"
#include "kernels/folds/compensated_sum.h"

namespace ndfold::simd {

FoldEntries sum_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<Sum, float>(FoldKind::sum, DType::f32),
      entry<Sum, double>(FoldKind::sum, DType::f64),
      entry<Sum, std::uint64_t>(FoldKind::sum, DType::i64),
      entry<Sum, std::uint64_t>(FoldKind::sum, DType::u64),
      entry<Mean, float>(FoldKind::mean, DType::f32),
      entry<Mean, double>(FoldKind::mean, DType::f64),
      entry<CompensatedSum, float>(FoldKind::compensated_sum, DType::f32),
      entry<CompensatedSum, double>(FoldKind::compensated_sum, DType::f64),
      entry<CompensatedMean, float>(FoldKind::compensated_mean, DType::f32),
      entry<CompensatedMean, double>(FoldKind::compensated_mean, DType::f64),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
