// Outputs with short runs, many at a time: run by run, each run of all of them before the next of any, so that memory
// is read in its order.
#pragma once
#include "kernels/cpu/arg_columns.h"
#include "kernels/cpu/arg_lanes.h"
#include "kernels/cpu/column_tree.h"
#include "kernels/cpu/element_types.h"
#include "kernels/cpu/fold_groups.h"
#include "kernels/cpu/sink.h"

namespace ndfold::simd {

/// argmax, argmin.
template <template <class> class F, class A>
inline constexpr bool kHasIndex = requires {
  typename F<A>::Values;
};

/// Elements that lanes are loaded from as they lie.
template <class A, class T>
inline constexpr bool kLoadsAsLanes = kLanes<LanesOf<A>> > 1 && (std::is_same_v<A, T> || kIs16BitFloat<T>);

/// Outputs of a bundle; of folds with an index, and of short runs, fewer. Sums of 64 MiB of f32 on a Zen 4, rows of 17,
/// 25, 32, 48, 64: 0.82, 0.75, 0.67, 0.80, 0.86 of a stream with 256 at a time, 0.72, 0.84, 0.84, 0.90, 0.93 with 1024.
inline constexpr Index kMostBundled = 1024, kFewBundled = 256, kShortRunBytes = 96;

/// Elements of a leaf: few where they are looked at twice, 32 additions for each accumulator's lane where rounding adds
/// up, many where order does not matter.
template <template <class> class F, class A, class T>
inline constexpr Index kLeafElements = PivotFold<F<A>> ? kChunk : std::max<Index>(kChunk, 32 * 8 * kLanes<LanesOf<A>>);
template <template <class> class F, class A, class T>
requires(HasQuick<F<LanesOf<A>>> || kHasIndex<F, A>) inline constexpr Index kLeafElements<F, A, T> = 8 * kChunk;
template <template <class> class F, class A, class T>
requires(!kHasIndex<F, A> && (std::is_integral_v<A> ||
                              kFoldsIntegers<F<A>, T>)) inline constexpr Index kLeafElements<F, A, T> = 64 * kChunk;

/// The longest run of a bundle. What a row takes by itself memory waits for (4096 f32: some 300 instructions beside
/// 384), but indices and pivots would be looked for twice, and from memory long rows leave the first cache before a
/// second look (var of rows of 1000 f32 on a Zen 4: 0.67 of a stream, 0.87 one after the other).
template <template <class> class F, class A, class T>
Index longest_bundled(const Arguments& step) {
  constexpr bool kLooksTwice = PivotFold<F<A>>;
  if (step.reduced.rank <= 1 && kLooksTwice && is_looked_at_again(step)) return kChunk / 4;
  return step.reduced.rank > 1 || kHasIndex<F, A> || kLooksTwice ? kChunk : kLeafElements<F, A, T>;
}

/// Runs that are folded in bundles: side by side where outputs are, and too short for a leaf of their own each.
template <template <class> class F, class A, Loading kLoading, class T>
bool are_bundled(const Arguments& step) {
  if (kHasIndex<F, A> && index_order(step.reduced) != IndexOrder::ascending) return false;
  return inner(step.reduced).in == 1 && lies_as<T, kLoading>(step.input) && step.parts == 1 &&
         inner(step.reduced).size <= longest_bundled<F, A, T>(step) && elements(step.kept) >= kLanes<LanesOf<A>> / 2;
}

/// The states of a bundle's outputs; its rows are filled in here.
template <template <class> class F, class A, class T>
void fold_bundle(const Arguments& step, const FoldParameters& parameters, Bundle<T>& bundle,
                 typename F<A>::State* all) {
  using LaneFold = F<LanesOf<A>>;
  using State = typename LaneFold::State;
  const auto lanes = make_fold<LaneFold>(parameters);
  const Index rows = elements(outer(step.reduced)), leaves = (rows + kLeafRows - 1) / kLeafRows;
  const Index groups = bundle.groups;
  Index offsets[kLeafRows];
  bundle.offsets = offsets;
  Stretches outer_runs(outer(step.reduced));
  Scratch scratch;
  State* leaf = scratch.take<State>(groups);
  ColumnTree<LaneFold> tree(lanes, scratch.take<State>(groups * tree_levels(leaves)), groups);
  for (Index r = 0; r < rows; r += bundle.rows) {
    bundle.rows = static_cast<int>(std::min(kLeafRows, rows - r));
    for (int i = 0; i < bundle.rows;) {
      const auto stretch = outer_runs.next(bundle.rows - i);
      for (Index j = 0; j < stretch.count; ++j) offsets[i++] = stretch.in + j * outer_runs.run().in;
    }
    fold_groups(lanes, bundle, leaf);
    if (leaves > 1) tree.push(leaf);
  }
  bundle.offsets = nullptr;
  const State* states = leaves > 1 ? tree.result() : leaf;
  for (Index g = 0; g < groups; ++g) spread<A>(states[g], all + g * kLanes<LanesOf<A>>);
}

/// argmax, argmin: the best of each run and its place there, all of a run's outputs before its next.
template <template <class> class F, class A, class T>
void arg_bundle(const Arguments& step, Bundle<T>& bundle, Index outputs, typename F<A>::State* all) {
  using V = LanesOf<A>;
  using Lanes = ArgLanes<F<V>>;
  const F<A> fold;
  const Axis run = inner(step.reduced);
  const Index rows = elements(outer(step.reduced));
  typename Lanes::State states[kFewBundled / kLanes<V>];
  ValueAndPlace<A> best[kFewBundled];
  Odometer outer_runs(outer(step.reduced));
  for (Index r = 0; r < rows; ++r, outer_runs.next()) {
    const Index index = outer_runs.out(), offset = outer_runs.in();
    bundle.offsets = &offset, bundle.rows = 1;
    fold_groups(Lanes(), bundle, states);
    for (Index g = 0; g < bundle.groups; ++g) spread<A>(states[g], best + g * kLanes<V>);
    for (Index i = 0; i < outputs; ++i) {
      const typename F<A>::State here{best[i].value, index + static_cast<Index>(best[i].place) * run.out};
      all[i] = r == 0 ? here : fold.combine(all[i], here);
    }
  }
}

/// Which outputs are folded side by side: so many that memory is read in long stretches, but none whose runs lie
/// farther away than the next run.
struct BundleShape {
  Index most;
  bool one_line;  // of the innermost kept axis

