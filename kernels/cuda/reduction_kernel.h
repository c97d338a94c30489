// The kernels of a reduction.
#pragma once
#include "kernels/cuda/few_rows.h"
#include "kernels/cuda/fold_cut_runs.h"
#include "kernels/cuda/joined_rows.h"
#include "kernels/cuda/kernel_in.h"
#include "kernels/cuda/shifted_columns.h"
#include "kernels/cuda/whole_runs.h"

namespace ndfold::cuda::detail {

// Columns of few rows.
template <class Source, class F>
Found few() {
  // Large states, many columns of a lane and addresses of single elements need more registers, columns that go side by
  // side or in pairs most: what three blocks spill takes a sixth to half of their time.
  constexpr bool many = sizeof(typename F::State) > 8 || Source::kSize > 4 || kIsApart<Source>;
  constexpr bool most = (kFewSideBySide<F, Source> || BestOfPairs<F, Source>)&&!kIsApart<Source>;
  constexpr int kBlocks = most ? 2 : many ? 3 : 4;
  return {.kernel = few_rows<Source, F, Tuned<kFewThreads, kManyLoads, kBlocks>>,
          .threads = kFewThreads,
          .pack = kIsApart<Source> ? 1 : Source::kSize,
          .columns = Source::kSize,
          .packs = FewRows<F, Source::kSize>::kPacks};
}

// Few columns of rows that follow one another.
template <class Line, class F, int kBlocks>
Found joined(const KernelKey& key) {
  const bool grid = key.scope == Scope::grid;
  return {.kernel = grid ? Kernel(joined_rows<Line, F, GridScope, Tuned<kFewThreads, kManyLoads, 2>>)
                         : Kernel(joined_rows<Line, F, NearScope, Tuned<kFewThreads, kManyLoads, kBlocks>>),
          .threads = kFewThreads,
          .pack = Line::kSize,
          .joined = true,
          .state_bytes = sizeof(typename F::State)};
}

// Columns of a block, or the blocks of a cluster, with registers for many loads.
template <class Source, class F>
Found near() {
  return kernel<Body::columns, Source, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, 2>();
}

// Columns whose rows begin elsewhere in a pack from one to the next.
template <class Line, class F, int kBlocks>
Found shifted(const KernelKey& key) {
  const bool grid = key.scope == Scope::grid;
  return {.kernel = grid ? Kernel(shifted_columns<Line, F, GridScope, Tuned<kFewThreads, kManyLoads, 2>>)
                         : Kernel(shifted_columns<Line, F, NearScope, Tuned<kFewThreads, kManyLoads, kBlocks>>),
          .threads = kFewThreads,
          .pack = Line::kSize,
          .columns = Line::kSize,
          .shifted = true,
          .state_bytes = sizeof(typename F::State)};
}

// The same step where runs are whole packs.
template <class Source, class F>
Found with_whole_runs(Found found) {
  // Two looks at packs of 16 bits, us of 128 MiB by four loads a lane, and by eight with half as many blocks: logsumexp
  // [512,32,128,32] over axes 1 and 3 43 and 48, of [64,64,64,256] 37 and 45; of [128,256,2048] over 0 and 2 44 and 41.
  constexpr bool kLarge = sizeof(typename F::State) > 8 && !ArgFold<F>;
  constexpr bool kHalf = Source::kSize > 4 && (kLarge || RunningFold<F>);
  constexpr int kLoads = kHalf ? kFewLoads : kManyLoads, kBlocks = kLarge && !kHalf ? 3 : 4;
  found.whole_runs = whole_runs<Source, F, Tuned<kFewThreads, kLoads, kBlocks>>;
  found.in_order = ArgFold<F>;
  return found;
}

// The same step where runs are no whole packs.
template <class Source, class F>
Found with_cut_runs_of_reduction(Found found) {
  found.cut_runs = fold_cut_runs<Source, F, Tuned<kFewThreads, kFewLoads, 4>>;
  found.two_lists = kHasTwoLists<F>;
  found.in_order = ArgFold<F>;
  return found;
}

// Reductions: elements are read once.
template <Body kBody, class Dense, class Strided, class SomeColumns, class F, Breadth kBreadth>
Found reduction(const KernelKey& key, const Layout& layout) {
  // Large states need more registers; a variance of few numbers a lane just has enough of them for three blocks.
  constexpr bool large = sizeof(typename F::State) > 8;
  constexpr int kBlocks = !large || (kBody == Body::rows && folds::PivotFold<F> && Dense::kSize <= 4) ? 3 : 2;
  // Powers of columns: of eight a lane, and of whole packs, two blocks have registers for what three would spill.
  constexpr bool powers = kBody == Body::columns && SideBySide<F, Dense>;
  constexpr int kBlocksOfPacks = powers ? 2 : kBlocks, kBlocksOfCut = powers && Dense::kSize > 4 ? 2 : kBlocks;
  if constexpr (kBreadth == Breadth::many) {
    using Line = InLine<Dense>;
    const bool packs = loads_packs<kBody>(key, layout);
    if constexpr (kBody == Body::columns) {
      if (layout.joined) return joined<Line, F, kBlocksOfCut>(key);
      if (layout.few_rows && layout.in_line) return packs ? few<Line, F>() : few<InLine<Apart<SomeColumns>>, F>();
      if constexpr (kIs16BitFloat<typename Dense::Element>)
        if (layout.anywhere && !packs && key.source == SourceKind::dense && key.scope != Scope::grid)
          return layout.in_line ? near<InLine<Across<Dense>>, F>() : near<Across<Dense>, F>();
    }
    if (layout.in_line && packs) {
      if (key.scope == Scope::grid)
        return kernel<kBody, Line, F, GridScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, 2>();
      if constexpr (kBody == Body::rows) {
        constexpr int kLineBlocks = 4;  // by three, var bf16 of rows of 16 384 took 135 us for 122
        Found found =
            key.tuning.unroll <= kFewLoads
                ? kernel<kBody, Line, F, NearScope, ResultSink, ReadAgain, kFewThreads, kFewLoads, kBlocks + 1>()
                : kernel<kBody, Line, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, kBlocks>();
        if constexpr (ArgFold<F>) found = with_whole_runs<Line, F>(found);
        return with_whole_lines<Line, F, ResultSink, kFewThreads, kManyLoads, kLineBlocks>(found);
      }
      return kernel<kBody, Line, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, kBlocksOfPacks>();
    }
    if constexpr (kBody == Body::columns)
      if (layout.shifted) return shifted<Line, F, kBlocksOfCut>(key);
    if (!packs) {
      using Scattered = std::conditional_t<kBody == Body::columns, Apart<SomeColumns>, Strided>;
      if (key.scope == Scope::grid)
        return kernel<kBody, Scattered, F, GridScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, 2>();
      const Found found =
          kernel<kBody, Scattered, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, kBlocksOfPacks>();
      if constexpr (kBody == Body::rows && Dense::kSize > 1)
        return layout.in_line ? found : with_cut_runs_of_reduction<Dense, F>(found);
      return found;
    }
    if constexpr (kBody == Body::rows)
      if (key.scope != Scope::grid)
        return with_cut_runs_of_reduction<Dense, F>(with_whole_runs<Dense, F>(
            kernel<kBody, Dense, F, NearScope, ResultSink, ReadAgain, kFewThreads, kFewLoads, kBlocks>()));
  }
  // Two looks at rows of columns that are looked up have registers for as many loads as along one axis, but moments of
  // 16 bits; sums are slower so: bf16 of [32,512,8,512] over axes 0 and 2 42 us, 58 with eight loads.
  constexpr bool kMany = kBody == Body::columns && kBreadth == Breadth::many &&
                         (powers || ArgFold<F> || (folds::PivotFold<F> && Dense::kSize <= 4));
  constexpr int kLoads = kMany ? kManyLoads : kFewLoads, kBlocksOfLoads = kMany ? kBlocksOfPacks : kBlocks;
  if (key.scope == Scope::grid)
    return kernel<kBody, Dense, F, GridScope, ResultSink, ReadAgain, kFewThreads, kLoads, 2>();
  return kernel<kBody, Dense, F, NearScope, ResultSink, ReadAgain, kFewThreads, kLoads, kBlocksOfLoads>();
}

}  // namespace ndfold::cuda::detail
