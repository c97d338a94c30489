// What becomes of a finished state: a result, a state for a later step, or the map of the elements it came from.
#pragma once
#include "kernels/cuda/pack.h"
#include "kernels/cuda/softmax_fold.h"

namespace ndfold::cuda {

/// `out` is the output's offset in elements, `number` the state's among all that the step leaves.
template <class F>
__device__ void sink_state(const Arguments& step, const F& fold, typename F::State state, Index out, Index number) {
  if (step.sink == SinkKind::store_state) {
    reinterpret_cast<typename F::State*>(step.out)[number] = state;
    return;
  }
  if constexpr (folds::FinalFold<F>) {
    if (step.repeat != 1) state = folds::repeated(fold, state, step.repeat);
    auto result = fold.finalize(state, step.count);
    if constexpr (requires { state.index; }) result += step.index_offset;
    if constexpr (!requires { result.max; })
      visit_element(step.output,
                    [&]<class Out>(Out) { reinterpret_cast<Out*>(step.out)[out] = to_element<Out>(result); });
  }
}

/// Reductions have a result an output; `Out` is void. A softmax writes elements of type `Out`.
template <class Out_>
struct ElementSink {
  using Out = Out_;
  static constexpr bool kMaps = true;
};
struct ResultSink {
  using Out = void;
  static constexpr bool kMaps = false;
};

}  // namespace ndfold::cuda
