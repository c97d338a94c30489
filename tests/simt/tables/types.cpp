// Every element type: a sum, an extremum with and without its index, and whether anything is there.
#include "kernels/folds/arg_extremum.h"
#include "kernels/folds/logical.h"
#include "tests/simt/tables/table.h"

#include <array>

namespace simt {
namespace {

// T's elements; sums in Total, the rest in Own.
template <class T, class Total, class Own, DType kTotal, DType kOwn>
constexpr std::array<Row, 4> rows_of() {
  return {fold_row<folds::Sum<Total>, T, Breadth::block>(FoldKind::sum, kTotal),
          fold_row<folds::Min<Own>, T, Breadth::block>(FoldKind::min, kOwn),
          fold_row<folds::ArgMax<Own>, T, Breadth::block>(FoldKind::argmax, kOwn),
          fold_row<folds::Any<std::uint8_t>, T, Breadth::block, Truths>(FoldKind::any, DType::i64)};
}

template <class... Rows>
constexpr auto joined(Rows... lists) {
  std::array<Row, (lists.size() + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& list) {
    for (const Row& row : list) all[at++] = row;
  };
  (append(lists), ...);
  return all;
}

}  // namespace

std::span<const Row> type_rows() {
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
