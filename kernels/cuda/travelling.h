// A softmax of rows that groups of blocks take in turn. Packs travel through a ring in shared memory: while the states
// of a row meet, the next one is folded, and packs of those to come are on their way.
#pragma once
#include "kernels/cuda/any_extreme.h"
#include "kernels/cuda/batch_ring.h"
#include "kernels/cuda/sinks.h"
#include "kernels/cuda/source.h"
#include "kernels/cuda/travelling_rows.h"
#include "kernels/cuda/travelling_states.h"

namespace ndfold::cuda {

/// All rows of a group.
template <class Source, class F, class Sink, class Tuning>
class Travel {
  using A = typename Source::Value;
  using T = typename Source::Element;
  using Out = typename Sink::Out;
  using P = PackOf<Source>;
  static constexpr int kSize = Source::kSize, kLoads = Tuning::kUnroll, kThreads = Tuning::kThreads;
  using States = TravellingStates<kThreads / kWarp>;
  using Rows = TravellingRows<Source, kThreads>;
  static_assert(States::kBytes + kTurnsOfPlaces * kPlaceBytes <= travelling_states_bytes(kThreads));
  static_assert(travelling_states_bytes(kThreads) <= kExchangeBytes);  // which plans leave beside elements

 public:
  __device__ Travel(const Arguments& step, const F& fold)
      : step_(step),
        fold_(fold),
        states_(step),
        rows_(step, States::kBytes),
        ring_(step, travelling_states_bytes(kThreads)),
        batches_((rows_.packs_of_lane() + kLoads - 1) / kLoads),
        lag_(2 * batches_ < ring_.places() ? 1 : 0) {}

  __device__ void run() {
    const auto block = cg::this_thread_block();
    const int turns = rows_.turns();
    rows_.find_first();
    block.sync();  // where the first rows lie is there
#pragma unroll 1
    for (int place = 0; place < ring_.places(); ++place) ask();
    states_.clear();
#pragma unroll 1
    for (int turn = 0; turn < turns + lag_; ++turn) {
      const int last = turn - lag_;  // the row that is finished
      const bool folds = turn < turns, finishes = last >= 0;
      Words words;
      const auto look = [&] {
        if (lag_ > 0 && finishes) words = states_.look(last);
      };
      if (folds)
        fold(turn, ring_.places() - 1 - (turn > 0 ? lag_ * batches_ : 0), look);
      else
        look();
      block.sync();  // states of all warps are there
      // What others wait for comes first: blocks that leave a word before they read those of the row before may be a
      // turn apart.
      if (folds) states_.leave(turn);
      if (lag_ == 0) words = states_.look(turn);
      if (finishes) states_.read(last, words);
      block.sync();  // so is the whole row's, and those of warps were read
      if (folds) rows_.find_later(turn);
      if (finishes) finish(last);
    }
  }

 private:
  using Words = typename States::Words;

  // For the next batch, into a place that was read; nothing when there is none.
  __device__ void ask() {
    if (asked_turn_ < rows_.turns()) {
      const auto packs = rows_.in(asked_turn_);
      const T* from = packs.at + asked_ * kLoads * kHop;
      P* to = ring_.packs(ask_place_);
      const int left = packs.count - asked_ * kLoads;
#pragma unroll
      for (int u = 0; u < kLoads; ++u, from += kHop)
        if (u < left) copy_later(to + u * kThreads, reinterpret_cast<const P*>(from));
      if (++asked_ == batches_) asked_ = 0, ++asked_turn_;
    }
    end_copies();
    ask_place_ = ring_.after(ask_place_);
  }

  // A lane's packs of a batch that came; those that are not there are zeros.
  __device__ void take(int place, int count, P (&packs)[kLoads]) const {
    const P* const from = ring_.packs(place);
#pragma unroll
    for (int u = 0; u < kLoads; ++u) packs[u] = u < count ? from[u * kThreads] : P{};
  }

