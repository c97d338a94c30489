// Tiles of columns: their rows in turn, and which of them are asked for before they are read.
#include "kernels/cpu/column_tiles.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

TEST(RowsOfTile, VisitsEveryRowOnceInOrder) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const auto& sizes : kWalkShapes) {
      const std::vector<Axis> axes = axes_of(sizes, seed);
      const std::vector<Index> expected = offsets_in(axes);
      const auto count = static_cast<Index>(expected.size());
      simd::Arguments step;
      step.reduced = list(axes);
      step.input = DType::f16;
      step.output = DType::f64;
      for (const Index begin : {Index{0}, count / 3}) {
        simd::RowsOfTile walk(step, begin, count);
        simd::RowOffsets rows;
        Index at = begin;
        for (; walk.next(rows); at += rows.count)
          for (int r = 0; r < rows.count; ++r) {
            ASSERT_EQ(rows.in[r], 2 * expected[static_cast<std::size_t>(at + r)]);
            ASSERT_EQ(rows.out_bits & rows.out[r], rows.out[r]);
          }
        ASSERT_EQ(at, count);
      }
    }
}

TEST(TileLeaves, SayWhichIsNext) {
  for (const auto& sizes : kWalkShapes) {
    const std::vector<Axis> axes = axes_of(sizes, 5);
    const std::vector<Index> expected = offsets_in(axes);
    const auto count = static_cast<Index>(expected.size());
    simd::Arguments step;
    step.reduced = list(axes);
    step.input = step.output = DType::f32;
    for (const Index begin : {Index{0}, count / 3, count}) {
      const simd::TileLeaves leaves(step, begin, count);
      EXPECT_EQ(leaves.rows(), count - begin);
      EXPECT_EQ(leaves.first().count, std::min<Index>(count - begin, simd::kTileRows));
      Index at = begin, promised = leaves.first().count;
      leaves.each({.columns = 1}, nullptr, [&](const auto& here, const auto& next, const simd::RowsAhead&) {
        ASSERT_EQ(here.count, promised);
        for (int r = 0; r < here.count; ++r, ++at) ASSERT_EQ(here.in[r], 4 * expected[static_cast<std::size_t>(at)]);
        for (int r = 0; r < next.count; ++r) ASSERT_EQ(next.in[r], 4 * expected[static_cast<std::size_t>(at + r)]);
        promised = next.count;
      });
      EXPECT_EQ(at, count);
    }
  }
}

TEST(TileLeaves, RowsShareSetsPagesApartAndALineMoreOrLess) {
  for (const Index pitch : {0, 4, 60, 4036, 4096, 4156, 16388, -8192}) EXPECT_TRUE(simd::share_sets(pitch)) << pitch;
  for (const Index pitch : {64, 1000, 2048, 4000, 4032, 67108, -6144}) EXPECT_FALSE(simd::share_sets(pitch)) << pitch;
}

// More than the caches near a core hold.
constexpr Axis kManyColumns = {.size = Index{1} << 20, .in = 1, .out = 1};

// Reduces rows that lie so far apart, of f32.
struct Rows {
  std::vector<Axis> reduced, kept;

  Rows(Index count, Index pitch, const Axis& columns)
      : reduced{{.size = count, .in = pitch, .out = 1}}, kept{columns} {}
  simd::Arguments step(bool past_caches) const {
    simd::Arguments step;
    step.reduced = list(reduced);
    step.kept = list(kept);
    step.input = step.output = DType::f32;
    step.past_caches = past_caches;
    return step;
  }
};

// Tiles one after the other: each row is asked for once, and when that many rows have been read as a leaf has.
TEST(TileLeaves, AskForEachRowALeafAhead) {
  constexpr Index kPitch = 100, kTiles = 4;
  for (const Index rows : {1, 2, 33, 63, 64, 65, 127, 128, 129, 300}) {
    const Rows problem(rows, kPitch, kManyColumns);
    const simd::Arguments step = problem.step(true);
    const simd::TileLeaves leaves(step, 0, rows);
    const std::vector<std::byte> memory(static_cast<std::size_t>(4 * kPitch * rows * (kTiles + 1)));
    const auto tile_at = [&](Index tile) { return memory.data() + tile * 4 * kPitch * rows; };
    const Index ahead = leaves.first().count;
    Index read = 0, asked = ahead;  // the first leaf of all is not asked for
    for (Index tile = 0; tile < kTiles; ++tile)
      leaves.each({.in = tile_at(tile), .columns = 1}, tile_at(tile + 1),
                  [&](const auto& here, const auto&, const simd::RowsAhead& coming) {
                    for (int r = 0; r < here.count; ++r, ++asked)
                      ASSERT_EQ(coming.at(r), memory.data() + asked * 4 * kPitch) << rows << " rows";
                    read += here.count;
                    ASSERT_EQ(asked, read + ahead) << rows << " rows";
                  });
  }
}

// What the core's own caches hold, and many rows that a third cache holds.
TEST(TileLeaves, AskForNothingThatIsNear) {
  constexpr Axis kFewColumns = {.size = 64, .in = 1, .out = 1};
  const auto asks = [](Index rows, const Axis& columns, bool past_caches) {
    const Rows problem(rows, columns.size, columns);
    const simd::Arguments step = problem.step(past_caches);
    const simd::TileLeaves leaves(step, 0, rows);
    const std::vector<std::byte> memory(1);
    bool any = false;
    leaves.each({.in = memory.data(), .columns = 1}, memory.data(),
                [&](const auto& here, const auto&, const simd::RowsAhead& coming) {
                  for (int r = 0; r < here.count; ++r) any = any || coming.at(r) != nullptr;
                });
    return any;
  };
  EXPECT_TRUE(asks(64, kManyColumns, true));
  EXPECT_TRUE(asks(63, kManyColumns, false));
  EXPECT_EQ(asks(64, kManyColumns, false), !simd::kAsksForRows);
  EXPECT_EQ(asks(64, kFewColumns, true), !simd::kAsksForRows);
}

// Of wide tiles a block is several panels; each row is asked for some rows before it is read, in its tile or the next.
TEST(TileLeaves, AskForRowsOfWideTilesSomeRowsAhead) {
  constexpr Index kColumns = simd::kWideColumns<float>, kTiles = 3, kAhead = 16;
  for (const Index rows : {17, 64, 65, 200}) {
    const Rows problem(rows, kColumns * kTiles, kManyColumns);
    const simd::Arguments step = problem.step(true);
    const simd::TileLeaves leaves(step, 0, rows);
    const std::vector<float> memory(static_cast<std::size_t>(kColumns * kTiles * rows));
    const auto row_at = [&](Index tile, Index row) {
      return reinterpret_cast<const std::byte*>(memory.data() + (row * kTiles + tile) * kColumns);
    };
    for (Index tile = 0; tile + 1 < kTiles; ++tile) {
      Index row = 0;
      leaves.each(
          {.in = row_at(tile, 0), .columns = kColumns}, row_at(tile + 1, 0),
          [&](const auto& here, const auto&, const simd::RowsAhead& coming) {
            for (int r = 0; r < here.count; ++r, ++row) {
              const Index asked = row + kAhead;
              ASSERT_EQ(coming.at(r), asked < rows ? row_at(tile, asked) : row_at(tile + 1, asked - rows)) << rows;
            }
          },
          true);
      ASSERT_EQ(row, rows);
    }
  }
}

}  // namespace
}  // namespace ndfold::test
