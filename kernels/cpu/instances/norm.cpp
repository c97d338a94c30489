#include "kernels/cpu/instances/entry.h"
#include "kernels/folds/extremum.h"
#include "kernels/folds/norms.h"

namespace ndfold::simd {

FoldEntries norm_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<SumOfSquares, float>(FoldKind::sumsq, DType::f32),
      entry<SumOfSquares, double>(FoldKind::sumsq, DType::f64),
      entry<SumOfSquares, std::uint64_t>(FoldKind::sumsq, DType::i64),
      entry<SumOfSquares, std::uint64_t>(FoldKind::sumsq, DType::u64),
      entry<L1, float>(FoldKind::l1, DType::f32),
      entry<L1, double>(FoldKind::l1, DType::f64),
      entry<L2, float>(FoldKind::l2, DType::f32),
      entry<L2, double>(FoldKind::l2, DType::f64),
      entry<Linf, float>(FoldKind::linf, DType::f32),
      entry<Linf, double>(FoldKind::linf, DType::f64),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
