// Tiles that are brought together: every output's elements row by row, results where they belong, nothing beside them.
#include "kernels/cpu/gathered_tiles.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndfold::test {
namespace {

// What the library would run on a tile: here sums whose order shows, Σ (row + 1) · element, or each element + 1.
template <class T>
void columns_of(const cpu::Arguments& tile, Index first, Index last) {
  ASSERT_EQ(first, 0);
  ASSERT_EQ(last, simd::column_blocks(tile));
  ASSERT_EQ(tile.kept.rank, 1);
  ASSERT_EQ(tile.reduced.rank, 1);
  const Axis column = tile.kept.axes[0], row = tile.reduced.axes[0];
  ASSERT_EQ(column.in, 1);
  const auto* in = reinterpret_cast<const T*>(tile.in);
  auto* out = reinterpret_cast<T*>(tile.out);
  for (Index c = 0; c < column.size; ++c) {
    T sum = 0;
    for (Index r = 0; r < row.size; ++r) {
      const T element = in[r * row.in + c * column.in];
      sum = static_cast<T>(sum + static_cast<T>(r * row.out + 1) * element);
      if (tile.sink == SinkKind::softmax) out[r * row.out + c * column.out] = static_cast<T>(element + 1);
    }
    if (tile.sink == SinkKind::store) out[c * column.out] = sum;
  }
}

template <class T>
class Step {
 public:
  Step(std::vector<Axis> kept, std::vector<Axis> reduced, SinkKind sink)
      : kept_(std::move(kept)), reduced_(std::move(reduced)), sink_(sink) {}

  void expect_results(Index task) const {
    constexpr Index kMost = 1 << 17;
    static const Numbered<T> in(kMost);
    std::vector<T> out(static_cast<std::size_t>(2 * kMost), T(77)), want = out;
    cpu::Arguments step{.kept = list(kept_), .reduced = list(reduced_)};
    step.in = in.zero(), step.out = reinterpret_cast<std::byte*>(out.data() + kMost);
    step.input = step.output = sizeof(T) == 1 ? DType::u8 : sizeof(T) == 4 ? DType::i32 : DType::i64;
    step.sink = sink_, step.of_tiles = columns_of<T>;
    const std::vector<Index> from = offsets_in(kept_), rows = offsets_in(reduced_);
    const std::vector<Index> to = offsets_out(kept_), places = offsets_out(reduced_);
    for (std::size_t i = 0; i < from.size(); ++i)
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const T element = static_cast<T>(from[i] + rows[r]);
        T& at = want[static_cast<std::size_t>(kMost + to[i] + (sink_ == SinkKind::softmax ? places[r] : 0))];
        if (sink_ == SinkKind::softmax)
          at = static_cast<T>(element + 1);
        else
          at = static_cast<T>((r == 0 ? T(0) : at) + static_cast<T>(places[r] + 1) * element);
      }
    const Index blocks = simd::TileShape(step).blocks;
    for (Index first = 0; first < blocks; first += task)
      simd::run_gathered(step, first, std::min(first + task, blocks));
    EXPECT_EQ(out, want);
  }

 private:
  static std::vector<Index> offsets_out(std::vector<Axis> axes) {
    for (Axis& axis : axes) axis.in = axis.out;
    return offsets_in(axes);
  }

  std::vector<Axis> kept_, reduced_;
  SinkKind sink_;
};

// Reduced axes lie between, before and behind kept ones, results as dense as can be or with gaps.
template <class T>
void expect_all(Index task) {
  for (const Index near : {1, 2, 3, 8, 13})
    for (const Index rows : {1, 2, 5})
      for (const Index far : {1, 7, 150})
        for (const Index gap : {0, 1}) {
          SCOPED_TRACE(::testing::Message() << near << ' ' << rows << ' ' << far << " gap " << gap);
          const Index line = near + gap, record = 3 * rows * line, results = near + gap;
          const std::vector<Axis> kept = {{.size = far, .in = record, .out = 2 * results},
                                          {.size = 2, .in = far * record, .out = results},
                                          {.size = near, .in = 1, .out = 1}};
          const std::vector<Axis> reduced = {{.size = 3, .in = rows * line, .out = rows},
                                             {.size = rows, .in = line, .out = 1}};
          const std::vector<Axis> turned = {reduced[1], reduced[0]};
          Step<T>(kept, reduced, SinkKind::store).expect_results(task);
          Step<T>({kept[0], kept[2]}, reduced, SinkKind::store).expect_results(task);
          Step<T>({kept[2], kept[0]}, turned, SinkKind::store).expect_results(task);
          std::vector<Axis> kept_there = kept, reduced_there = reduced;
          for (Axis& axis : kept_there) axis.out = axis.in;
          for (Axis& axis : reduced_there) axis.out = axis.in;
          Step<T>(kept_there, reduced_there, SinkKind::softmax).expect_results(task);
          kept_there[2].out = 6 * rows * far, kept_there[1].out = 3 * rows * far;
          kept_there[0].out = 3 * rows, reduced_there[0].out = 1, reduced_there[1].out = 3;
          Step<T>(kept_there, reduced_there, SinkKind::softmax).expect_results(task);
        }
}

TEST(gathered_tiles, results_of_bytes) { expect_all<std::uint8_t>(1 << 20); }
TEST(gathered_tiles, results_of_words) { expect_all<std::uint32_t>(1 << 20); }
TEST(gathered_tiles, results_of_long_words) { expect_all<std::uint64_t>(1 << 20); }
TEST(gathered_tiles, results_by_tasks) { expect_all<std::uint32_t>(2); }

}  // namespace
}  // namespace ndfold::test
