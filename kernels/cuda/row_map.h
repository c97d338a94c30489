// Each pack of a lane once more, whole ones and those that an end cuts: what follows when the state of all is known.
#pragma once
#include "kernels/cuda/row_batch.h"

namespace ndfold::cuda {

/// Calls whole(number, where it lies, as in Place::out) for the whole packs that fold_line() gave to this lane, and
/// cut(number, place) for the others.
template <int kUnroll, class Source, class Whole, class Cut>
__device__ void visit_line(const LineWalk<Source>& line, int lane, int lanes, Index before, const Whole& whole,
                           const Cut& cut) {
  const Index last = line.last_whole();
  Index pack = first_of_lane(line, lane, lanes);
  while (pack < last)
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (pack < last) {
        whole(before + pack, line.element(pack), line.out(pack));
        pack += lanes;
      }
  if constexpr (Source::kSize > 1)
    visit_cut_packs(line, lane, pack, [&](Index at) { cut(before + at, line.place(at)); });
}

template <int kUnroll, class Source, class Whole, class Cut>
__device__ void visit_packs(const LineWalk<Source>& line, int lane, int lanes, const Whole& whole, const Cut& cut) {
  visit_line<kUnroll>(line, lane, lanes, -line.first(), whole, cut);
}

template <int kUnroll, class Source, class Whole, class Cut>
__device__ void visit_packs(const RunWalk<Source>& walk, int lane, int lanes, const Whole& whole, const Cut& cut) {
  if (walk.is_whole()) {
    const int last = static_cast<int>(walk.last()), first = static_cast<int>(walk.first());
    RunCursor at = walk.cursor(first + lane);
    const RunCursor by = walk.cursor(lanes);
    for (int pack = first + lane; pack < last; pack += lanes, walk.advance(at, by))
      whole(pack - first, walk.element(at), at.place.out);
  } else if (walk.is_long(lanes)) {
    for (Index run = walk.first_run(); run < walk.last_run(); ++run) {
      const LineWalk<Source> line = walk.line(run);
      visit_line<kUnroll>(line, lane, lanes, walk.number(run, line), whole, cut);
    }
  } else {
    for (Index pack = walk.first() + lane; pack < walk.last(); pack += lanes) {
      const auto place = walk.place(pack);
      if (place.low < place.high) cut(pack - walk.first(), place);
    }
  }
}

/// A line's whole packs that all wait and are stored whole: none is asked anything. The pack that would be next.
template <class Source, int kUnroll, class Out, class Waiting, class Map>
__device__ Index map_whole_packs(Out* out, const LineWalk<Source>& line, int lane, int lanes, const Waiting& waiting,
                                 const Map& map) {
  constexpr int kSize = Source::kSize;
  const Index pack = first_of_lane(line, lane, lanes);
  int number = static_cast<int>(pack - line.first());
  const int last = static_cast<int>(line.last_whole() - line.first()), pitch = lanes * kSize;
  Out* to = out + line.out(pack);
#pragma unroll kUnroll
  for (; number < last; number += lanes, to += pitch) {
    const auto elements = waiting.at(number);
    Out results[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(number_of<Source>(elements, i)));
    store_whole(results, to);
  }
  return line.first() + number;
}

/// Writes map(element) of each element of the lane, as it waited.
template <class Source, int kUnroll, class Out, class Walk, class Waiting, class Map>
__device__ void map_walk(const AxisNumbers& axis, Out* out, const Walk& walk, int lane, int lanes,
                         const Waiting& waiting, const Map& map) {
  using T = typename Source::Element;
  constexpr int kSize = Source::kSize;
  const auto write = [&](const auto& elements, Index at, int low, int high) {
    Out results[kSize];
#pragma unroll
    for (int i = 0; i < kSize; ++i) results[i] = to_element<Out>(map(number_of<Source>(elements, i)));
    store_pack(results, out + at, axis.out, low, high);
  };
  const auto cut = [&](Index number, const Place<T>& place) {
    const auto load = [&] { return load_pack<T, kSize>(place.in, axis.in, place.low, place.high); };
    write(waiting.get(number, load), place.out, place.low, place.high);
  };
  if constexpr (Waiting::kWaits && std::is_same_v<Walk, LineWalk<Source>>)
    if (waiting.holds() && axis.out == 1 && is_aligned_for_stores<Out, kSize>(out + walk.out(walk.first_whole()))) {
      const Index next = map_whole_packs<Source, kUnroll>(out, walk, lane, lanes, waiting, map);
      if constexpr (kSize > 1)
        visit_cut_packs(walk, lane, next, [&](Index at) { cut(at - walk.first(), walk.place(at)); });
      return;
    }
  visit_packs<kUnroll>(
      walk, lane, lanes,
      [&](Index number, const T* from, Index at) {
        write(waiting.get(number, [&] { return LineWalk<Source>::load(from); }), at, 0, kSize);
      },
      cut);
}

}  // namespace ndfold::cuda
