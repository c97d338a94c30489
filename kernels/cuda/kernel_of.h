// From a kernel's name to the kernel: which instantiations a row of the catalog stands for.
#pragma once
#include <ndfold/kept_columns.h>

#include "kernels/cuda/bundles.h"
#include "kernels/cuda/catalog.h"
#include "kernels/cuda/column_registers.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/cut_runs.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/few_rows.h"
#include "kernels/cuda/fold_cut_runs.h"
#include "kernels/cuda/joined_rows.h"
#include "kernels/cuda/permute.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/travelling.h"
#include "kernels/cuda/whole_lines.h"
#include "kernels/cuda/whole_runs.h"

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
    return {columns<Source, F, Scope, Sink, Residency, Tuning>, kMost, kIsApart<Source> ? 1 : Source::kSize,
            Source::kSize};
  else
    return {rows<Source, F, Scope, Sink, Residency, Tuning>, kMost, Source::kSize};
}

/// Whether lanes load packs; else they load elements, neighbouring lanes neighbouring ones. One line's ends may be cut.
template <Body kBody>
bool loads_packs(const KernelKey& key, const Layout& layout) {
  return key.source != SourceKind::strided && (layout.dense || (kBody == Body::rows && layout.in_line));
}

// Rows that come in bundles: plans/build/in_bundles.cpp counts on so many threads of a multiprocessor.
template <class Dense, class Strided, class F, class Sink>
Found bundle() {
  constexpr bool kHasLongRows = Sink::kMaps && sizeof(typename Dense::Value) <= 4;
  constexpr int kMost = kHasLongRows ? kThreads : kFewThreads;
  return {.kernel = bundles<InLine<Dense>, InLine<Strided>, F, Sink, Tuned<kMost, kFewLoads, kHasLongRows ? 2 : 3>>,
          .threads = kMost,
          .pack = Dense::kSize,
          .bundles = true};
}

inline bool comes_in_bundles(const KernelKey& key) {
  return key.body == Body::rows && key.scope == Scope::lanes && key.residency == Residency::shared;
}

// Columns of few rows.
template <class Source, class F>
Found few() {
  // Large states, many columns of a lane and addresses of single elements need more registers.
  constexpr int kBlocks = sizeof(typename F::State) > 8 || Source::kSize > 4 || kIsApart<Source> ? 3 : 4;
  return {few_rows<Source, F, Tuned<kFewThreads, kManyLoads, kBlocks>>, kFewThreads,
          kIsApart<Source> ? 1 : Source::kSize, Source::kSize, FewRows<F, Source::kSize>::kPacks};
}

// Few columns of rows that follow one another.
template <class Line, class F, int kBlocks>
Found joined(const KernelKey& key) {
  const bool grid = key.scope == Scope::grid;
  return {.kernel = grid ? Kernel(joined_rows<Line, F, GridScope, Tuned<kFewThreads, kManyLoads, 2>>)
                         : Kernel(joined_rows<Line, F, NearScope, Tuned<kFewThreads, kManyLoads, kBlocks>>),
          .threads = kFewThreads,
          .pack = Line::kSize,
          .state_bytes = sizeof(typename F::State)};
}

// Columns of rows that follow one another and are no whole packs.
template <class Line, class F, int kBlocks>
Found shifted(const KernelKey& key) {
  Found found =
      key.scope == Scope::grid
          ? kernel<Body::columns, Shifted<Line>, F, GridScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, 2>()
          : kernel<Body::columns, Shifted<Line>, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads,
                   kBlocks>();
  found.shifted = true;
  return found;
}

