#include "kernels/folds/extremum.h"

#include "kernels/cpu/instances/entry.h"

namespace ndfold::simd {

FoldEntries extremum_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<Max, float>(FoldKind::max, DType::f32),
      entry<Max, double>(FoldKind::max, DType::f64),
      entry<Max, std::int8_t>(FoldKind::max, DType::i8),
      entry<Max, std::int16_t>(FoldKind::max, DType::i16),
      entry<Max, std::int32_t>(FoldKind::max, DType::i32),
      entry<Max, std::int64_t>(FoldKind::max, DType::i64),
      entry<Max, std::uint8_t>(FoldKind::max, DType::u8),
      entry<Max, std::uint16_t>(FoldKind::max, DType::u16),
      entry<Max, std::uint32_t>(FoldKind::max, DType::u32),
      entry<Max, std::uint64_t>(FoldKind::max, DType::u64),
      entry<Max, std::uint8_t>(FoldKind::max, DType::boolean),
      entry<Min, float>(FoldKind::min, DType::f32),
      entry<Min, double>(FoldKind::min, DType::f64),
      entry<Min, std::int8_t>(FoldKind::min, DType::i8),
      entry<Min, std::int16_t>(FoldKind::min, DType::i16),
      entry<Min, std::int32_t>(FoldKind::min, DType::i32),
      entry<Min, std::int64_t>(FoldKind::min, DType::i64),
      entry<Min, std::uint8_t>(FoldKind::min, DType::u8),
      entry<Min, std::uint16_t>(FoldKind::min, DType::u16),
      entry<Min, std::uint32_t>(FoldKind::min, DType::u32),
      entry<Min, std::uint64_t>(FoldKind::min, DType::u64),
      entry<Min, std::uint8_t>(FoldKind::min, DType::boolean),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
