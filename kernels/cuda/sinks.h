// What becomes of a finished state: a result, a state for a later step, or the map of the elements it came from.
#pragma once
#include "kernels/cuda/pack.h"
#include "kernels/cuda/softmax_fold.h"

namespace ndfold::cuda {

/// Where the states of a lane's columns go, those of [low, high): elements of the output from `out` on, or states from
/// `number` on among all that the step leaves.
struct StatePlaces {
  Index out, out_step;
  Index number, number_step;
  int low = 0, high = 1;
};

/// Whether results are stored as they are. Integers wrap, so that their sign does not matter.
template <class Result>
__device__ bool is_own_type(DType type) {
  if constexpr (std::is_integral_v<Result>)
    return type == kDTypeOf<std::make_signed_t<Result>> || type == kDTypeOf<std::make_unsigned_t<Result>>;
  else
    return type == kDTypeOf<Result>;
}

template <class Result>
using Own = std::conditional_t<std::is_same_v<Result, bool>, Boolean, Result>;

/// Whether results are wanted as one of the types that are asked for most.
template <class Result>
__device__ bool is_usual(DType type) {
  const bool is_half = std::is_same_v<Result, float> && (type == DType::bf16 || type == DType::f16);
  return is_half || is_own_type<Own<Result>>(type);
}

/// Calls store(Out()) with that type.
template <class Result, class Store>
__device__ void visit_usual(DType type, const Store& store) {
  if constexpr (std::is_same_v<Result, float>) {
    if (type == DType::bf16) return store(BFloat16());
    if (type == DType::f16) return store(Half());
  }
  store(Own<Result>());
}

template <class Out, class Result, int kColumns>
__device__ void store_results(const Arguments& step, const Result (&results)[kColumns], const StatePlaces& places) {
  Out elements[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) elements[c] = to_element<Out>(results[c]);
  store_pack(elements, reinterpret_cast<Out*>(step.out) + places.out, places.out_step, places.low, places.high);
}

/// One as any type. Not inlined: that keeps it out of the way of the types that are asked for most.
template <class Result>
[[gnu::noinline]] __device__ void store_as_any(const Arguments& step, Result result, Index out) {
  visit_element(step.output, [&]<class Out>(Out) { store_element(reinterpret_cast<Out*>(step.out)[out], result); });
}

/// Columns that are not stored may hold the identity, whose index is the last there is: with an offset it wraps.
template <class F>
__device__ auto result_of(const Arguments& step, const F& fold, const typename F::State& state) {
  const auto result = fold.finalize(state, step.count);
  if constexpr (requires { state.index; })
    return static_cast<Index>(static_cast<std::uint64_t>(result) + static_cast<std::uint64_t>(step.index_offset));
  else
    return result;
}

template <class F>
using ResultOf = decltype(result_of(std::declval<Arguments>(), std::declval<F>(), std::declval<typename F::State>()));

/// Folds whose results are numbers: all but a softmax's states.
template <class F>
concept NumberFold = folds::FinalFold<F> && !requires(const F fold, typename F::State s, Index n) {
  fold.finalize(s, n).max;
};

template <class F, int kColumns>
__device__ void sink_states(const Arguments& step, const F& fold, const typename F::State (&states)[kColumns],
                            const StatePlaces& places) {
  if (step.sink == SinkKind::store_state) {
    auto* const to = reinterpret_cast<typename F::State*>(step.out) + places.number;
    return store_elements(states, to, places.number_step, places.low, places.high);
  }
  if constexpr (NumberFold<F>) {
    using Result = decltype(result_of(step, fold, states[0]));
    Result results[kColumns];
    if (step.repeat == 1)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) results[c] = result_of(step, fold, states[c]);
    else
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        results[c] = result_of(step, fold, folds::repeated(fold, states[c], step.repeat));
    if (is_usual<Result>(step.output))
      return visit_usual<Result>(step.output, [&]<class Out>(Out) { store_results<Out>(step, results, places); });
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      if (c >= places.low && c < places.high) store_as_any(step, results[c], places.out + c * places.out_step);
  }
}

template <class F>
__device__ void sink_state(const Arguments& step, const F& fold, const typename F::State& state, Index out,
                           Index number) {
  const typename F::State states[1] = {state};
  sink_states(step, fold, states, {out, 1, number, 1});
}

/// Reductions have a result an output; `Out` is void. A softmax writes elements of type `Out`.
template <class Out_>
struct ElementSink {
  using Out = Out_;
  static constexpr bool kMaps = true;
};
/// The same where a kernel has one map.
template <class Out_, MapKind kMap_>
struct MapSink : ElementSink<Out_> {
  static constexpr MapKind kMap = kMap_;
};
struct ResultSink {
  using Out = void;
  static constexpr bool kMaps = false;
};

}  // namespace ndfold::cuda