// The same step where lines are whole packs: of a lane, kLoads of one line or one of as many short ones.
template <class Line, class F, class Sink, int kMost, int kLoads, int kBlocks>
Found with_whole_lines(Found found) {
  found.whole_lines = whole_lines<Line, F, Sink, 1, Tuned<kMost, kLoads, kBlocks>>;
  found.packs_of_line = kLoads;
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

// The same step where runs are whole packs.
template <class Source, class F>
Found with_whole_runs(Found found) {
  constexpr int kBlocks = sizeof(typename F::State) > 8 && !ArgFold<F> ? 3 : 4;
  found.whole_runs = whole_runs<Source, F, Tuned<kFewThreads, kManyLoads, kBlocks>>;
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
  if constexpr (kBreadth == Breadth::many) {
    using Line = InLine<Dense>;
    const bool packs = loads_packs<kBody>(key, layout);
    if constexpr (kBody == Body::columns) {
      if (layout.joined) return joined<Line, F, kBlocks>(key);
      if (layout.few_rows && layout.in_line) return packs ? few<Line, F>() : few<InLine<Apart<SomeColumns>>, F>();
    }
    if (layout.in_line && packs) {
      if (key.scope == Scope::grid)
        return kernel<kBody, Line, F, GridScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, 2>();
      if constexpr (kBody == Body::rows) {
        constexpr int kLineBlocks = large ? 3 : 4;
        Found found =
            key.tuning.unroll <= kFewLoads
                ? kernel<kBody, Line, F, NearScope, ResultSink, ReadAgain, kFewThreads, kFewLoads, kBlocks + 1>()
                : kernel<kBody, Line, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, kBlocks>();
        if constexpr (ArgFold<F>) found = with_whole_runs<Line, F>(found);
        return with_whole_lines<Line, F, ResultSink, kFewThreads, kManyLoads, kLineBlocks>(found);
      }
      return kernel<kBody, Line, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, kBlocks>();
    }
    if constexpr (kBody == Body::columns)
      if (layout.shifted) return shifted<Line, F, kBlocks>(key);
    if (!packs) {
      using Scattered = std::conditional_t<kBody == Body::columns, Apart<SomeColumns>, Strided>;
      if (key.scope == Scope::grid)
        return kernel<kBody, Scattered, F, GridScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, 2>();
      const Found found =
          kernel<kBody, Scattered, F, NearScope, ResultSink, ReadAgain, kFewThreads, kManyLoads, kBlocks>();
      if constexpr (kBody == Body::rows && Dense::kSize > 1)
        return layout.in_line ? found : with_cut_runs_of_reduction<Dense, F>(found);
      return found;
    }
    if constexpr (kBody == Body::rows)
      if (key.scope != Scope::grid)
        return with_cut_runs_of_reduction<Dense, F>(with_whole_runs<Dense, F>(
            kernel<kBody, Dense, F, NearScope, ResultSink, ReadAgain, kFewThreads, kFewLoads, kBlocks>()));
  }
  if (key.scope == Scope::grid)
    return kernel<kBody, Dense, F, GridScope, ResultSink, ReadAgain, kFewThreads, kFewLoads, 2>();
  return kernel<kBody, Dense, F, NearScope, ResultSink, ReadAgain, kFewThreads, kFewLoads, kBlocks>();
}

// Columns that wait in registers: those of a lane are neighbours or apart, as it finds them.
template <template <class, class, int> class Loaded, class T, class F, class Sink, int kRows, int kBlocks>
Found kept() {
  using A = typename F::Value;
  constexpr KeptColumns kKept = kept_columns({.unroll = kRows}, sizeof(T));
  using Source = Loaded<T, A, kKept.columns>;
  return {.kernel = columns_in_registers<Source, F, Sink, Tuned<kKept.threads, kRows, kBlocks>>,
          .threads = kKept.threads,
          .pack = kKept.columns,
          .meeting_bytes = kKept.columns * static_cast<int>(sizeof(A))};
}

template <template <class, class, int> class Loaded, class T, class F, class Sink>
Found kept_in_registers(int rows) {
  constexpr int kBlocks = sizeof(T) < sizeof(float) ? 3 : 4;  // 8 columns a lane, or 4
  if (rows == 4) return kept<Loaded, T, F, Sink, 4, kBlocks>();
  if (rows == 8) return kept<Loaded, T, F, Sink, 8, 3>();
  return kept<Loaded, T, F, Sink, 16, 2>();
}

template <class Line, class F, class Sink, MapKind kMap>
Found with_whole_lines_of_softmax(const KernelKey& key, const Found& found) {
  constexpr bool kHalf = Line::kSize > 4, kRuns = !kIsInLine<Line>;
  constexpr int kOfFew = kHalf ? 4 : kRuns ? 5 : 6, kOfMany = kRuns || kHalf ? 2 : 3;
  using Map = MapSink<typename Sink::Out, kMap>;
  if constexpr (!kHalf && !kRuns)  // of elements half as wide, numbers of so many loads are more than registers
    if (key.tuning.unroll > kFewLoads) return with_whole_lines<Line, F, Map, kThreads, kManyLoads, 2>(found);
  return key.tuning.threads <= kFewThreads ? with_whole_lines<Line, F, Map, kFewThreads, kFewLoads, kOfFew>(found)
                                           : with_whole_lines<Line, F, Map, kThreads, kFewLoads, kOfMany>(found);
}

// Elements one by one, as many as packs have together.
template <class Source, class F, class Sink, MapKind kMap>
Found with_elements_of_softmax(const KernelKey& key, const Found& found) {
  constexpr int kLoads = kFewLoads * kVector<typename Source::Element>, kOfFew = kLoads <= 16 ? 4 : 3;
  constexpr int kOfMany = kLoads <= 16 || kIsInLine<Source> ? 2 : 1;
  using Map = MapSink<typename Sink::Out, kMap>;
  return key.tuning.threads <= kFewThreads ? with_whole_lines<Source, F, Map, kFewThreads, kLoads, kOfFew>(found)
                                           : with_whole_lines<Source, F, Map, kThreads, kLoads, kOfMany>(found);
}

template <class Source, class F, class Sink>
Found with_elements(const KernelKey& key, const Found& found) {
  return key.sink == SinkKind::log_softmax ? with_elements_of_softmax<Source, F, Sink, MapKind::log_softmax>(key, found)
                                           : with_elements_of_softmax<Source, F, Sink, MapKind::softmax>(key, found);
}

// The same step where runs are no whole packs.
template <class Dense, class F, class Sink, MapKind kMap>
Found with_cut_runs_of_softmax(const KernelKey& key, Found found) {
  constexpr bool kHalf = Dense::kSize > 4;
  using Map = MapSink<typename Sink::Out, kMap>;
  found.packs_of_cut_runs = kFewLoads;
  if constexpr (!kHalf)
    if (key.tuning.unroll > kFewLoads) {
      found.packs_of_cut_runs = kManyLoads;
      found.cut_runs = cut_runs<Dense, F, Map, Tuned<kThreads, kManyLoads, 2>>;
      return found;
    }
  found.cut_runs = key.tuning.threads <= kFewThreads
                       ? Kernel(cut_runs<Dense, F, Map, Tuned<kFewThreads, kFewLoads, kHalf ? 3 : 4>>)
                       : Kernel(cut_runs<Dense, F, Map, Tuned<kThreads, kFewLoads, 2>>);
  return found;
}

template <class Dense, class F, class Sink>
Found with_cut_runs(const KernelKey& key, const Found& found) {
  return key.sink == SinkKind::log_softmax ? with_cut_runs_of_softmax<Dense, F, Sink, MapKind::log_softmax>(key, found)
                                           : with_cut_runs_of_softmax<Dense, F, Sink, MapKind::softmax>(key, found);
}

// The same step where no kernel for packs takes its rows.
template <class Source, class F, class Sink>
Found or_with_elements(const KernelKey& key, Found found) {
  const Found one_by_one = with_elements<Source, F, Sink>(key, found);
  found.elements = one_by_one.whole_lines;
  found.elements_of_line = one_by_one.packs_of_line;
  return found;
}

// Rows that wait in registers.
template <class Line, class F, class Sink>
Found rows_in_registers(const KernelKey& key) {
  constexpr int kFewer = Line::kSize > 4 ? 1 : 0;  // more numbers a pack need more registers
  const Found found =
      key.tuning.threads <= kFewThreads
          ? kernel<Body::rows, Line, F, NearScope, Sink, InRegisters, kFewThreads, kFewLoads, 4 - kFewer>()
          : kernel<Body::rows, Line, F, NearScope, Sink, InRegisters, kThreads, kFewLoads, 2 - kFewer>();
  return key.sink == SinkKind::log_softmax
             ? with_whole_lines_of_softmax<Line, F, Sink, MapKind::log_softmax>(key, found)
             : with_whole_lines_of_softmax<Line, F, Sink, MapKind::softmax>(key, found);
}

// Rows of runs, or of elements at a stride: what registers hold waits there, else shared memory keeps it.
template <class Dense, class Strided, class F, class Sink>
Found scattered_rows(const KernelKey& key, const Layout& layout, bool packs) {
  const bool in_registers = key.residency == Residency::registers;
  if (!packs) {
    const Found found = kernel<Body::rows, Strided, F, NearScope, Sink, InShared, kThreads, kFewLoads, 2>();
    if (!in_registers) return found;
    return layout.in_line ? with_elements<InLine<Strided>, F, Sink>(key, found)
                          : with_cut_runs<Dense, F, Sink>(key, with_elements<Strided, F, Sink>(key, found));
  }
  const Found found = in_registers && key.tuning.threads > kFewThreads
                          ? kernel<Body::rows, Dense, F, NearScope, Sink, InShared, kThreads, kFewLoads, 2>()
                          : kernel<Body::rows, Dense, F, NearScope, Sink, InShared, kFewThreads, kFewLoads, 3>();
  if (!in_registers) return found;
  const Found with_packs = key.sink == SinkKind::log_softmax
                               ? with_whole_lines_of_softmax<Dense, F, Sink, MapKind::log_softmax>(key, found)
                               : with_whole_lines_of_softmax<Dense, F, Sink, MapKind::softmax>(key, found);
  return or_with_elements<Strided, F, Sink>(key, with_cut_runs<Dense, F, Sink>(key, with_packs));
}

// The kernel for tiles that travel, or none: not for 16-bit columns, which reach 0.56 to 0.62 of a copy, nor for less
// than 32 bits at a time.
template <template <class, int> class TilesOf, class Source, class F, class Sink>
Kernel travelling_kernel(const KernelKey& key) {
  using T = typename Source::Element;
  constexpr bool kSuits = TilesOf<Source, kThreads>::kAcross == 1 || sizeof(T) == 4;
  constexpr int kBytes = Source::kSize * static_cast<int>(sizeof(T)), kLoads = kTravellingLoads * kVectorBytes / kBytes;
  if constexpr (kSuits && std::is_same_v<typename Source::Value, float> && std::is_same_v<typename Sink::Out, T> &&
                kBytes >= 4)
    return key.tuning.threads <= kFewThreads
               ? Kernel(travelling<Source, F, Sink, TilesOf, Tuned<kFewThreads, kLoads, 2>>)
               : Kernel(travelling<Source, F, Sink, TilesOf, Tuned<kThreads, kLoads>>);
  return nullptr;
}

// The same step where tiles travel, in packs or as elements one by one.
template <template <class, int> class TilesOf, class Dense, class Strided, class F, class Sink>
Found with_travelling(const KernelKey& key, Found found) {
  found.travelling = travelling_kernel<TilesOf, Dense, F, Sink>(key);
  found.travelling_elements = travelling_kernel<TilesOf, Strided, F, Sink>(key);
  return found;
}

// A softmax whose blocks meet over the grid.
template <Body kBody, class Dense, class Strided, class SomeColumns, class F, class Sink, Breadth kBreadth>
Found softmax_in_grid(const KernelKey& key, const Layout& layout) {
  constexpr int kBlocks = kGridBlocks<kBody>;
  using Line = InLine<Dense>;
  if constexpr (kBreadth == Breadth::many) {
    const bool packs = loads_packs<kBody>(key, layout);
    const auto found = [&] {
      if (layout.in_line && packs)
        return kernel<kBody, Line, F, GridScope, Sink, InShared, kFewThreads, kFewLoads, kBlocks>();
      if constexpr (kBody == Body::columns)
        if (!packs)
          return kernel<kBody, Apart<SomeColumns>, F, GridScope, Sink, InShared, kFewThreads, kFewLoads, kBlocks>();
      return kernel<kBody, Dense, F, GridScope, Sink, InShared, kFewThreads, kFewLoads, kBlocks>();
    }();
    if constexpr (kBody == Body::columns)
      return layout.in_line ? with_travelling<TravellingColumns, Line, InLine<Strided>, F, Sink>(key, found)
                            : with_travelling<TravellingColumns, Dense, Strided, F, Sink>(key, found);
    else
      return layout.in_line ? with_travelling<TravellingRows, Line, InLine<Strided>, F, Sink>(key, found)
                            : with_travelling<TravellingRuns, Dense, Strided, F, Sink>(key, found);
  }
  return kernel<kBody, Dense, F, GridScope, Sink, InShared, kFewThreads, kFewLoads, kBlocks>();
}

// A softmax: tiles wait in shared memory, or are read again where there is no room; lines may wait in registers.
template <Body kBody, class Dense, class Strided, class SomeColumns, class F, class Sink, Breadth kBreadth>
Found softmax(const KernelKey& key, const Layout& layout) {
  if (key.scope == Scope::grid)
    return softmax_in_grid<kBody, Dense, Strided, SomeColumns, F, Sink, kBreadth>(key, layout);
  if constexpr (kBreadth == Breadth::many) {
    using Line = InLine<Dense>;
    const bool packs = loads_packs<kBody>(key, layout);
    if (layout.in_line && packs) {
      if constexpr (kBody == Body::rows) {
        if (key.residency == Residency::registers)
          return or_with_elements<InLine<Strided>, F, Sink>(key, rows_in_registers<Line, F, Sink>(key));
      } else if (key.tuning.threads <= kFewThreads) {
        constexpr int kFewer = Dense::kSize > 4 ? 1 : 0;  // more numbers a pack need more registers
        return kernel<kBody, Line, F, NearScope, Sink, InShared, kFewThreads, kFewLoads, 4 - kFewer>();
      }
      return kernel<kBody, Line, F, NearScope, Sink, InShared, kThreads, kFewLoads, 2>();
    }
    if constexpr (kBody == Body::rows)
      return scattered_rows<Dense, Strided, F, Sink>(key, layout, packs);
    else if (!packs)
      return kernel<kBody, Apart<SomeColumns>, F, NearScope, Sink, InShared, kFewThreads, kFewLoads, 3>();
  }
  return kernel<kBody, Dense, F, NearScope, Sink, InShared, kFewThreads, kFewLoads, 3>();
}

template <Body kBody, class Dense, class Strided, class SomeColumns, class F, class Sink, Breadth kBreadth>
Found in_body(const KernelKey& key, const Layout& layout) {
  constexpr bool fits = !Sink::kMaps || std::is_same_v<typename Sink::Out, typename Dense::Element>;
  if constexpr (kBody == Body::rows && kBreadth == Breadth::many && fits)
    if (comes_in_bundles(key)) return bundle<Dense, Strided, F, Sink>();
  if constexpr (Sink::kMaps)
    return softmax<kBody, Dense, Strided, SomeColumns, F, Sink, kBreadth>(key, layout);
  else
    return reduction<kBody, Dense, Strided, SomeColumns, F, kBreadth>(key, layout);
}

}  // namespace detail

