// A softmax of rows that fit the registers of their lanes: a row is loaded once, folded, and written.
#pragma once
#include "kernels/cuda/row_map.h"
#include "kernels/cuda/sinks.h"

namespace ndfold::cuda {

/// A lane's packs of a line, `lanes` apart, as numbers, scaled: kUnroll at most. What is missing is -inf,
/// whose power is 0.
template <class Source, int kUnroll>
class RowInRegisters {
  using A = typename Source::Value;
  static constexpr int kSize = Source::kSize;

 public:
  __device__ RowInRegisters(const LineWalk<Source>& line, int lane, int lanes, A scale)
      : line_(line),
        first_(line.first() + lane),
        lane_(lane),
        lanes_(lanes),
        is_whole_(!line.cuts(0) && !line.cuts(1)) {
    const auto* at = line.element(first_);
    const Index pitch = line.pitch(lanes), last = line.last_whole();
    const int skipped = line.cuts(0) && lane == 0 ? 1 : 0;
    typename LineWalk<Source>::P packs[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u, at += pitch) {
      here_[u] = u >= skipped && first_ + static_cast<Index>(u) * lanes < last;
      packs[u] = {};
      if (here_[u]) packs[u] = line.load(at);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        numbers_[u].at[i] = here_[u] ? number_of<Source>(packs[u], i) * scale : -folds::kInfinity<A>;
    if (is_whole_) return;
#pragma unroll 1
    for (int end = 0; end < 2; ++end) {
      const int mine = cut_of_lane(end);
      if (mine == kUnroll) continue;
      const auto place = line.place(line.cut_pack(end));
      Pack<A, kSize> numbers;
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        numbers.at[i] = i >= place.low && i < place.high ? Source::value(place.in[i]) * scale : -folds::kInfinity<A>;
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        if (u == mine) numbers_[u] = numbers;
    }
  }

  __device__ A maximum() const {
    A packs[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      packs[u] = numbers_[u].at[0];
#pragma unroll
      for (int i = 1; i < kSize; ++i) packs[u] = folds::any_maximum(packs[u], numbers_[u].at[i]);
      if (u > 0) packs[0] = folds::any_maximum(packs[0], packs[u]);
    }
    return packs[0];
  }

  __device__ A sum_of_powers(const Exponent<A>& exponent) const {
    A sum = 0;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (is_whole_ && !here_[u]) continue;
      A of_pack = exponent.power(numbers_[u].at[0]);
#pragma unroll
      for (int i = 1; i < kSize; ++i) of_pack += exponent.power(numbers_[u].at[i]);
      sum += of_pack;
    }
    return sum;
  }

  /// Writes map(number) of each.
  template <class Out, class Map>
  __device__ void store(Out* out, const Map& map) const {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (here_[u]) store_one(numbers_[u], out, first_ + static_cast<Index>(u) * lanes_, 0, kSize, map);
    if (is_whole_) return;
#pragma unroll 1
    for (int end = 0; end < 2; ++end) {
      const int mine = cut_of_lane(end);
      if (mine == kUnroll) continue;
      Pack<A, kSize> pack = {};
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        if (u == mine) pack = numbers_[u];
      const auto place = line_.place(line_.cut_pack(end));
      store_one(pack, out, line_.cut_pack(end), place.low, place.high, map);
    }
  }

 private:
  // Which of the lane's packs an end of the line cuts, or kUnroll.
  __device__ int cut_of_lane(int end) const {
    int mine = kUnroll;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (line_.cuts(end) && first_ + static_cast<Index>(u) * lanes_ == line_.cut_pack(end)) mine = u;
    return mine;
  }

  template <class Out, class Map>
  __device__ void store_one(const Pack<A, kSize>& pack, Out* out, Index at, int low, int high, const Map& map) const {
    Out results[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(pack.at[i]));
    store_pack(results, out + line_.out(at), line_.weight(), low, high);
  }

  const LineWalk<Source>& line_;
  Index first_;
  int lane_, lanes_;
  bool is_whole_;  ///< no pack is cut
  bool here_[kUnroll];
  Pack<A, kSize> numbers_[kUnroll];
};

template <class Source, int kUnroll, class F, class Scope, class Out>
__device__ void softmax_in_registers(const Arguments& step, const F& fold, const Scope& scope,
                                     const LineWalk<Source>& line, Out* out) {
  using A = typename Source::Value;
  const RowInRegisters<Source, kUnroll> row(line, scope.lane(), scope.lanes(), fold.scale);
  const A max = scope.combine_near(fold.pivot_fold(), row.maximum());
  const A sum = scope.combine_near(folds::Sum<A>(), row.sum_of_powers(Exponent<A>::of(max, A(1))));
  const A alpha = static_cast<A>(step.alpha);
  if (step.map == MapKind::softmax)
    row.store(out, SoftmaxMap<A>({max, sum}, A(1), alpha));
  else
    row.store(out, LogSoftmaxMap<A>({max, sum}, A(1), alpha));
}

}  // namespace ndfold::cuda
