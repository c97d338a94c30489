// A softmax of rows or of panels of columns that groups of blocks take in turn. Packs travel through a ring in shared
// memory: while the states of a tile meet, the next one is folded, and packs of those to come are on their way.
#pragma once
#include "kernels/cuda/any_extreme.h"
#include "kernels/cuda/batch_ring.h"
#include "kernels/cuda/joined_states.h"
#include "kernels/cuda/sinks.h"
#include "kernels/cuda/source.h"
#include "kernels/cuda/travelling_apart.h"
#include "kernels/cuda/travelling_joined.h"
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
  using States = std::conditional_t<Tiles::kIsJoined, JoinedStates<kStates, kThreads>,
                                    TravellingStates<kColumns, kThreads / kWarp>>;
  using End = EndOfTile<T, Tiles::kHasEnds ? kStates : 1>;
  static constexpr Index kBytesBefore = States::kBytes;

 public:
  __device__ Travel(const Arguments& step, const F& fold)
      : step_(step),
        fold_(fold),
        tiles_(step, kBytesBefore),
        states_(step),
        places_(step, kBytesBefore - kTurnsOfPlaces * kPlaceBytes),
        batches_(batches(step, tiles_)),
        loads_(batches_.loads * static_cast<int>(kVectorBytes / sizeof(P))),
        ring_(step, kBytesBefore + bytes_of_runs(step), loads_),
        again_(Tiles::kPasses && batches_.count > ring_.places() ? batches_.count - ring_.places() : 0),
        once_(meets_once(step)),
        lag_(!once_ && 2 * batches_.count < ring_.places() ? 1 : 0) {}

  __device__ void run() {
    const auto block = cg::this_thread_block();
    const int turns = places_.turns();
    places_.find_first(tiles_);
    block.sync();  // where the first tiles lie is there
    await_launch_before();
#pragma unroll 1
    for (int place = 0; place < ring_.places(); ++place) ask();
    ends_.next = end_of(0);
    if (!once_) states_.clear();
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
      if (once_) cg::this_grid().sync();  // words of all are there
      if (lag_ == 0) words = states_.look(turn);
      if (finishes) read(last, words);
      block.sync();  // so is what was read, and those of warps were combined
      if (folds) places_.find_later(tiles_, turn);
      if (finishes) finish(last);
    }
  }

 private:
  using Words = typename States::Words;

  __device__ static Index bytes_of_runs(const Arguments& step) {
    if constexpr (!Tiles::kHasRuns) return 0;
    return travelling_table_bytes(step.part, kColumns == 1 ? step.packs_of_run * kSize : 1);
  }
  __device__ static Batches batches(const Arguments& step, const Tiles& tiles) {
    if constexpr (Tiles::kIsJoined)
      return batches_of(tiles.part_bytes(), tiles.lanes());
    else
      return batches_of(step.part * Tiles::kBytes, kThreads);
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

  // A lane's elements of the ends of a turn's tile, asked for a turn before it is folded.
  __device__ End end_of(int turn) const {
    End end;
    if constexpr (Tiles::kHasEnds) {
      if (turn >= places_.turns()) return end;
      const TilePlace place = places_.of(turn);
      end.cut = tiles_.end(place);
      if (end.cut.which == 0) return end;
      const T* const from = reinterpret_cast<const T*>(step_.in) + place.in + end.cut.at;
      end.each([&](int c, T) { end.elements[c] = from[c]; });
    }
    return end;
  }
  // work(column of the lane, number) of what a lane has of a tile's ends.
  template <class Work>
  __device__ static void each_number(const End& end, const Work& work) {
    if constexpr (Tiles::kHasEnds) end.each([&](int c, T element) { work(c, Source::value(element)); });
  }

  // A lane's place-by-place extremes of packs: of numbers that are turned, where a scale is negative.
  template <bool kTurned>
  __device__ void add_extremes(int place, int count, P& extremes) const {
    each_pack(place, count, [&](const P& pack) { extremes = any_extreme<kTurned>(extremes, pack); });
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
    P extremes = no_extremes<kTurned, A, T, kSize>();
    int place = fold_place_;
#pragma unroll 1
    for (int batch = 0; batch < batches_.count; ++batch, place = ring_.after(place)) {
      await_but(later - batch);
      add_extremes<kTurned>(place, of_batch(count, batch), extremes);
    }
    raise_maxima<kTurned, Source>(extremes, maxima);
    each_number(ends_.folded,
                [&](int c, A number) { maxima[c] = folds::any_maximum(maxima[c], kTurned ? -number : number); });
    meanwhile();
    Exponent<A> exponents[kStates];
#pragma unroll
    for (int c = 0; c < kStates; ++c) maxima[c] = scaled<kTurned>(meet_maxima(maxima[c]));
    measure_from(maxima, fold_.scale, exponents);
#pragma unroll 1
    for (int batch = 0; batch < batches_.count; ++batch, fold_place_ = ring_.after(fold_place_))
      add_powers(fold_place_, of_batch(count, batch), exponents, sums);
    each_number(ends_.folded, [&](int c, A number) { sums[c] += exponents[c].power(number); });
  }

  // A tile that is longer than the ring: batch by batch, each in the place of one that was folded, until only the last
  // ones stay.
  template <bool kTurned>
  __device__ void fold_passing(int count, A (&maxima)[kStates], A (&sums)[kStates]) {
    each_number(ends_.folded, [&](int c, A number) {
      maxima[c] = scaled<kTurned>(kTurned ? -number : number);
      sums[c] = Exponent<A>::of(maxima[c], fold_.scale).power(number);
    });
#pragma unroll 1
    for (int batch = 0; batch < batches_.count; ++batch, fold_place_ = ring_.after(fold_place_)) {
      await_but(batch <= again_ ? ring_.places() - 1 : batches_.count - 1 - batch);
      const int packs = of_batch(count, batch);
      P extremes = no_extremes<kTurned, A, T, kSize>();
      add_extremes<kTurned>(fold_place_, packs, extremes);
      A most[kStates], of_packs[kStates] = {};
      Exponent<A> exponents[kStates];
#pragma unroll
      for (A& one : most) one = -folds::kInfinity<A>;
      raise_maxima<kTurned, Source>(extremes, most);
#pragma unroll
      for (int c = 0; c < kStates; ++c) {
        shift(folds::any_maximum(maxima[c], scaled<kTurned>(most[c])), maxima[c], sums[c]);
      }
      measure_from(maxima, fold_.scale, exponents);
      add_powers(fold_place_, packs, exponents, of_packs);
#pragma unroll
      for (int c = 0; c < kStates; ++c) sums[c] += of_packs[c];
      if (batch < again_) ask();
    }
#pragma unroll
    for (int c = 0; c < kStates; ++c) shift(meet_maxima(maxima[c]), maxima[c], sums[c]);
  }
  __device__ static void shift(A larger, A& max, A& sum) {
    sum *= Exponent<A>::shrink(max, larger);
    max = larger;
  }

  template <bool kTurned, class Meanwhile>
  __device__ void fold(int count, int later, A (&maxima)[kStates], A (&sums)[kStates], const Meanwhile& meanwhile) {
    if constexpr (Tiles::kPasses)
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
    if constexpr (Tiles::kIsJoined)
      return thread_of_block() * kStates + c;
    else if constexpr (kColumns == 1)
      return 0;
    else if constexpr (Packs::kIsWhole)
      return c * kAcross + thread_of_block() % kAcross;
    else
      return packs.place(c);
  }

  // work(a map of the kind that the step has).
  template <class Work>
  __device__ void with_map(const Work& work) const {
    if (step_.map == MapKind::softmax)
      work(SoftmaxMap<A>());
    else
      work(LogSoftmaxMap<A>());
  }
  template <class Map>
  __device__ Map make(const WordState& state) const {
    return Map(state, static_cast<A>(step_.scale), static_cast<A>(step_.alpha));
  }

  // What other blocks left of a tile.
  __device__ void read(int turn, const Words& words) const {
    if constexpr (Tiles::kIsJoined)
      with_map([&]<class Map>(Map) {
        states_.template read<Map>(turn, words, [&](const WordState& state) { return make<Map>(state); });
      });
    else
      states_.read(turn, words);
  }

  // Writes a tile, and asks for what comes into its places.
  __device__ void finish(int turn) {
    with_map([&]<class Map>(Map) { finish<Map>(turn); });
  }

  template <class Map>
  __device__ void finish(int turn) {
    const auto packs = tiles_.template packs<false>(reinterpret_cast<Out*>(step_.out), places_.of(turn));
    Map maps[kStates];
    if constexpr (Tiles::kIsJoined)
      states_.whole(maps);
    else
      states_.whole(
          maps, [&](const WordState& state) { return make<Map>(state); }, [&](int c) { return place_of(packs, c); });
    const int stay = batches_.count - again_;
    if (again_ > 0) map_place_ = fold_place_;  // the first of those that stay has the place after the last one's
#pragma unroll 1
    for (int nth = 0; nth < batches_.count; ++nth) {
      if (nth >= stay) await_but(ring_.places() - 1);
      const int batch = nth < stay ? again_ + nth : batches_.count - 1 - nth;
      auto walk = packs.from(batch * loads_);
      const auto map_pack = [&](const P& pack) {
        Pack<Out, kSize> results;
#pragma unroll
        for (int i = 0; i < kSize; ++i) results.at[i] = to_element<Out>(maps[i % kStates](number_of<Source>(pack, i)));
        if constexpr (!decltype(packs)::kIsWhole)
          packs.store(results, walk.next());
        else if constexpr (kSize == 1)
          *walk.next() = results.at[0];
        else
          store_vector(results, walk.next());
      };
      if constexpr (requires { packs.of_warp; }) {  // a warp takes as many as any of its lanes has
        const P* const from = ring_.packs(map_place_);
        const int there = of_batch(packs.count, batch), of_warp = of_batch(packs.of_warp, batch);
#pragma unroll 2
        for (int u = 0; u < of_warp; ++u) map_pack(u < there ? from[u * kThreads] : P());
      } else {
        each_pack(map_place_, of_batch(packs.count, batch), map_pack);
      }
      map_place_ = ring_.after(map_place_);
      ask();
    }
    if (again_ > 0) fold_place_ = map_place_;
    if constexpr (Tiles::kHasEnds) {
      End end = ends_.folded;  // a reference to either would keep all members out of registers
      if (lag_ > 0) end = ends_.waiting;
      if (end.cut.which == 0) return;
      Out* const to = reinterpret_cast<Out*>(step_.out) + places_.of(turn).out + end.cut.at;
      each_number(end, [&](int c, A number) { store_element(to[c], maps[c](number)); });
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
    End waiting, folded, next;
  } ends_;     // of the last turn, of this one, and of the one to come
  int again_;  // batches of a row that have no place at its end and are asked for again, the last ones first
  bool once_;  // a group has one tile, whose blocks meet at the grid's barrier
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
