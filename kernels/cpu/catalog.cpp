#include "kernels/cpu/catalog.h"

#include "kernels/cpu/gathered_tiles.h"
#include "kernels/cpu/instances/entry.h"
#include "kernels/cpu/instances/maps.h"
#include "kernels/cpu/runs_as_columns.h"

namespace ndfold::simd {
namespace {

constexpr FoldEntries (*kFamilies[])() = {sum_entries, product_entries, norm_entries,   extremum_entries,
                                          arg_entries, logical_entries, moment_entries, softmax_entries};

constexpr int kFoldCount = static_cast<int>(FoldKind::softmax) + 1;

/// Every fold's entry where its kind and type say: each run asks.
struct Entries {
  const FoldEntry* of[kFoldCount][kDTypeCount] = {};

  Entries() {
    for (const auto family : kFamilies) {
      const FoldEntries list = family();
      for (int i = 0; i < list.count; ++i) {
        const FoldEntry& entry = list.entries[i];
        of[static_cast<int>(entry.fold)][static_cast<int>(entry.accumulate)] = &entry;
      }
    }
  }
};

const FoldEntry* find_fold(FoldKind fold, DType accumulate) {
  static const Entries entries;
  return entries.of[static_cast<int>(fold)][static_cast<int>(accumulate)];
}

// Short runs are folded one to a lane (fold_bundles.h), or lines of them as columns.
Index rows_together(const Arguments& step) {
  constexpr Index kMostColumns = 4096;
  if (is_floating(step.input) && RunsAsColumns::suits(step, kMostColumns)) return inner(step.kept).size;
  const Axis run = inner(step.reduced);
  return step.parts == 1 && run.in == 1 && run.size <= kChunk && is_floating(step.input) ? kLanes<Lanes<float>> : 1;
}

// Outputs whose runs lie beside each other before the farthest next run of any: [128,256,512] f32, axes 0 and 2, on
// two threads took 2.5 ms in stretches of 32 KiB, 2.2 in 128 KiB; argmax 2.7, 2.3.
Index runs_of_stretch(const Arguments& step) {
  constexpr Index kStretchBytes = 128 << 10;
  const AxisList runs = outer(step.reduced);
  if (runs.rank == 0) return 1;
  Index beside = 1;
  for (int i = step.kept.rank; i-- > 0 && step.kept.axes[i].in < runs.axes[0].in;) beside *= step.kept.axes[i].size;
  const Index run = std::max<Index>(inner(step.reduced).size, 1) * static_cast<Index>(size_bytes(step.input));
  return std::min(beside, kStretchBytes / run);
}

// Panels of whole rows, as far as one strip reads them.
Index panels_of_stretch(const Arguments& step) {
  constexpr Index kStripBytes = 16 << 10;
  const Index panels = (inner(step.kept).size + step.panel - 1) / step.panel;
  const Index most = kStripBytes / (step.panel * static_cast<Index>(size_bytes(step.input)));
  return inner(step.kept).in == 1 ? std::min(panels, most) : 1;
}

Kernel fold_kernel(const KernelKey& key, const Arguments& step) {
  const bool rows = key.body == Body::rows;
  const Index blocks = rows ? row_blocks(step) : column_blocks(step);
  const bool gathers = is_better_gathered(key, step);
  constexpr Index kTiles = 4;  // whoever takes fewer spends half of the time on finding out where they are
  const auto gathered = [&](Run columns) {
    return Kernel{.run = run_gathered, .blocks = TileShape(step).blocks, .together = kTiles, .of_tiles = columns};
  };
  if (maps_elements(key.sink)) {
    if (gathers) return gathered(softmax_kernel(Body::columns, key.accumulate));
    return {softmax_kernel(key.body, key.accumulate), blocks};
  }
  const FoldEntry* entry = find_fold(key.fold, key.accumulate);
  if (entry == nullptr) return {};
  if (key.source == SourceKind::states) return {entry->merge, blocks};
  if (gathers) return gathered(entry->columns);
  if (!rows) return {entry->columns, blocks, 1, panels_of_stretch(step)};
  const Index together = rows_together(step);
  return {entry->rows, blocks, together, together > 1 ? runs_of_stretch(step) : 1};
}

Kernel find_kernel(const KernelKey& key, const Arguments& step) {
  switch (key.body) {
    case Body::rows:
    case Body::columns: return fold_kernel(key, step);
    case Body::elementwise: return {elementwise_kernel(key.accumulate), elementwise_blocks(key.accumulate, step)};
    case Body::permute: return {permute_kernel(key.input), permute_blocks(step)};
  }
  return {};
}

Index state_size(FoldKind fold, DType accumulate) {
  const FoldEntry* entry = find_fold(fold, accumulate);
  return entry == nullptr ? 0 : entry->state_bytes;
}

}  // namespace

const Catalog& catalog() {
  static constexpr Catalog kCatalog = {.find_kernel = find_kernel, .state_size = state_size};
  return kCatalog;
}

}  // namespace ndfold::simd
