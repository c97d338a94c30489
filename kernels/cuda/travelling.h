// A softmax of rows or of panels of columns that groups of blocks take in turn. Packs travel through a ring in shared
// memory: while the states of a tile meet, the next one is folded, and packs of those to come are on their way.
#pragma once
#include "kernels/cuda/any_extreme.h"
#include "kernels/cuda/batch_ring.h"
#include "kernels/cuda/sinks.h"
#include "kernels/cuda/source.h"
#include "kernels/cuda/travelling_sectors.h"
#include "kernels/cuda/travelling_states.h"
#include "kernels/cuda/travelling_tiles.h"

namespace ndfold::cuda {

/// All tiles of a group.
template <class Source, class F, class Sink, template <class, int> class TilesOf, class Tuning>
class Travel {
  using A = typename Source::Value;
  using T = typename Source::Element;
  using Out = typename Sink::Out;
  using P = PackOf<Source>;
  static constexpr int kSize = Source::kSize, kLoads = Tuning::kUnroll, kThreads = Tuning::kThreads;
  using Tiles = TilesOf<Source, kThreads>;
  static constexpr int kStates = Tiles::kStates, kAcross = Tiles::kAcross, kColumns = kStates * kAcross;
  using States = TravellingStates<kColumns, kThreads / kWarp>;
  static constexpr bool kIsRow = kColumns == 1;
  static constexpr Index kBytesBefore = travelling_states_bytes(kThreads, kColumns);

 public:
  __device__ Travel(const Arguments& step, const F& fold)
      : step_(step),
        fold_(fold),
        tiles_(step, kBytesBefore),
        states_(step),
        places_(step, kBytesBefore - kTurnsOfPlaces * kPlaceBytes),
        batches_(batches_of(step.part * Tiles::kBytes, kThreads)),
        loads_(batches_.loads * static_cast<int>(kVectorBytes / sizeof(P))),
        ring_(step, kBytesBefore + bytes_of_runs(step), loads_),
        again_(kIsRow && batches_.count > ring_.places() ? batches_.count - ring_.places() : 0),
        lag_(2 * batches_.count < ring_.places() ? 1 : 0) {}

  __device__ void run() {
    const auto block = cg::this_thread_block();
    const int turns = places_.turns();
    places_.find_first(tiles_);
    block.sync();  // where the first tiles lie is there
    await_launch_before();
#pragma unroll 1
    for (int place = 0; place < ring_.places(); ++place) ask();
    ends_.next = end_of(0);
    states_.clear();
#pragma unroll 1
    for (int turn = 0; turn < turns + lag_; ++turn) {
      const int last = turn - lag_;  // the tile that is finished
      const bool folds = turn < turns, finishes = last >= 0;
      ends_ = {ends_.folded, ends_.next, end_of(turn + 1)};
      Words words;
      const auto look = [&] {
        if (lag_ > 0 && finishes) words = states_.look(last);
      };
      if (folds)
        fold(turn, ring_.places() - 1 - (turn > 0 ? lag_ * batches_.count : 0), look);
      else
        look();
      block.sync();  // states of all warps are there
      // What others wait for comes first: blocks that leave a word before they read those of the tile before may be a
      // turn apart.
      if (folds) states_.leave(turn);
      if (lag_ == 0) words = states_.look(turn);
      if (finishes) states_.read(last, words);
      block.sync();  // so is what was read, and those of warps were combined
      if (folds) places_.find_later(tiles_, turn);
      if (finishes) finish(last);
    }
  }

 private:
  using Words = typename States::Words;

  __device__ static Index bytes_of_runs(const Arguments& step) {
    if constexpr (!Tiles::kHasRuns) return 0;
    return travelling_table_bytes(step.part, kIsRow ? step.packs_of_run * kSize : 1);
  }

