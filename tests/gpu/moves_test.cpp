// Permutes and copies on the device: random orders of random layouts, every element type, all bits kept.
#include "tests/gpu/trial.h"

namespace ndfold::test {
namespace {

class moves : public OnDevice {};

Trial permute_of(DType type, const Sizes& sizes, const AxisOrder& axes, Layout from, Layout to, std::uint64_t seed) {
  Order order;
  Sizes permuted;
  for (const std::size_t axis : axes) {
    order.axes.push_back(static_cast<int>(axis));
    permuted.push_back(sizes[axis]);
  }
  return {.name = std::string(name(type)) + ' ' + ::testing::PrintToString(sizes) + " to " +
                  ::testing::PrintToString(order.axes) + ' ' + std::string(name(from)) + " to " + std::string(name(to)),
          .request = order,
          .in = lay_out(type, sizes, from, seed),
          .out = lay_out(type, permuted, to, seed + 1),
          .in_shift = static_cast<Index>(hash(seed) % 5),
          .out_shift = static_cast<Index>(hash(seed) / 8 % 3),
          .values = Values::bits};
}

TEST_F(moves, random_orders) {
  constexpr Layout kOutputs[] = {Layout::row_major, Layout::stepped, Layout::padded, Layout::reversed};
  std::vector<Trial> trials;
  for (std::uint64_t seed = 1; seed <= 1200; ++seed) {
    const std::size_t rank = seed % 7;
    Sizes sizes;
    for (std::size_t i = 0; i < rank; ++i)
      sizes.push_back(1 + static_cast<Index>(hash(seed * 8 + i) % (rank < 3 ? 90 : rank < 5 ? 9 : 5)));
    const auto type = static_cast<DType>(1 + seed % (kDTypeCount - 1));
    trials.push_back(
        permute_of(type, sizes, random_order(rank, seed), kLayouts[seed % 9], kOutputs[seed / 9 % 4], seed));
  }
  expect_right(trials);
}

TEST_F(moves, larger_ones) {
  struct Move {
    Sizes sizes;
    AxisOrder order;
  };
  const Move kMoves[] = {{{1025, 700}, {1, 0}},
                         {{3, 700, 301}, {0, 2, 1}},
                         {{700, 3, 301}, {1, 0, 2}},
                         {{64, 33, 31, 9}, {0, 2, 3, 1}},
                         {{500000, 2}, {1, 0}},
                         {{2, 500000}, {1, 0}},
                         {{9, 8, 7, 6, 5, 40}, {5, 3, 1, 0, 2, 4}},
                         {{600000}, {0}}};
  std::vector<Trial> trials;
  for (const Move& move : kMoves)
    for (const DType type : {DType::u8, DType::f16, DType::f32, DType::f64}) {
      trials.push_back(permute_of(type, move.sizes, move.order, Layout::row_major, Layout::row_major, trials.size()));
      trials.back().replays = 1;
    }
  expect_right(trials);
}

}  // namespace
}  // namespace ndfold::test
