#include "kernels/folds/arg_extremum.h"

#include "kernels/cpu/instances/entry.h"

namespace ndfold::simd {

FoldEntries arg_entries() {
  static constexpr FoldEntry kEntries[] = {
      entry<ArgMax, float>(FoldKind::argmax, DType::f32),
      entry<ArgMax, double>(FoldKind::argmax, DType::f64),
      entry<ArgMax, std::int8_t>(FoldKind::argmax, DType::i8),
      entry<ArgMax, std::int16_t>(FoldKind::argmax, DType::i16),
      entry<ArgMax, std::int32_t>(FoldKind::argmax, DType::i32),
      entry<ArgMax, std::int64_t>(FoldKind::argmax, DType::i64),
      entry<ArgMax, std::uint8_t>(FoldKind::argmax, DType::u8),
      entry<ArgMax, std::uint16_t>(FoldKind::argmax, DType::u16),
      entry<ArgMax, std::uint32_t>(FoldKind::argmax, DType::u32),
      entry<ArgMax, std::uint64_t>(FoldKind::argmax, DType::u64),
      entry<ArgMax, std::uint8_t>(FoldKind::argmax, DType::boolean),
      entry<ArgMin, float>(FoldKind::argmin, DType::f32),
      entry<ArgMin, double>(FoldKind::argmin, DType::f64),
      entry<ArgMin, std::int8_t>(FoldKind::argmin, DType::i8),
      entry<ArgMin, std::int16_t>(FoldKind::argmin, DType::i16),
      entry<ArgMin, std::int32_t>(FoldKind::argmin, DType::i32),
      entry<ArgMin, std::int64_t>(FoldKind::argmin, DType::i64),
      entry<ArgMin, std::uint8_t>(FoldKind::argmin, DType::u8),
      entry<ArgMin, std::uint16_t>(FoldKind::argmin, DType::u16),
      entry<ArgMin, std::uint32_t>(FoldKind::argmin, DType::u32),
      entry<ArgMin, std::uint64_t>(FoldKind::argmin, DType::u64),
      entry<ArgMin, std::uint8_t>(FoldKind::argmin, DType::boolean),
  };
  return {kEntries, static_cast<int>(std::size(kEntries))};
}

}  // namespace ndfold::simd