  template <bool kIndexed, class State, class V>
  static BundleShape of(const Arguments& step) {
    const AxisList runs = outer(step.reduced), lines = outer(step.kept);
    const Index rows = elements(runs);
    const Index next_run = rows > 1 ? inner(runs).in : std::numeric_limits<Index>::max();
    if (inner(step.kept).in > next_run) return {kLanes<V>, true};
    const int levels = tree_levels((rows + kLeafRows - 1) / kLeafRows);
    const Index fit = columns_that_fit<State, ScalarOf<V>>(levels + 1, 3) / kLanes<V> * kLanes<V>;
    const bool are_few = kIndexed || inner(step.reduced).size * Index{sizeof(ScalarOf<V>)} < kShortRunBytes;
    return {std::min(are_few ? kFewBundled : kMostBundled, fit), lines.rank > 0 && inner(lines).in > next_run};
  }
};

/// Elements from a run to the one that lies kAheadBytes of elements behind it; 0 where nothing is asked for.
template <class T>
Index runs_ahead(Index length, Index pitch) {
  if (!kAsksAhead) return 0;
  const Index some = std::max<Index>(length, 1);  // nothing is folded of empty runs
  return (kAheadBytes / static_cast<Index>(sizeof(T)) + some - 1) / some * pitch;
}

/// Of runs that eight accumulators fold. 16 bits wait for arithmetic: sums of rows of 700 bf16 49 GB/s, 48 by two.
template <class A, class T>
Index long_run_vectors(const Arguments& step) {
  return std::is_same_v<A, T> && kAsksForRows && step.from_memory ? kLongFarRunVectors : kLongRunVectors;
}

template <template <class> class F, class A, class T>
void fold_bundles(const Arguments& step, const FoldParameters& parameters, Index first, Index last) {
  using V = LanesOf<A>;
  using State = typename F<A>::State;
  constexpr Index kWidth = kLanes<V>;
  const auto numbers = make_fold<F<A>>(parameters);
  const auto shape = BundleShape::of<kHasIndex<F, A>, State, V>(step);
  const bool streams = streams_results(step);
  Stretches from(step.kept, first), to(step.kept, first);
  for (Index at = first; at < last;) {
    const Index most = std::min(shape.most, last - at);
    const T* listed[kMostBundled];
    auto side_by_side = from.next(most);
    const Index length = inner(step.reduced).size, pitch = from.run().in;
    Bundle<T> bundle{.first = reinterpret_cast<const T*>(step.in) + side_by_side.in,
                     .pitch = pitch,
                     .pitched = side_by_side.count / kWidth,
                     .listed = listed,
                     .others = 0,
                     .groups = 0,
                     .length = length,
                     .help = {.ahead = runs_ahead<T>(length, pitch), .again = is_looked_at_again(step)},
                     .offsets = nullptr,
                     .rows = 0,
                     .is_waited_for = is_waited_for(step),
                     .in_turns = length * Index{sizeof(A)} >= kLeastTurnBytes && are_read_in_turns<T>(step),
                     .long_run_vectors = long_run_vectors<A, T>(step)};
    Index outputs = bundle.pitched * kWidth;
    for (Index skipped = outputs;; skipped = 0) {
      const T* start = reinterpret_cast<const T*>(step.in) + side_by_side.in;
      for (Index j = skipped; j < side_by_side.count; ++j) listed[bundle.others++] = start + j * pitch;
      if (outputs + bundle.others == most || shape.one_line) break;
      side_by_side = from.next(most - outputs - bundle.others);
    }
    outputs += bundle.others;
    bundle.groups = (outputs + kWidth - 1) / kWidth;
    State all[kMostBundled];
    if constexpr (kHasIndex<F, A>)
      arg_bundle<F, A>(step, bundle, outputs, all);
    else
      fold_bundle<F, A>(step, parameters, bundle, all);
    for (Index i = 0; i < outputs;) {
      const auto stretch = to.next(outputs - i);
      sink_states(step, numbers, all + i, stretch.count,
                  {.out = place_of(step, stretch.out),
                   .out_stride = to.run().out,
                   .block = at + i,
                   .block_stride = 1,
                   .stream = streams});
      i += stretch.count;
    }
    at += outputs;
  }
  if (streams) finish_streams();
}

}  // namespace ndfold::simd
