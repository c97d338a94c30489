// Every element type: a sum, an extremum with and without its index, and whether anything is there.
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/logical.h"
#include "tests/simt/tables/table.h"

namespace simt {
namespace {

// T's elements; sums in Total, the rest in Own.
template <class T, class Total, class Own, DType kTotal, DType kOwn>
constexpr auto rows_of() {
  return joined(fold_rows<folds::Sum<Total>, T, Breadth::few>(FoldKind::sum, kTotal),
                fold_rows<folds::Min<Own>, T, Breadth::few>(FoldKind::min, kOwn),
                fold_rows<folds::ArgMax<Own>, T, Breadth::few>(FoldKind::argmax, kOwn),
                fold_rows<folds::Any<std::uint8_t>, T, Breadth::few, Truths>(FoldKind::any, DType::i64));
}

}  // namespace

std::span<const CatalogRow> type_rows() {
  using std::uint64_t;
  static constexpr auto kRows = joined(rows_of<Half, float, float, DType::f32, DType::f32>(),
                                       rows_of<BFloat16, float, float, DType::f32, DType::f32>(),
                                       rows_of<double, double, double, DType::f64, DType::f64>(),
                                       rows_of<std::int8_t, uint64_t, std::int8_t, DType::i64, DType::i8>(),
                                       rows_of<std::int16_t, uint64_t, std::int16_t, DType::i64, DType::i16>(),
                                       rows_of<std::int32_t, uint64_t, std::int32_t, DType::i64, DType::i32>(),
                                       rows_of<std::int64_t, uint64_t, std::int64_t, DType::i64, DType::i64>(),
                                       rows_of<std::uint8_t, uint64_t, std::uint8_t, DType::u64, DType::u8>(),
                                       rows_of<std::uint16_t, uint64_t, std::uint16_t, DType::u64, DType::u16>(),
                                       rows_of<std::uint32_t, uint64_t, std::uint32_t, DType::u64, DType::u32>(),
                                       rows_of<uint64_t, uint64_t, uint64_t, DType::u64, DType::u64>(),
                                       rows_of<Boolean, uint64_t, std::uint8_t, DType::i64, DType::boolean>());
  return kRows;
}

}  // namespace simt
