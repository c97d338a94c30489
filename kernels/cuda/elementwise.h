// Body elementwise: out = map(in, value of its output), the steps between the folds of a softmax. Lanes lie along the
// axis that is nearest in memory, kept or reduced; the grid shares the packs of the whole tensor.
#pragma once
#include "kernels/cuda/combine_rows.h"
#include "kernels/cuda/run_walk.h"
#include "kernels/cuda/sinks.h"

namespace ndfold::cuda {

/// alpha and the value behind one output, or its softmax state.
template <class A>
struct Mapping {
  MapKind map;
  A alpha, value;
  SoftmaxMap<A> softmax;
  LogSoftmaxMap<A> log_softmax;

  __device__ static Mapping of(const Arguments& step, Index output) {
    const A scale = static_cast<A>(step.scale), alpha = static_cast<A>(step.alpha);
    Mapping mapping{step.map, alpha, A(0), {}, {}};
    if (step.map == MapKind::softmax || step.map == MapKind::log_softmax) {
      const auto state = read_state(reinterpret_cast<const folds::MaxAndSum<A>*>(step.values) + output);
      if (step.map == MapKind::softmax)
        mapping.softmax = {state, scale, alpha};
      else
        mapping.log_softmax = {state, scale, alpha};
    } else if (step.values != nullptr) {
      mapping.value = reinterpret_cast<const A*>(step.values)[output];
    }
    return mapping;
  }

  __device__ A operator()(A x) const {
    switch (map) {
      case MapKind::scale: return x * alpha;
      case MapKind::subtract: return x - value;
      case MapKind::exponential: return folds::exponential(x);
      case MapKind::divide: return alpha * (x / value);
      case MapKind::subtract_log: return alpha * (x - std::log(value));
      case MapKind::log_softmax: return log_softmax(x);
      default: return softmax(x);
    }
  }
};

template <class Source, class Out, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    elementwise(const __grid_constant__ Arguments step) {
  using Element = typename Source::Element;
  using A = typename Source::Value;
  constexpr int kSize = Source::kSize;
  const RunWalk<Source> walk(step, reinterpret_cast<const Element*>(step.in), 0, step.reduced);
  const AxisNumbers& axis = step.lane_axis;
  const Index block = static_cast<Index>(blockIdx.y) * gridDim.x + blockIdx.x;
  const Index stride = static_cast<Index>(gridDim.x) * gridDim.y * threads_of_block();
  for (Index pack = walk.first() + block * threads_of_block() + thread_of_block(); pack < walk.last(); pack += stride) {
    const auto place = walk.place(pack);
    if (place.low >= place.high) continue;
    const auto elements = load_pack<Element, kSize>(place.in, axis.in, place.low, place.high);
    auto mapping = Mapping<A>::of(step, place.value + place.low * axis.value);
    Out mapped[kSize] = {};
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      if (i >= place.low && i < place.high) {
        if (axis.value != 0) mapping = Mapping<A>::of(step, place.value + i * axis.value);
        mapped[i] = to_element<Out>(mapping(Source::value(elements.at[i])));
      }
    store_pack(mapped, reinterpret_cast<Out*>(step.out) + place.out, axis.out, place.low, place.high);
  }
}

}  // namespace ndfold::cuda