  // The largest scaled number of a lane, as batches come, and the packs of the last one; `later`: batches asked for after
  // the first.
  template <bool kTurned>
  __device__ A find_maximum(int count, int later, P (&packs)[kLoads]) const {
    P extremes;
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      extremes.at[i] = to_element<T>(kTurned ? folds::kInfinity<A> : -folds::kInfinity<A>);
    int place = fold_place_;
#pragma unroll 1
    for (int batch = 0; batch < batches_; ++batch, place = ring_.after(place)) {
      await_but(later - batch);
      take(place, count - batch * kLoads, packs);
#pragma unroll
      for (int u = 0; u < kLoads; ++u)
        if (u < count - batch * kLoads) extremes = any_extreme<kTurned>(extremes, packs[u]);
    }
    A max = -folds::kInfinity<A>;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const A number = number_of<Source>(extremes, i);
      max = folds::any_maximum(max, kTurned ? -number : number);
    }
    return max;
  }

  // The maximum of a warp first, then powers around it. meanwhile() is between the two.
  template <class Meanwhile>
  __device__ void fold(int turn, int later, const Meanwhile& meanwhile) {
    const int count = rows_.in(turn).count;
    const bool turned = fold_.scale < 0;
    P packs[kLoads];
    const A mine = turned ? find_maximum<true>(count, later, packs) : find_maximum<false>(count, later, packs);
    meanwhile();
    const A most = meet_lanes(mine, 1, kWarp, [](A a, A b) { return folds::any_maximum(a, b); });
    // Whoever has no number: a scale may be 0.
    const A max = most == -folds::kInfinity<A> ? most : most * (turned ? -fold_.scale : fold_.scale);
    const auto exponent = Exponent<A>::of(max, fold_.scale);
    A sum = 0;
#pragma unroll 1
    for (int batch = 0; batch < batches_; ++batch, fold_place_ = ring_.after(fold_place_)) {
      if (batches_ > 1) take(fold_place_, count - batch * kLoads, packs);
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        if (u >= count - batch * kLoads) continue;
        A of_pack = 0;
#pragma unroll
        for (int i = 0; i < kSize; ++i) of_pack += exponent.power(number_of<Source>(packs[u], i));
        sum += of_pack;
      }
    }
    states_.put({max, meet_lanes(sum, 1, kWarp, [](A a, A b) { return a + b; })});
  }

  // Writes a row, and asks for what comes into its places.
  __device__ void finish(int turn) {
    const WordState whole = states_.whole();
    const auto packs = rows_.template out<Out>(turn);
    const A scale = static_cast<A>(step_.scale), alpha = static_cast<A>(step_.alpha);
    if (step_.map == MapKind::softmax)
      finish(packs, SoftmaxMap<A>(whole, scale, alpha));
    else
      finish(packs, LogSoftmaxMap<A>(whole, scale, alpha));
  }

  template <class Map>
  __device__ void finish(const TravellingPacks<Out>& packs, const Map& map) {
#pragma unroll 1
    for (int batch = 0; batch < batches_; ++batch) {
      P loaded[kLoads];
      take(map_place_, packs.count - batch * kLoads, loaded);
      Out* to = packs.at + batch * kLoads * kHop;
#pragma unroll
      for (int u = 0; u < kLoads; ++u, to += kHop) {
        if (u >= packs.count - batch * kLoads) continue;
        Pack<Out, kSize> results;
#pragma unroll
        for (int i = 0; i < kSize; ++i) results.at[i] = to_element<Out>(map(number_of<Source>(loaded[u], i)));
        store_vector(results, to);
      }
      map_place_ = ring_.after(map_place_);
      ask();
    }
  }

  static constexpr int kHop = kThreads * kSize;  // elements between a lane's packs

  const Arguments& step_;
  const F& fold_;
  States states_;
  Rows rows_;
  BatchRing<P, kLoads, kThreads> ring_;
  int batches_, lag_;  // lag: turns that a row waits for its numbers
  int ask_place_ = 0, fold_place_ = 0, map_place_ = 0;
  int asked_ = 0, asked_turn_ = 0;
};

template <class Source, class F, class Sink, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    travelling(const __grid_constant__ Arguments step) {
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  Travel<Source, F, Sink, Tuning>(step, fold).run();
}

}  // namespace ndfold::cuda
