// A map over whole rows at a time makes the elements that tiles make, wherever the rows begin and whoever has them.
#include "kernels/cpu/whole_rows.h"

#include "kernels/cpu/elementwise.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ndfold::test {
namespace {

constexpr float kUntouched = -77;

struct Case {
  Index rows, columns, shift;
  MapKind map;
  bool past_caches;
};

// Rows `gap` elements apart; the result as dense rows.
std::vector<float> mapped(const Case& item, Index gap, Index part) {
  const Index pitch = item.columns + gap, count = item.rows * pitch;
  const std::vector<Axis> kept = {{.size = item.columns, .in = 1, .out = 1}};
  const std::vector<Axis> reduced = {{.size = item.rows, .in = pitch, .out = pitch}};
  const auto size = static_cast<std::size_t>(count + item.shift + 64);
  std::vector<float> in(size), out(size, kUntouched);
  for (Index r = 0; r < item.rows; ++r)
    for (Index c = 0; c < item.columns; ++c)
      in[static_cast<std::size_t>(item.shift + r * pitch + c)] =
          static_cast<float>(hash(static_cast<std::uint64_t>(r * 5000 + c)) % 900) / 100 - 9;
  std::vector<folds::MaxAndSum<float>> states(static_cast<std::size_t>(item.columns));
  for (std::size_t c = 0; c < states.size(); ++c)
    states[c] = {static_cast<float>(c % 3) / 2, 1 + static_cast<float>(c)};
  states[0].max = states.size() % 2 == 1 ? std::numeric_limits<float>::infinity() : 0;
  cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
  step.in = reinterpret_cast<const std::byte*>(in.data() + item.shift);
  step.out = reinterpret_cast<std::byte*>(out.data() + item.shift);
  step.values = reinterpret_cast<const std::byte*>(states.data());
  step.map = item.map, step.part = part, step.parts = (item.rows + part - 1) / part, step.panel = 64;
  step.scale = 0.5, step.alpha = 3, step.past_caches = item.past_caches;
  const Index blocks = (item.columns + step.panel - 1) / step.panel * step.parts;
  const Index cut = blocks / 2;  // one of them may have part of a row
  simd::elementwise<float>(step, 0, cut);
  simd::elementwise<float>(step, cut, blocks);
  std::vector<float> dense;
  for (Index r = 0; r < item.rows; ++r)
    for (Index c = 0; c < item.columns; ++c) dense.push_back(out[static_cast<std::size_t>(item.shift + r * pitch + c)]);
  for (Index i = 0; i < item.shift; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], kUntouched);
  for (std::size_t i = static_cast<std::size_t>(item.shift + count); i < size; ++i) EXPECT_EQ(out[i], kUntouched);
  return dense;
}

TEST(whole_rows, give_what_tiles_give) {
  for (const Index columns : {5, 7, 16, 31, 63, 64, 65, 128, 200, 257, 1000})
    for (const Index shift : {0, 3, 16})
      for (const MapKind map : {MapKind::softmax, MapKind::log_softmax})
        for (const bool past_caches : {false, true}) {
          const Case item{.rows = 37, .columns = columns, .shift = shift, .map = map, .past_caches = past_caches};
          const auto whole = mapped(item, 0, 10), tiles = mapped(item, 1, 37);
          for (std::size_t i = 0; i < whole.size(); ++i) {
            const bool both_nan = whole[i] != whole[i] && tiles[i] != tiles[i];
            ASSERT_TRUE(both_nan || std::memcmp(&whole[i], &tiles[i], sizeof(float)) == 0)
                << columns << " columns, element " << i << ": " << whole[i] << " and " << tiles[i];
          }
        }
}

}  // namespace
}  // namespace ndfold::test
