// Softmax with lanes along the innermost kept axis: fold a panel of columns, then map it.
#pragma once
#include "kernels/cpu/fold_columns.h"
#include "kernels/cpu/normalize.h"

namespace ndfold::simd {

/// The numbers of a Normalizer, an array of lanes each.
template <class V>
struct ColumnNormalizer {
  V *shift, *rest, *factor;
};

/// Calls work(row of inputs, row of outputs as A) for each reduced element; outputs go where they belong.
template <class A, class Work>
void each_row(const Arguments& step, const ColumnBlock& block, Index first, Index columns, const Work& work) {
  using V = LanesOf<A>;
  const bool direct = step.output == kTypeOf<A> && block.column.out == 1 && columns >= kLanes<V>;
  alignas(64) A mapped[kScratchBytes / 4 / sizeof(A)];
  ColumnRows<A, Loading::values> rows(step, block, first, columns);
  while (const int count = rows.next())
    for (int r = 0; r < count; ++r) {
      std::byte* to = advance(block.out, step.output, rows.index(r) + first * block.column.out);
      A* y = direct ? reinterpret_cast<A*>(to) : mapped;
      work(rows.row(r), y);
      if (!direct) store_run(step.output, to, block.column.out, columns, y);
    }
}

/// The last group is loaded first: its lanes may be another's too, and x and y the same row.
template <MapKind kMap, class A>
[[gnu::flatten]] void normalize_columns_run(const A* x, A* y, Index columns, A scale,
                                            const ColumnNormalizer<LanesOf<A>>& by) {
  using V = LanesOf<A>;
  const V vscale = splat<V>(scale);
  const auto mapped = [&](V here, Index g) {
    return normalized<kMap>(here, vscale, by.shift[g], by.rest[g], by.factor[g]);
  };
  const Index last = ColumnPlace<V>::groups(columns) - 1;
  const V at_last = load_columns<V>(x, last, columns);
  for (Index g = 0; g < last; ++g) store(y + g * kLanes<V>, mapped(load<V>(x + g * kLanes<V>), g));
  store(y + ColumnPlace<V>::first(last, columns), mapped(at_last, last));
}

/// Maps columns [first, first + columns) of the block.
template <class A>
void normalize_columns(const Arguments& step, MapKind map, const ColumnBlock& block, Index first, Index columns,
                       const ColumnNormalizer<LanesOf<A>>& by) {
  const A scale = static_cast<A>(step.scale);
  each_row<A>(step, block, first, columns, [&](const A* x, A* y) {
    if (map == MapKind::softmax)
      normalize_columns_run<MapKind::softmax>(x, y, columns, scale, by);
    else
      normalize_columns_run<MapKind::log_softmax>(x, y, columns, scale, by);
  });
}

/// Fills in `by` for the columns whose states are `state_of(c)`.
template <class A, class StateOf>
void make_normalizers(MapKind map, double alpha, Index columns, const StateOf& state_of,
                      const ColumnNormalizer<LanesOf<A>>& by) {
  using V = LanesOf<A>;
  for (Index g = 0; g < ColumnPlace<V>::groups(columns); ++g) {
    A shift[kLanes<V>], rest[kLanes<V>], factor[kLanes<V>];
    for (Index l = 0; l < kLanes<V>; ++l) {
      const Index c = std::min(ColumnPlace<V>::first(g, columns) + l, columns - 1);
      const Normalizer<A> one = normalizer<A>(map, state_of(c), alpha);
      shift[l] = one.shift, rest[l] = one.rest, factor[l] = one.factor;
    }
    by.shift[g] = load<V>(shift), by.rest[g] = load<V>(rest), by.factor[g] = load<V>(factor);
  }
}

template <class A>
struct ColumnScratch {
  using V = LanesOf<A>;
  Scratch memory;
  ColumnNormalizer<V> by;
  explicit ColumnScratch(Index groups)
      : by{memory.template take<V>(groups), memory.template take<V>(groups), memory.template take<V>(groups)} {}
};

/// Elements are read again for the map: for slabs that do not wait anywhere.
template <class A>
void softmax_panel_again(const Arguments& step, MapKind map, const ColumnBlock& block, Index first, Index columns) {
  using V = LanesOf<A>;
  using Fold = OnlineSoftmax<V>;
  const auto lanes = make_fold<Fold>({.scale = step.scale});
  ColumnScratch<A> scratch(ColumnPlace<V>::groups(columns));
  const PivotScratch<V> pivots{scratch.by.shift, scratch.by.rest, scratch.by.factor};  // free until the fold is done
  ColumnRows<A, Loading::values> rows(step, block, first, columns);
  const auto* states = fold_rows_of_columns(lanes, rows, block.end - block.begin, columns, scratch.memory, pivots);
  make_normalizers<A>(
      map, step.alpha, columns,
      [&](Index c) {
        const ColumnPlace<V> place(c, columns);
        return lane_state(states[place.group], static_cast<int>(place.lane));
      },
      scratch.by);
  normalize_columns<A>(step, map, block, first, columns, scratch.by);
}

/// Elements wait in the output: max, then powers written and summed, then the slab divided where it lies.
template <class A>
void softmax_panel_in_output(const Arguments& step, const ColumnBlock& block, Index first, Index columns) {
  using V = LanesOf<A>;
  constexpr Index kWidth = kLanes<V>;
  const auto scaled_max = make_fold<ScaledMax<V>>({.scale = step.scale});
  const Index groups = ColumnPlace<V>::groups(columns);
  const int levels = ColumnTree<Sum<V>>::levels_for((block.end - block.begin + kLeafRows - 1) / kLeafRows);
  ColumnScratch<A> scratch(groups);
  V* leaf = scratch.memory.template take<V>(groups);
  V* max = scratch.by.shift;
  for (Index g = 0; g < groups; ++g) max[g] = scaled_max.identity();
  ColumnRows<A, Loading::values> rows(step, block, first, columns);
  while (const int count = rows.next()) {
    fold_columns_once([&](Index) { return scaled_max; }, rows, count, columns, leaf);
    for (Index g = 0; g < groups; ++g) max[g] = scaled_max.combine(max[g], leaf[g]);
  }
  for (Index g = 0; g < groups; ++g) scratch.by.rest[g] = splat<V>(0), scratch.by.factor[g] = splat<V>(1);

  ColumnTree<Sum<V>> tree({}, scratch.memory.template take<V>(groups * levels), groups);
  int in_leaf = 0;
  const A scale = static_cast<A>(step.scale);
  each_row<A>(step, block, first, columns, [&](const A* x, A* y) {
    normalize_columns_run<MapKind::softmax>(x, y, columns, scale, scratch.by);
    for (Index g = 0; g < groups; ++g) {
      const V power = load_columns<V>(y, g, columns);
      leaf[g] = in_leaf == 0 ? power : leaf[g] + power;
    }
    if (++in_leaf == kLeafRows) tree.push(leaf), in_leaf = 0;
  });
  if (in_leaf > 0) tree.push(leaf);
  const V* sums = tree.result();
  make_normalizers<A>(MapKind::softmax, step.alpha, columns,
                      [&](Index c) {
                        const ColumnPlace<V> place(c, columns);
                        const int i = static_cast<int>(place.lane);
                        return MaxAndSum<A>{lane(max[place.group], i), lane(sums[place.group], i)};
                      },
                      {scratch.memory.template take<V>(groups), scratch.by.rest, scratch.by.factor});
  const A* factor = reinterpret_cast<const A*>(scratch.by.factor);
  const Index whole = columns / kWidth * kWidth;
  Odometer reduced(step.reduced, block.begin);
  for (Index r = block.begin; r < block.end; ++r, reduced.next()) {
    A* y = reinterpret_cast<A*>(advance(block.out, step.output, reduced.out() + first));
    for (Index c = 0; c < whole; ++c) y[c] *= factor[c];
    for (Index c = whole; c < columns; ++c) {
      const ColumnPlace<V> place(c, columns);
      y[c] *= factor[place.group * kWidth + place.lane];
    }
  }
}

/// Blocks: line-major, then panels.
template <class A>
void softmax_columns(const Arguments& step, Index first, Index last) {
  using V = LanesOf<A>;
  using State = MaxAndSum<V>;
  const MapKind map = step.sink == SinkKind::softmax ? MapKind::softmax : MapKind::log_softmax;
  const Index rows = elements(step.reduced);
  const Index levels = ColumnTree<OnlineSoftmax<V>>::levels_for((rows + kLeafRows - 1) / kLeafRows);
  const Index fit = std::min(columns_that_fit<State, V>(levels + 1), kScratchBytes / 4 / static_cast<Index>(sizeof(A)));
  using Rows = ColumnRows<A, Loading::values>;
  const Index width = Rows::is_direct(step) ? fit : std::min(fit, Rows::kStagedColumns);
  for (Index index = first; index < last; ++index) {
    const ColumnBlock block(step, index);
    for (Index at = 0; at < block.columns; at += width) {
      const Index columns = std::min(width, block.columns - at);
      if (step.residency == Residency::output)
        softmax_panel_in_output<A>(step, block, at, columns);
      else
        softmax_panel_again<A>(step, map, block, at, columns);
    }
  }
}

}  // namespace ndfold::simd
