// Every fold, in f32 or where it must be something else.
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/compensated_sum.h"
#include "kernels/folds/logical.h"
#include "kernels/folds/norms.h"
#include "tests/simt/tables/table.h"

namespace simt {

std::span<const CatalogRow> other_rows() {
  using namespace folds;
  constexpr auto kFew = Breadth::few;
  static constexpr auto kRows =
      joined(fold_rows<CompensatedSum<float>, float, kFew>(FoldKind::compensated_sum, DType::f32),
             fold_rows<CompensatedMean<float>, float, kFew>(FoldKind::compensated_mean, DType::f32),
             fold_rows<Prod<float>, float, kFew>(FoldKind::prod, DType::f32),
             fold_rows<Mean<float>, float, kFew>(FoldKind::mean, DType::f32),
             fold_rows<Max<float>, float, Breadth::many>(FoldKind::max, DType::f32),
             fold_rows<Min<float>, float, kFew>(FoldKind::min, DType::f32),
             fold_rows<cuda::StandardDeviation<float>, float, kFew>(FoldKind::std_dev, DType::f32),
             fold_rows<Any<std::uint8_t>, float, kFew, Truths>(FoldKind::any, DType::i64),
             fold_rows<All<std::uint8_t>, float, kFew, Truths>(FoldKind::all, DType::i64),
             fold_rows<CountNonzero<std::uint8_t>, float, kFew, Truths>(FoldKind::count_nonzero, DType::i64),
             fold_rows<ArgMin<float>, float, kFew>(FoldKind::argmin, DType::f32),
             fold_rows<SumOfSquares<float>, float, kFew>(FoldKind::sumsq, DType::f32),
             fold_rows<L1<float>, float, kFew>(FoldKind::l1, DType::f32),
             fold_rows<L2<float>, float, kFew>(FoldKind::l2, DType::f32),
             fold_rows<Linf<float>, float, kFew>(FoldKind::linf, DType::f32),
             fold_rows<cuda::LogSumExp<float>, float, Breadth::many>(FoldKind::logsumexp, DType::f32));
  return kRows;
}

}  // namespace simt
