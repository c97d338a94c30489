// Every fold, in f32 or where it must be something else.
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/compensated_sum.h"
#include "kernels/folds/logical.h"
#include "kernels/folds/moments.h"
#include "kernels/folds/norms.h"
#include "tests/simt/tables/table.h"

namespace simt {

std::span<const Row> fold_rows() {
  using namespace folds;
  constexpr auto kBlock = Breadth::block;
  static constexpr Row kRows[] = {
      fold_row<CompensatedSum<float>, float, kBlock>(FoldKind::compensated_sum, DType::f32),
      fold_row<CompensatedMean<float>, float, kBlock>(FoldKind::compensated_mean, DType::f32),
      fold_row<Prod<float>, float, kBlock>(FoldKind::prod, DType::f32),
      fold_row<Mean<float>, float, kBlock>(FoldKind::mean, DType::f32),
      fold_row<Max<float>, float, Breadth::all>(FoldKind::max, DType::f32),
      fold_row<Min<float>, float, kBlock>(FoldKind::min, DType::f32),
      fold_row<StandardDeviation<float>, float, kBlock>(FoldKind::std_dev, DType::f32),
      fold_row<Any<std::uint8_t>, float, kBlock, Truths>(FoldKind::any, DType::i64),
      fold_row<All<std::uint8_t>, float, kBlock, Truths>(FoldKind::all, DType::i64),
      fold_row<CountNonzero<std::uint8_t>, float, kBlock, Truths>(FoldKind::count_nonzero, DType::i64),
      fold_row<ArgMin<float>, float, kBlock>(FoldKind::argmin, DType::f32),
      fold_row<SumOfSquares<float>, float, kBlock>(FoldKind::sumsq, DType::f32),
      fold_row<L1<float>, float, kBlock>(FoldKind::l1, DType::f32),
      fold_row<L2<float>, float, kBlock>(FoldKind::l2, DType::f32),
      fold_row<Linf<float>, float, kBlock>(FoldKind::linf, DType::f32),
      fold_row<LogSumExp<float>, float, Breadth::all>(FoldKind::logsumexp, DType::f32),
  };
  return kRows;
}

}  // namespace simt
