// Kernels of the bodies of rows and columns, as steps that fold and steps that map have them.
#pragma once
#include "kernels/cuda/catalog.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/cut_lines.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/whole_lines.h"

namespace ndfold::cuda {

/// many: lines with few and many loads in flight, runs, columns, and lanes that read every n-th element, each by
/// itself. few: one kernel of each body and kind of scope, which does all of that: right everywhere, slower here and
/// there.
enum class Breadth { few, many };

namespace detail {

// kBlocks: of a multiprocessor, as plans/build/in_grid.cpp and split.cpp count on for a cooperative launch. Fewer
// threads have registers enough for it.
template <Body kBody>
inline constexpr int kGridBlocks = kBody == Body::columns ? 3 : 2;

template <Body kBody, class Source, class F, class Scope, class Sink, class Residency, int kMost, int kLoads,
          int kBlocks = 1>
Found kernel() {
  using Tuning = Tuned<kMost, kLoads, kBlocks>;
  if constexpr (kBody == Body::columns)
    return {.kernel = columns<Source, F, Scope, Sink, Residency, Tuning>,
            .threads = kMost,
            .pack = kIsApart<Source> || kIsAcross<Source> ? 1 : Source::kSize,
            .columns = Source::kSize,
            .looks_up_rows = kLooksUpRows<Source, Sink>,
            .state_bytes = Sink::kMaps || !kMeetAtOnce<typename F::State> ? 0 : int{sizeof(typename F::State)}};
  else
    return {rows<Source, F, Scope, Sink, Residency, Tuning>, kMost, Source::kSize};
}

/// Whether lanes load packs; else they load elements, neighbouring lanes neighbouring ones. One line's ends may be cut.
template <Body kBody>
bool loads_packs(const KernelKey& key, const Layout& layout) {
  return key.source != SourceKind::strided && (layout.dense || (kBody == Body::rows && layout.in_line));
}

// The same step where lines are whole packs: of a lane, kLoads of one line or one of as many short ones.
template <class Line, class F, class Sink, int kMost, int kLoads, int kBlocks>
Found with_whole_lines(Found found) {
  found.whole_lines = whole_lines<Line, F, Sink, 1, Tuned<kMost, kLoads, kBlocks>>;
  found.packs_of_line = kLoads;
  found.looks_twice = !Sink::kMaps && (folds::PivotFold<F> || ArgFold<F>);
  if constexpr (kMost <= kFewThreads) {
    // Two looks need more registers, and of elements half as wide they are at twice as many numbers.
    constexpr bool kLooks = !Sink::kMaps && !CheapFold<F>, kFewer = kLooks && Line::kSize > 4;
    using Short = Tuned<kMost, kFewer ? kLoads / 2 : kLoads, kFewer ? 4 : kLooks ? 3 : std::min(kBlocks, 5)>;
    found.short_lines = whole_lines<Line, F, Sink, Short::kUnroll, Short>;
  }
  if constexpr (kIsInLine<Line> && Line::kSize > 1) {
    constexpr int kFewer = Sink::kMaps && Line::kSize <= 4 ? 2 : 1;  // for what is at the ends
    constexpr int kCutBlocks = kMost > kFewThreads ? std::min(kBlocks, 2) : kBlocks - kFewer;
    found.cut_lines = cut_lines<Line, F, Sink, Tuned<kMost, kLoads, kCutBlocks>>;
    found.in_order = ArgFold<F>;
  }
  return found;
}

}  // namespace detail
}  // namespace ndfold::cuda
