// The kernels of a softmax.
#pragma once
#include <ndfold/kept_columns.h>

#include "kernels/cuda/column_sectors.h"
#include "kernels/cuda/cut_runs.h"
#include "kernels/cuda/kernel_in.h"
#include "kernels/cuda/long_lines.h"
#include "kernels/cuda/tall_columns.h"
#include "kernels/cuda/tall_sectors.h"
#include "kernels/cuda/travelling.h"

namespace ndfold::cuda::detail {

// Columns that wait in registers: those of a lane are neighbours or apart, as it finds them.
template <template <class, class, int> class Loaded, class T, class F, class Sink, int kRows, int kBlocks>
Found kept() {
  using A = typename F::Value;
  constexpr KeptColumns kKept = kept_columns({.unroll = kRows}, sizeof(T));
  using Source = Loaded<T, A, kKept.columns>;
  return {.kernel = columns_in_registers<Source, F, Sink, Tuned<kKept.threads, kRows, kBlocks>>,
          .threads = kKept.threads,
          .pack = kKept.columns,
          .meeting_bytes = kKept.columns * static_cast<int>(sizeof(A)),
          .sectors = columns_by_sectors<Source, F, Sink, Tuned<kKept.threads, kRows, kBlocks>>};
}

template <template <class, class, int> class Loaded, class T, class F, class Sink>
Found kept_in_registers(int rows) {
  constexpr bool kHalf = sizeof(T) < sizeof(float);
  if (rows == 4) return kept < Loaded, T, F, Sink, 4, kHalf ? 3 : 4 > ();
  if (rows == 8) return kept<Loaded, T, F, Sink, 8, 3>();
  return kept < Loaded, T, F, Sink, 16, kHalf ? 4 : 2 > ();
}

template <class Line, class F, class Sink, MapKind kMap>
Found with_whole_lines_of_softmax(const KernelKey& key, const Found& found) {
  constexpr bool kHalf = Line::kSize > 4, kRuns = !kIsInLine<Line>;
  constexpr int kOfFew = kHalf ? 4 : kRuns ? 5 : 6, kOfMany = kRuns ? 2 : 3;
  using Map = MapSink<typename Sink::Out, kMap>;
  const bool few = key.tuning.threads <= kFewThreads, many_loads = key.tuning.unroll > kFewLoads;
  if constexpr (kHalf || !kRuns)
    if (many_loads || (kHalf && !few)) {
      Found long_ones = with_whole_lines<Line, F, Map, kThreads, kManyLoads, 2>(found);
      if constexpr (!kRuns) {
        long_ones.long_lines = long_lines<Line, F, Map, true, Tuned<kThreads, kLongLinePacks, 2>>;
        long_ones.long_lines_apart = long_lines<Line, F, Map, false, Tuned<kThreads, kLongLinePacks - 1, 2>>;
        long_ones.packs_of_long_line = kLongLinePacks;
      }
      return long_ones;
    }
  if constexpr (!kHalf)
    if (!few) return with_whole_lines<Line, F, Map, kThreads, kFewLoads, kOfMany>(found);
  return with_whole_lines<Line, F, Map, kFewThreads, kFewLoads, kOfFew>(found);
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

// The kernel for tiles that travel, or none: not for less than 32 bits at a time.
template <template <class, int> class TilesOf, class Source, class F, class Sink>
Kernel travelling_kernel(const KernelKey& key) {
  using T = typename Source::Element;
  constexpr int kBytes = Source::kSize * static_cast<int>(sizeof(T)), kLoads = kTravellingLoads * kVectorBytes / kBytes;
  if constexpr (std::is_same_v<typename Source::Value, float> && std::is_same_v<typename Sink::Out, T> && kBytes >= 4)
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

// And where results begin elsewhere in a pack.
template <template <class, int> class TilesOf, template <class, int> class ApartOf, class Line, class Strided, class F,
          class Sink>
Found with_travelling_rows(const KernelKey& key, const Found& found) {
  Found travels = with_travelling<TilesOf, Line, Strided, F, Sink>(key, found);
  travels.travelling_apart = travelling_kernel<ApartOf, Line, F, Sink>(key);
  return travels;
}

// Of 16 bits two launches are as fast.
template <class Line, class F, class Sink>
Found with_travelling_sectors(const KernelKey& key, Found found) {
  if constexpr (sizeof(typename Line::Element) == 4)
    found.travelling_sectors = travelling_kernel<TravellingSectors, Line, F, Sink>(key);
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
      if (key.source == SourceKind::joined)
        return with_travelling_rows<TravellingJoined, TravellingJoinedApart, Line, InLine<Strided>, F, Sink>(key,
                                                                                                             found);
    if constexpr (kBody == Body::columns)
      return layout.in_line ? with_travelling_sectors<Line, F, Sink>(
                                  key, with_travelling<TravellingColumns, Line, InLine<Strided>, F, Sink>(key, found))
                            : with_travelling<TravellingColumns, Dense, Strided, F, Sink>(key, found);
    else
      return layout.in_line
                 ? with_travelling_rows<TravellingRows, TravellingRowsApart, Line, InLine<Strided>, F, Sink>(key, found)
                 : with_travelling<TravellingRuns, Dense, Strided, F, Sink>(key, found);
  }
  return kernel<kBody, Dense, F, GridScope, Sink, InShared, kFewThreads, kFewLoads, kBlocks>();
}

// The same step where panels are by sectors, of rows of which registers keep a part.
template <class Line, class F, class Sink>
Found with_tall_sectors(Scope scope, Found found) {
  if constexpr (Line::kSize == kTallColumns && sizeof(typename Line::Value) == sizeof(float) &&
                std::is_same_v<typename Sink::Out, typename Line::Element>) {
    using Tuning = Tuned<kTallThreads, rows_of_tall_sectors(sizeof(typename Line::Element)), 2>;
    found.tall_sectors = scope == Scope::cluster ? Kernel(tall_sectors<Line, F, Sink, Sharers<Tuning>, Tuning>)
                                                 : Kernel(tall_sectors<Line, F, Sink, OneBlock, Tuning>);
  }
  return found;
}

// Columns of which registers keep a part.
template <class Line, class F, class Sink>
Found tall(Scope scope) {
  static_assert(Line::kSize == kTallColumns);
  using Tuning = Tuned<kTallThreads, sizeof(typename Line::Element) < sizeof(float) ? kTallRowsOfHalf : kTallRows, 2>;
  Found found = kernel<Body::columns, Line, F, NearScope, Sink, InShared, kThreads, kFewLoads, 2>();
  found.tall_columns = scope == Scope::cluster ? Kernel(tall_columns<Line, F, Sink, Sharers<Tuning>, Tuning>)
                                               : Kernel(tall_columns<Line, F, Sink, OneBlock, Tuning>);
  return with_tall_sectors<Line, F, Sink>(scope, found);
}

// The same of rows that begin anywhere in a pack.
template <class Columns, class F, class Sink>
Found uneven_columns(const KernelKey& key) {
  const Found found = kernel<Body::columns, Apart<Columns>, F, NearScope, Sink, InShared, kFewThreads, kFewLoads, 3>();
  if (key.residency != Residency::registers) return found;
  return with_tall_sectors<InLine<Columns>, F, Sink>(key.scope, found);
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
      constexpr int kFewer = Dense::kSize > 4 ? 1 : 0;  // more numbers a pack need more registers
      if (key.residency == Residency::registers) {
        if constexpr (kBody == Body::rows)
          return or_with_elements<InLine<Strided>, F, Sink>(key, rows_in_registers<Line, F, Sink>(key));
        else if constexpr (sizeof(typename Dense::Value) == sizeof(float))
          return tall<InLine<SomeColumns>, F, Sink>(key.scope);
      }
      if constexpr (kBody == Body::columns)
        if (key.tuning.threads <= kFewThreads)
          return kernel<kBody, Line, F, NearScope, Sink, InShared, kFewThreads, kFewLoads, 4 - kFewer>();
      return kernel<kBody, Line, F, NearScope, Sink, InShared, kThreads, kFewLoads, 2>();
    }
    if constexpr (kBody == Body::rows)
      return scattered_rows<Dense, Strided, F, Sink>(key, layout, packs);
    else if (!packs)
      return uneven_columns<SomeColumns, F, Sink>(key);
  }
  return kernel<kBody, Dense, F, NearScope, Sink, InShared, kFewThreads, kFewLoads, 3>();
}

}  // namespace ndfold::cuda::detail
