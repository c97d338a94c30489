// Body elementwise: out = map(in, value of its output), the steps between the folds of a softmax.
#pragma once
#include "kernels/cpu/crossing_map.h"
#include "kernels/cpu/softmax_again.h"
#include "kernels/cpu/softmax_rows.h"
#include "kernels/cpu/whole_rows.h"

namespace ndfold::simd {

/// Lanes lie along the kept axis when it is nearer than the reduced one: even a few columns are read from one line
/// then, which rows at a stride fetch once each ([65537,31]: 12 ns an element, 0.8 so; 4 columns: 2.8, 4.9 so). Or when
/// that one is near in the input alone, and it is at least two steps of lanes long.
inline constexpr Index kMostColumnsAsRows = 4;

inline bool along_columns(const Arguments& step) {
  const Axis column = inner(step.kept), row = inner(step.reduced);
  const bool crosses = row.out != 1 && row.out != -1 && step.kept.rank > 0;
  if (step.map != MapKind::softmax && step.map != MapKind::log_softmax) return false;
  if (row.in == 1) return crosses && column.size >= 2 * kLanes<Lanes<float>>;
  if (rows_follow_one_another(step)) return true;
  return column.size > kMostColumnsAsRows && column.in > 0 && column.in < row.in;
}

template <class T>
T value_at(const Arguments& step, Index i) {
  T value;
  std::memcpy(&value, step.values + i * static_cast<Index>(sizeof value), sizeof value);
  return value;
}

template <class A>
void map_run(MapKind map, const A* x, A* y, Index n, A value, A alpha) {
  switch (map) {
    case MapKind::scale: return scale_run(x, y, n, alpha);
    case MapKind::subtract:
      for (Index i = 0; i < n; ++i) y[i] = x[i] - value;
      return;
    case MapKind::exponential: return map_lanes(x, y, n, [](LanesOf<A> lanes) { return exponential(lanes); });
    case MapKind::divide:
      for (Index i = 0; i < n; ++i) y[i] = alpha * (x[i] / value);
      return;
    case MapKind::subtract_log: {
      const A logarithm = std::log(value);
      for (Index i = 0; i < n; ++i) y[i] = alpha * (x[i] - logarithm);
      return;
    }
    default: return;
  }
}

/// The states of a group of a tile's columns.
template <class A>
MaxAndSum<LanesOf<A>> states_at(const Arguments& step, const ColumnBlock& block, const Tile& tile, int group) {
  using V = LanesOf<A>;
  const Index begin = block.first_output + tile.first;
  A max[kLanes<V>], sum[kLanes<V>];
  for (Index l = 0; l < kLanes<V>; ++l) {
    const Index column = std::min(ColumnPlace<V>::first(group, tile.columns) + l, tile.columns - 1);
    const auto state = value_at<MaxAndSum<A>>(step, begin + column);
    max[l] = state.max, sum[l] = state.sum;
  }
  return {load<V>(max), load<V>(sum)};
}

template <class A>
void map_row(const Arguments& step, Index output, const Odometer& kept, Index begin, Index end) {
  const std::byte* in = advance(step.in, step.input, kept.in());
  std::byte* out = advance(step.out, step.output, kept.out());
  if (step.map == MapKind::softmax || step.map == MapKind::log_softmax) {
    const auto state = value_at<MaxAndSum<A>>(step, output);
    const bool is_done = visit_dense_map<A>(step, [&]<class T>(T) {
      const T* x = reinterpret_cast<const T*>(in);
      T* y = reinterpret_cast<T*>(out);
      step.map == MapKind::softmax ? map_again<MapKind::softmax>(step, x, y, begin, end, state)
                                   : map_again<MapKind::log_softmax>(step, x, y, begin, end, state);
    });
    if (is_done) return;
    return normalize_row<A>(step, step.map, in, out, begin, end, normalizer<A>(step.map, state, step.alpha));
  }
  const A value = step.values == nullptr ? A(0) : value_at<A>(step, output);
  map_runs<A>(step, in, out, begin, end,
              [&](const A* x, A* y, Index n) { map_run(step.map, x, y, n, value, static_cast<A>(step.alpha)); });
}

/// The maps that end a split softmax. `part` is the block's part of the reduced elements.
template <MapKind kMap, class A>
void map_tiles(const Arguments& step, Index index) {
  using V = LanesOf<A>;
  const ColumnBlock block(step, index);
  const TileLeaves leaves(step, block.begin, block.end);
  TileWalk<A> tiles(step, index, index + 1);
  LinesAcross<A> lines(step);
  Tile tile, next;
  for (bool any = tiles.next(tile); any; tile = next) {
    any = tiles.next(next);
    with_groups(ColumnPlace<V>::groups(tile.columns), [&](auto count) {
      constexpr int kGroups = count();
      MaxAndSum<V> states[kGroups];
      for (int g = 0; g < kGroups; ++g) states[g] = states_at<A>(step, block, tile, g);
      map_tile<kMap, kGroups, A>(step, leaves, tile, any ? next.in : tile.in,
                                 TileNormalizer<A>(kMap, states, kGroups, step.alpha), lines);
    });
  }
  lines.flush();
}

template <MapKind kMap, class A>
void map_columns(const Arguments& step, Index first, Index last) {
  for (Index at = first; at < last;) {
    const ColumnBlock block(step, at, last - at);
    if (are_whole_rows<A>(step, block)) {
      const Index begin = block.first_output;
      map_whole_rows<kMap, A>(step, block, [&](Index c) { return value_at<MaxAndSum<A>>(step, begin + c); });
      at += block.blocks;
    } else {
      map_tiles<kMap, A>(step, at++);
    }
  }
  finish_streams();
}

/// Blocks: tiles that cross over, or as rows, or as columns.
template <class A>
void elementwise(const Arguments& step, Index first, Index last) {
  if (maps_across<A>(step)) return map_across<A>(step, first, last);
  if (along_columns(step))
    return step.map == MapKind::softmax ? map_columns<MapKind::softmax, A>(step, first, last)
                                        : map_columns<MapKind::log_softmax, A>(step, first, last);
  const Index n = elements(step.reduced), outputs = elements(step.kept);
  Index output = first % outputs, part = first / outputs;
  Odometer kept(step.kept, output);
  for (Index block = first; block < last; ++block, kept.next()) {
    map_row<A>(step, output, kept, part * step.part, std::min((part + 1) * step.part, n));
    if (++output == outputs) output = 0, ++part;
  }
}

}  // namespace ndfold::simd