  // For the next batch, into a place that was read; nothing when there is none.
  __device__ void ask() {
    if (asked_turn_ < places_.turns()) {
      const auto packs = packs_in(asked_turn_);
      const int batch = asked_ < batches_.count ? asked_ : batches_.count + again_ - 1 - asked_;
      const int left = of_batch(packs.count, batch);
      auto walk = packs.from(batch * loads_);
      P* const to = ring_.packs(ask_place_);
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        if (u >= left) break;
        if constexpr (decltype(packs)::kIsWhole)
          copy_later(to + u * kThreads, reinterpret_cast<const P*>(walk.next()));
        else
          packs.copy(to + u * kThreads, walk.next());
      }
      if (++asked_ == batches_.count + again_) asked_ = 0, ++asked_turn_;
    }
    end_copies();
    ask_place_ = ring_.after(ask_place_);
  }

  // How many of a lane's packs are a batch's.
  __device__ int of_batch(int count, int batch) const {
    const int left = count - batch * loads_;
    return left < 0 ? 0 : left < loads_ ? left : loads_;
  }

  // work(pack) of a lane's packs of a batch that came: kLoads, … 4, 2 and 1 of them at a time, as many as there are.
  // What goes on at once has no branches in between: eight packs of 16-bit elements, one after the other, take twice as
  // long.
  template <class Work>
  __device__ void each_pack(int place, int count, const Work& work) const {
    each_pack<kLoads>(ring_.packs(place), count, 0, work);
  }
  template <int kAtOnce, class Work>
  __device__ static void each_pack(const P* from, int count, int first, const Work& work) {
    if ((count & kAtOnce) != 0) {
      P packs[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) packs[u] = from[(first + u) * kThreads];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) work(packs[u]);
      first += kAtOnce;
    }
    if constexpr (kAtOnce > 1) each_pack<kAtOnce / 2>(from, count, first, work);
  }

  __device__ auto packs_in(int turn) const {
    return tiles_.template packs<true>(reinterpret_cast<const T*>(step_.in), places_.of(turn));
  }

  // A lane's element of the ends of a turn's row, asked for a turn before it is folded.
  __device__ EndOfRow<T> end_of(int turn) const {
    EndOfRow<T> end;
    if constexpr (Tiles::kHasEnds) {
      if (turn >= places_.turns()) return end;
      const TilePlace place = places_.of(turn);
      end.at = tiles_.end(place);
      if (end.at >= 0) end.element = reinterpret_cast<const T*>(step_.in)[place.in + end.at];
    }
    return end;
  }
  __device__ static A number_of_end(const EndOfRow<T>& end) { return Source::value(end.element); }

  // A lane's place-by-place extremes of packs, and what they make of its columns' maxima: of numbers that are turned,
  // where a scale is negative.
  template <bool kTurned>
  __device__ static P no_extremes() {
    P extremes;
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      extremes.at[i] = to_element<T>(kTurned ? folds::kInfinity<A> : -folds::kInfinity<A>);
    return extremes;
  }
  template <bool kTurned>
  __device__ void add_extremes(int place, int count, P& extremes) const {
    each_pack(place, count, [&](const P& pack) { extremes = any_extreme<kTurned>(extremes, pack); });
  }
  template <bool kTurned>
  __device__ static void raise(const P& extremes, A (&maxima)[kStates]) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const A number = number_of<Source>(extremes, i);
      A& max = maxima[i % kStates];
      max = folds::any_maximum(max, kTurned ? -number : number);
    }
  }
  // Times the scale: whoever has no number has none then, too, for a scale may be 0.
  template <bool kTurned>
  __device__ A scaled(A max) const {
    return max == -folds::kInfinity<A> ? max : max * (kTurned ? -fold_.scale : fold_.scale);
  }
  __device__ static A meet_maxima(A max) {
    return meet_lanes(max, kAcross, kWarp, [](A a, A b) { return folds::any_maximum(a, b); });
  }
  __device__ void add_powers(int place, int count, const Exponent<A> (&exponents)[kStates], A (&sums)[kStates]) const {
    each_pack(place, count, [&](const P& pack) {
      A of_pack = 0;
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        (kStates == 1 ? of_pack : sums[i % kStates]) += exponents[i % kStates].power(number_of<Source>(pack, i));
      if constexpr (kStates == 1) sums[0] += of_pack;
    });
  }

  // A tile that stays: the maxima of a warp first, as batches come, then powers around them. meanwhile() is between the
  // two; `later`: batches asked for after the first.
  template <bool kTurned, class Meanwhile>
  __device__ void fold_staying(int count, int later, A (&maxima)[kStates], A (&sums)[kStates],
                               const Meanwhile& meanwhile) {
    P extremes = no_extremes<kTurned>();
    int place = fold_place_;
#pragma unroll 1
    for (int batch = 0; batch < batches_.count; ++batch, place = ring_.after(place)) {
      await_but(later - batch);
      add_extremes<kTurned>(place, of_batch(count, batch), extremes);
    }
    raise<kTurned>(extremes, maxima);
    if (ends_.folded.at >= 0) {
      const A number = number_of_end(ends_.folded);
      maxima[0] = folds::any_maximum(maxima[0], kTurned ? -number : number);
    }
    meanwhile();
    Exponent<A> exponents[kStates];
#pragma unroll
    for (int c = 0; c < kStates; ++c) {
      maxima[c] = scaled<kTurned>(meet_maxima(maxima[c]));
      exponents[c] = Exponent<A>::of(maxima[c], fold_.scale);
    }
#pragma unroll 1
    for (int batch = 0; batch < batches_.count; ++batch, fold_place_ = ring_.after(fold_place_))
      add_powers(fold_place_, of_batch(count, batch), exponents, sums);
    if (ends_.folded.at >= 0) sums[0] += exponents[0].power(number_of_end(ends_.folded));
  }

  // A row that is longer than the ring: batch by batch, each in the place of one that was folded, until only the last
  // ones stay.
  template <bool kTurned>
  __device__ void fold_passing(int count, A (&maxima)[1], A (&sums)[1]) {
    if (ends_.folded.at >= 0) {
      const A number = number_of_end(ends_.folded);
      maxima[0] = scaled<kTurned>(kTurned ? -number : number);
      sums[0] = Exponent<A>::of(maxima[0], fold_.scale).power(number);
    }
#pragma unroll 1
    for (int batch = 0; batch < batches_.count; ++batch, fold_place_ = ring_.after(fold_place_)) {
      await_but(batch <= again_ ? ring_.places() - 1 : batches_.count - 1 - batch);
      const int packs = of_batch(count, batch);
      P extremes = no_extremes<kTurned>();
      add_extremes<kTurned>(fold_place_, packs, extremes);
      A most[1] = {-folds::kInfinity<A>}, of_packs[1] = {};
      raise<kTurned>(extremes, most);
      measure_from(folds::any_maximum(maxima[0], scaled<kTurned>(most[0])), maxima[0], sums[0]);
      add_powers(fold_place_, packs, {Exponent<A>::of(maxima[0], fold_.scale)}, of_packs);
      sums[0] += of_packs[0];
      if (batch < again_) ask();
    }
    measure_from(meet_maxima(maxima[0]), maxima[0], sums[0]);
  }
  __device__ static void measure_from(A larger, A& max, A& sum) {
    sum *= Exponent<A>::shrink(max, larger);
    max = larger;
  }

  template <bool kTurned, class Meanwhile>
  __device__ void fold(int count, int later, A (&maxima)[kStates], A (&sums)[kStates], const Meanwhile& meanwhile) {
    if constexpr (kIsRow)
      if (again_ > 0) return fold_passing<kTurned>(count, maxima, sums);
    fold_staying<kTurned>(count, later, maxima, sums, meanwhile);
  }

  template <class Meanwhile>
  __device__ void fold(int turn, int later, const Meanwhile& meanwhile) {
    const auto packs = packs_in(turn);
    const int count = packs.count;
    A maxima[kStates], sums[kStates] = {};
#pragma unroll
    for (A& max : maxima) max = -folds::kInfinity<A>;
    if (fold_.scale < 0)
      fold<true>(count, later, maxima, sums, meanwhile);
    else
      fold<false>(count, later, maxima, sums, meanwhile);
#pragma unroll
    for (int c = 0; c < kStates; ++c) {
      const A sum = meet_lanes(sums[c], kAcross, kWarp, [](A a, A b) { return a + b; });
      if (lane_of_warp() < kAcross) states_.put(place_of(packs, c), {maxima[c], sum});
    }
  }

  // Of a lane's column among the states of all: lanes put neighbours.
  template <class Packs>
  __device__ static int place_of(const Packs& packs, int c) {
    if constexpr (Packs::kIsWhole)
      return c * kAcross + thread_of_block() % kAcross;
    else
      return packs.place(c);
  }

  // Writes a tile, and asks for what comes into its places.
  __device__ void finish(int turn) {
    if (step_.map == MapKind::softmax)
      finish<SoftmaxMap<A>>(turn);
    else
      finish<LogSoftmaxMap<A>>(turn);
  }

  template <class Map>
  __device__ void finish(int turn) {
    const auto packs = tiles_.template packs<false>(reinterpret_cast<Out*>(step_.out), places_.of(turn));
    Map maps[kStates];
    states_.whole(
        maps,
        [&](const WordState& state) { return Map(state, static_cast<A>(step_.scale), static_cast<A>(step_.alpha)); },
        [&](int c) { return place_of(packs, c); });
    const int stay = batches_.count - again_;
    if (again_ > 0) map_place_ = fold_place_;  // the first of those that stay has the place after the last one's
#pragma unroll 1
    for (int nth = 0; nth < batches_.count; ++nth) {
      if (nth >= stay) await_but(ring_.places() - 1);
      const int batch = nth < stay ? again_ + nth : batches_.count - 1 - nth;
      auto walk = packs.from(batch * loads_);
      each_pack(map_place_, of_batch(packs.count, batch), [&](const P& pack) {
        Pack<Out, kSize> results;
#pragma unroll
        for (int i = 0; i < kSize; ++i) results.at[i] = to_element<Out>(maps[i % kStates](number_of<Source>(pack, i)));
        if constexpr (!decltype(packs)::kIsWhole)
          packs.store(results, walk.next());
        else if constexpr (kSize == 1)
          *walk.next() = results.at[0];
        else
          store_vector(results, walk.next());
      });
      map_place_ = ring_.after(map_place_);
      ask();
    }
    if (again_ > 0) fold_place_ = map_place_;
    EndOfRow<T> end = ends_.folded;  // a reference to either would keep all members out of registers
    if (lag_ > 0) end = ends_.waiting;
    if (end.at >= 0) {
      Out* const row = reinterpret_cast<Out*>(step_.out) + places_.of(turn).out;
      row[end.at] = to_element<Out>(maps[0](number_of_end(end)));
    }
  }

  const Arguments& step_;
  const F& fold_;
  Tiles tiles_;
  States states_;
  TilePlaces places_;
  Batches batches_;
  int loads_;  // of a batch, of a lane's packs
  BatchRing<P, kThreads> ring_;
  struct {
    EndOfRow<T> waiting, folded, next;
  } ends_;     // of the last turn, of this one, and of the one to come
  int again_;  // batches of a row that have no place at its end and are asked for again, the last ones first
  int lag_;    // turns that a tile waits for its states
  int ask_place_ = 0, fold_place_ = 0, map_place_ = 0;
  int asked_ = 0, asked_turn_ = 0;
};

template <class Source, class F, class Sink, template <class, int> class TilesOf, class Tuning>
__global__ void __launch_bounds__(Tuning::kThreads, Tuning::kBlocks)
    travelling(const __grid_constant__ Arguments step) {
  const F fold = folds::make_fold<F>({step.scale, step.ddof});
  Travel<Source, F, Sink, TilesOf, Tuning>(step, fold).run();
}

}  // namespace ndfold::cuda
