// Results of a lane's outputs, which are some way apart: most need no more than a store.
#pragma once
#include "kernels/cuda/odometer.h"
#include "kernels/cuda/sinks.h"

namespace ndfold::cuda {

/// Not inlined: that keeps it out of the way of results that need no more than a store.
template <class F>
[[gnu::noinline]] __device__ void sink_output(const Arguments& step, const F& fold, typename F::State state,
                                              Index output) {
  sink_state(step, fold, state, offsets(step, step.tile, output).out, output);
}

/// Writes results of outputs that are some way apart, one after the other.
template <class F>
class ResultsOfLane {
 public:
  __device__ ResultsOfLane(const Arguments& step, Index first, int apart) : step_(step), output_(first), apart_(apart) {
    if constexpr (NumberFold<F>) {
      using Result = ResultOf<F>;
      is_plain_ =
          step.sink == SinkKind::store && step.repeat == 1 && step.results_follow && is_usual<Result>(step.output);
      is_own_ = is_own_type<Own<Result>>(step.output);
      bytes_ = (is_own_ ? static_cast<Index>(sizeof(Result)) : 2) * step.tile.near[0].out;
      to_ = step.out + first * bytes_;
      pitch_ = apart * bytes_;
    }
  }

  /// Of the next output; `speaks`: whether this lane writes it.
  __device__ void write(const F& fold, const typename F::State& state, bool speaks) {
    write_later(fold, state, 0, speaks);
    pass(1);
  }

  /// Of the output so many after the next one.
  __device__ void write_later(const F& fold, const typename F::State& state, int outputs, bool speaks) {
    if (is_plain_) {
      if constexpr (NumberFold<F>)
        if (speaks) store(result_of(step_, fold, state), to_ + outputs * pitch_);
    } else if (speaks) {
      sink_output(step_, fold, state, output_ + outputs * apart_);
    }
  }

  /// Whether there is an output so many after the next one.
  __device__ bool has_next(int outputs) const { return output_ + outputs * apart_ < step_.tiles; }

  /// Goes on after so many outputs.
  __device__ void pass(int outputs) {
    to_ += outputs * pitch_;
    output_ += outputs * apart_;
  }

  /// What comes next is `outputs` further on.
  __device__ void skip(int outputs) {
    to_ += outputs * bytes_;
    output_ += outputs;
  }

 private:
  template <class Result>
  __device__ void store(Result result, std::byte* to) {
    if (is_own_) {
      store_element(*reinterpret_cast<Own<Result>*>(to), result);
    } else if constexpr (std::is_same_v<Result, float>) {
      if (step_.output == DType::bf16)
        store_element(*reinterpret_cast<BFloat16*>(to), result);
      else
        store_element(*reinterpret_cast<Half*>(to), result);
    }
  }

  const Arguments& step_;
  Index output_;
  int apart_;
  bool is_plain_ = false, is_own_ = false;
  std::byte* to_ = nullptr;
  Index bytes_ = 0, pitch_ = 0;
};

}  // namespace ndfold::cuda
