#include "kernels/folds/logical.h"

#include "kernels/cpu/instances/entry.h"

namespace ndfold::simd {

FoldEntries logical_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<Any, std::uint8_t, Loading::truth>(FoldKind::any, DType::i64),
      entry<All, std::uint8_t, Loading::truth>(FoldKind::all, DType::i64),
      entry<CountNonzero, std::uint8_t, Loading::truth>(FoldKind::count_nonzero, DType::i64),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
