// What becomes of a finished state: a result, a state for a later step, or the map of the elements it came from.
#pragma once
#include "kernels/cuda/pack.h"
#include "kernels/folds/online_softmax.h"

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

/// The map that ends a softmax: from {max, sum} to what each element is shifted by and multiplied with.
/// softmax: exp(x - shift) · factor. log_softmax: (x - shift - rest) · factor, one after the other: the sum of shift
/// and rest would round away what x - max kept.
template <class A>
struct Normalizer {
  A shift, rest, factor;

  /// With +inf among the elements every result is NaN, as max, exp, sum and divide one after the other give.
  __device__ static Normalizer of(MapKind map, folds::MaxAndSum<A> state, double alpha) {
    const A sum = state.max == folds::kInfinity<A> ? std::numeric_limits<A>::quiet_NaN() : state.sum;
    const A times = static_cast<A>(alpha);
    if (map == MapKind::softmax) return {state.max, A(0), times / sum};
    return {state.max, std::log(sum), times};
  }

  __device__ A map(MapKind map, A x) const {
    return map == MapKind::softmax ? folds::exponential(x - shift) * factor : (x - shift - rest) * factor;
  }
};

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
