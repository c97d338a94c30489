// The states of a lane's batches, merged so that the longest path from an element to its sum grows with a logarithm.
#pragma once
#include "kernels/cuda/dialect.h"
#include "kernels/folds/extremum.h"
#include "kernels/folds/fold.h"

namespace ndfold::cuda {

/// Folds whose combine never rounds: any order gives the same bits, so a running state will do.
template <class F>
concept Exact = std::is_integral_v<typename F::State> || requires {
  typename F::Values;
} || std::is_base_of_v<folds::Max<typename F::State>, F> || std::is_base_of_v<folds::Min<typename F::State>, F> ||
    std::is_base_of_v<folds::Linf<typename F::State>, F>;

/// Merges eight at a time. Columns are folded side by side, each by itself.
template <class F, int kColumns>
class Tree {
  using State = typename F::State;
  static constexpr int kWay = 8, kLevels = 14;  // 8^15 batches

 public:
  __device__ explicit Tree(const F& fold) : fold_(fold) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) running_[c] = fold.identity();
  }

  __device__ void push(const State (&states)[kColumns]) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      if (folds::PivotFold<F> && batches_ % kWay == 0)  // where combining is dear, not with an identity
        running_[c] = states[c];
      else
        running_[c] = fold_.combine(running_[c], states[c]);
    if constexpr (!Exact<F>)
      if (++batches_ % kWay == 0) carry();
  }

  __device__ void result(State (&states)[kColumns]) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) states[c] = running_[c];
    if constexpr (!Exact<F>) {
      std::uint64_t digits = batches_ / kWay;
      for (int level = 0; digits != 0; ++level, digits /= kWay)
        if (digits % kWay != 0)
          for (int c = 0; c < kColumns; ++c) states[c] = fold_.combine(levels_[level][c], states[c]);
    }
  }

 private:
  // The running state becomes the next digit of level 0; a full level becomes a digit of the one above.
  __device__ void carry() {
    std::uint64_t before = batches_ / kWay - 1;
    for (int level = 0;; ++level, before /= kWay) {
      for (int c = 0; c < kColumns; ++c) {
        State& place = levels_[level][c];
        place = before % kWay == 0 ? running_[c] : fold_.combine(place, running_[c]);
        running_[c] = place;
      }
      if (before % kWay != kWay - 1 || level + 1 == kLevels) break;
    }
    for (int c = 0; c < kColumns; ++c) running_[c] = fold_.identity();
  }

  const F& fold_;
  std::uint64_t batches_ = 0;
  State running_[kColumns];
  State levels_[kLevels][kColumns];
};

}  // namespace ndfold::cuda
