#include "kernels/cpu/instances/entry.h"
#include "kernels/folds/online_softmax.h"

namespace ndfold::simd {

FoldEntries softmax_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<OnlineSoftmax, float>(FoldKind::softmax, DType::f32),
      entry<OnlineSoftmax, double>(FoldKind::softmax, DType::f64),
      entry<LogSumExp, float>(FoldKind::logsumexp, DType::f32),
      entry<LogSumExp, double>(FoldKind::logsumexp, DType::f64),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
