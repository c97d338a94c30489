// A row of the CPU catalog: one fold in one accumulator type, in each body.
#pragma once
#include "kernels/cpu/fold_columns.h"
#include "kernels/cpu/merge_rows.h"

namespace ndfold::simd {

struct FoldEntry {
  FoldKind fold;
  DType accumulate;
  Run rows, columns, merge;
  Index state_bytes;
};

struct FoldEntries {
  const FoldEntry* entries;
  int count;
};

template <template <class> class F, class A, Loading kLoading = Loading::values>
constexpr FoldEntry entry(FoldKind fold, DType accumulate) {
  return {fold,
          accumulate,
          fold_rows<F, A, kLoading>,
          fold_columns<F, A, kLoading>,
          merge_rows<F, A>,
          sizeof(typename F<A>::State)};
}

/// One list a family; each is a file of this folder.
FoldEntries sum_entries();
FoldEntries product_entries();
FoldEntries norm_entries();
FoldEntries extremum_entries();
FoldEntries arg_entries();
FoldEntries logical_entries();
FoldEntries moment_entries();
FoldEntries softmax_entries();

}  // namespace ndfold::simd
