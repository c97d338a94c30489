// Softmax of tiles of columns too long to wait anywhere: fold a tile, then read it again and map it.
#pragma once
#include "kernels/cpu/column_powers.h"
#include "kernels/cpu/column_results.h"

namespace ndfold::simd {

/// Results of rows that were read, while the rows ahead are fetched.
template <MapKind kMap, int kGroups, class A>
[[gnu::flatten, gnu::noinline]] void map_rows(const A* slot, const RowOffsets& rows, const RowsAhead& ahead,
                                              const TileNormalizer<A>& normalizer, const TileOutput<A>& output) {
  using V = LanesOf<A>;
  const TileNormalizer<A> by = normalizer;  // copies: what the rows' stores cannot reach stays in registers
  output.template write<kGroups>(rows, nullptr, [=, &ahead](int r, int g) {
    if (g == 0) ahead.fetch<kGroups>(r);
    const V x = load<V>(slot + (r * kGroups + g) * kLanes<V>);
    return normalized<kMap>(x, splat<V>(1), by.shift[g], by.rest[g], by.factor[g]);
  });
}

/// Maps a tile; `following` is read next.
template <MapKind kMap, int kGroups, class A>
void map_tile(const Arguments& step, const TileLeaves& leaves, const Tile& tile, const std::byte* following,
              const TileNormalizer<A>& by, LinesAcross<A>& lines) {
  alignas(64) A slot[kTileRows * kTileColumns<A>];
  const TileOutput<A> output(step, tile, lines);
  leaves.each(tile, following, [&](const RowOffsets& rows, const RowOffsets&, const RowsAhead& ahead) {
    read_rows<kGroups, A>(step, tile, rows, slot);
    map_rows<kMap, kGroups, A>(slot, rows, ahead, by, output);
  });
}

/// `run` as in SlabSoftmax.
template <MapKind kMap, class A>
void softmax_again(const Arguments& step, Index run, Index first, Index last) {
  using V = LanesOf<A>;
  const TileLeaves leaves(step, 0, elements(step.reduced));
  TileWalk<A> tiles(step, first, last);
  LinesAcross<A> lines(step);
  Tile tile, next;
  for (bool any = tiles.next(tile); any; tile = next) {
    any = tiles.next(next);
    with_groups(ColumnPlace<V>::groups(tile.columns), [&](auto count) {
      constexpr int kGroups = count();
      TileStates<A, kGroups> states;
      MaxAndSum<V>* const all = fold_tile<kGroups, A>(step, leaves, tile, tile.in, states);
      if (run > 1) meet_in_runs<A>(run, tile.columns, all);
      const TileNormalizer<A> by(kMap, all, kGroups, step.alpha);
      map_tile<kMap, kGroups, A>(step, leaves, tile, any ? next.in : tile.in, by, lines);
    });
  }
  lines.flush();
  finish_streams();
}

}  // namespace ndfold::simd
