// A softmax of rows that wait in shared memory: a lane asks for all of its packs and folds them group by group as they
// come.
#pragma once
#include "kernels/cuda/row_map.h"
#include "kernels/cuda/softmax_fold.h"

namespace ndfold::cuda {

/// A lane's whole packs among those that wait: numbers first, first + lanes, … `count` of them.
struct PacksOfLane {
  int first = 0, count = 0;
};

__device__ inline int packs_of_lane(int first, int last, int lanes) {
  return first < last ? static_cast<int>(static_cast<unsigned>(last - first + lanes - 1) / static_cast<unsigned>(lanes))
                      : 0;
}

template <class Source, class Waiting>
__device__ PacksOfLane request_packs(const AxisNumbers& axis, const LineWalk<Source>& line, int lane, int lanes,
                                     Waiting& waiting) {
  using P = typename LineWalk<Source>::P;
  const Index pack = first_of_lane(line, lane, lanes);
  const int first = static_cast<int>(pack - line.first()), last = static_cast<int>(line.last_whole() - line.first());
  const PacksOfLane packs{first, packs_of_lane(first, last, lanes)};
  const auto* from = line.element(pack);
  const Index pitch = line.pitch(lanes);
  waiting.request(packs.count, [&](int i) {
    waiting.ask(first + i * lanes, reinterpret_cast<const P*>(from));
    from += pitch;
  });
  if constexpr (Source::kSize > 1)
    visit_cut_packs(line, lane, line.first() + first + static_cast<Index>(packs.count) * lanes, [&](Index cut) {
      const auto place = line.place(cut);
      waiting.keep(cut - line.first(),
                   load_pack<typename Source::Element, Source::kSize>(place.in, axis.in, place.low, place.high));
    });
  return packs;
}

/// Runs without cut packs are asked for as a line is; others are kept pack by pack.
template <class Source, class Waiting>
__device__ PacksOfLane request_packs(const AxisNumbers& axis, const RunWalk<Source>& walk, int lane, int lanes,
                                     Waiting& waiting) {
  using T = typename Source::Element;
  using P = typename LineWalk<Source>::P;
  if (!walk.is_whole()) {
    const auto keep = [&](Index number, const T* from, int low, int high) {
      waiting.keep(number, load_pack<T, Source::kSize>(from, axis.in, low, high));
    };
    visit_packs<1>(
        walk, lane, lanes, [&](Index number, const T* from, Index) { keep(number, from, 0, Source::kSize); },
        [&](Index number, const Place<T>& place) { keep(number, place.in, place.low, place.high); });
    return {};
  }
  const int last = static_cast<int>(walk.last() - walk.first());
  const PacksOfLane packs{lane, packs_of_lane(lane, last, lanes)};
  RunCursor at = walk.cursor(walk.first() + lane);
  const RunCursor by = walk.cursor(lanes);
  waiting.request(packs.count, [&](int i) {
    waiting.ask(lane + i * lanes, reinterpret_cast<const P*>(walk.element(at)));
    walk.advance(at, by);
  });
  return packs;
}

/// Calls visit(std::bool_constant of whether it is whole, view) for batches of packs [from, to) of the lane's.
template <int kUnroll, class Source, class Waiting, class Visit>
__device__ void visit_waiting(const PacksOfLane& packs, int from, int to, int lanes, const Waiting& waiting,
                              const Visit& visit) {
  int number = packs.first + from * lanes;
  for (; from + kUnroll <= to; from += kUnroll, number += kUnroll * lanes) {
    PackBatch<Source, kUnroll> batch = {};
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) batch.packs[u] = waiting.at(number + u * lanes);
    visit(std::true_type(), batch);
  }
  if (from >= to) return;
  PackBatch<Source, kUnroll> batch = {};
  batch.count = to - from;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) batch.packs[u] = waiting.at(number + (u < batch.count ? u * lanes : 0));
  visit(std::false_type(), batch);
}

/// Folds packs [from, to) of the lane's: looks twice, so that what is measured from a maximum is so once.
template <int kUnroll, class Source, class F, class Waiting>
__device__ void absorb_waiting(const F& fold, const PacksOfLane& packs, int from, int to, int lanes,
                               const Waiting& waiting, typename F::State& running) {
  using A = typename Source::Value;
  const auto maximum = fold.pivot_fold();
  A max = maximum.identity();
  visit_waiting<kUnroll, Source>(packs, from, to, lanes, waiting, [&](auto all, const auto& batch) {
    max = maximum.combine(max, fold_plainly<decltype(all)::value>(maximum, batch));
  });
  fold.raise(running, max);
  const auto powers = fold.around(running.max, 0);
  TreeLevels<folds::Sum<A>, 1> levels;
  Tree<folds::Sum<A>, 1> tree(powers, levels);
  visit_waiting<kUnroll, Source>(packs, from, to, lanes, waiting, [&](auto all, const auto& batch) {
    const A sum[1] = {fold_plainly<decltype(all)::value>(powers, batch)};
    tree.push(sum);
  });
  running.sum += tree.result();
}

/// The packs that an end of the line cuts.
template <class Source, class F, class Waiting>
__device__ void absorb_waiting_ends(const F& fold, const LineWalk<Source>& line, const PacksOfLane& packs, int lane,
                                    int lanes, const Waiting& waiting, typename F::State& running) {
  if constexpr (Source::kSize > 1)
    visit_cut_packs(line, lane, line.first() + packs.first + static_cast<Index>(packs.count) * lanes, [&](Index cut) {
      const auto place = line.place(cut);
      const CutPack<Source> pack{waiting.at(static_cast<int>(cut - line.first())), 0, 0, place.low, place.high};
      absorb<false>(fold, pack, running);
    });
}
template <class Source, class F, class Waiting>
__device__ void absorb_waiting_ends(const F&, const RunWalk<Source>&, const PacksOfLane&, int, int, const Waiting&,
                                    typename F::State&) {}

/// A lane's state of a row whose packs were asked for, folded group by group as they come.
template <int kUnroll, class Source, class F, class Walk, class Waiting>
__device__ typename F::State fold_waiting(const F& fold, const Walk& walk, const PacksOfLane& packs, int lane,
                                          int lanes, const Waiting& waiting) {
  typename F::State running = fold.identity();
#pragma unroll 1
  for (int group = 0; group < Waiting::kGroups; ++group) {
    waiting.await_group(group);
    absorb_waiting<kUnroll, Source>(fold, packs, waiting.begin_of(group, packs.count),
                                    waiting.begin_of(group + 1, packs.count), lanes, waiting, running);
  }
  absorb_waiting_ends(fold, walk, packs, lane, lanes, waiting, running);
  return running;
}

}  // namespace ndfold::cuda
