#include "kernels/cpu/instances/entry.h"
#include "kernels/cpu/softmax_runs.h"
#include "kernels/cpu/softmax_states.h"

namespace ndfold::simd {
namespace {

template <template <class> class F, class A>
void fold_softmax_rows(const Arguments& step, Index first, Index last) {
  if (RunsAsColumns::suits(step, kTileColumns<A>)) return fold_runs_as_tiles<F, A>(step, first, last);
  const bool is_done = visit_dense<A>(step, [&]<class T>(T) { fold_dense<F, T>(step, first, last); });
  if (!is_done) fold_rows<F, A>(step, first, last);
}

template <template <class> class F, class A>
constexpr FoldEntry softmax_entry(FoldKind fold, DType accumulate) {
  FoldEntry made = entry<F, A>(fold, accumulate);
  made.rows = fold_softmax_rows<F, A>;
  made.columns = fold_softmax_columns<F, A>;
  return made;
}

}  // namespace

FoldEntries softmax_entries() {
  static constexpr FoldEntry kEntries[] = {
      softmax_entry<OnlineSoftmax, float>(FoldKind::softmax, DType::f32),
      softmax_entry<OnlineSoftmax, double>(FoldKind::softmax, DType::f64),
      softmax_entry<LogSumExp, float>(FoldKind::logsumexp, DType::f32),
      softmax_entry<LogSumExp, double>(FoldKind::logsumexp, DType::f64),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