/// F folds A's; T is the element type, `Loaded` is Elements or Truths; Sink says what a softmax writes.
template <class F, class A, class T, template <class, class, int> class Loaded, class Sink, Breadth kBreadth>
Found fold_kernel(const KernelKey& key, const Layout& layout) {
  using Dense = Loaded<T, A, kVector<T>>;
  using Strided = Loaded<T, A, 1>;
  using SomeColumns = Loaded<T, A, kColumnsApart<T>>;
  if constexpr (Sink::kMaps && kBreadth == Breadth::many && sizeof(A) == sizeof(float))
    if (layout.kept_rows != 0) return detail::kept_in_registers<Loaded, T, F, Sink>(layout.kept_rows);
  if (key.body == Body::rows)
    return detail::in_body<Body::rows, Dense, Strided, SomeColumns, F, Sink, kBreadth>(key, layout);
  return detail::in_body<Body::columns, Dense, Strided, SomeColumns, F, Sink, kBreadth>(key, layout);
}

/// Folds states of F.
template <class F>
Found merge_kernel() {
  return detail::kernel<Body::rows, States<F>, folds::Merge<F>, NearScope, ResultSink, ReadAgain, kThreads,
                        kFewLoads>();
}

/// `dense`: packs are neighbours in the input, and begin alike. No more than four columns a lane: each has a map.
template <class T, class A, class Out>
Found elementwise_kernel(bool dense) {
  constexpr int kPack = std::min(4, kVector<T>), kBlocks = sizeof(A) > 4 ? 2 : 4;
  constexpr int kLoads = kPack * sizeof(T) < kVectorBytes ? kManyLoads : kFewLoads;
  if (dense) return {elementwise<Elements<T, A, kPack>, Out, Tuned<kFewThreads, kLoads, kBlocks>>, kFewThreads, kPack};
  return {elementwise<Elements<T, A, 1>, Out, Tuned<kFewThreads, kManyLoads, kBlocks>>, kFewThreads, 1};
}

/// T is an unsigned integer of the elements' size.
template <class T>
Found permute_kernel(bool same_axis, bool dense) {
  using Tuning = Tuned<kThreads, kFewLoads>;
  if (!same_axis) return {permute_tiles<T, Tuning>, kThreads, 1};
  if (dense) return {permute_packs<Elements<T, T, kVector<T>>, Tuning>, kThreads, kVector<T>};
  return {permute_packs<Elements<T, T, 1>, Tuning>, kThreads, 1};
}

}  // namespace ndfold::cuda
