// Softmax of columns: rows in turn, powers that wait or are made again, results that do not depend on who runs a block.
#include "kernels/cpu/softmax_columns.h"

#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace ndfold::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = -77;

// [lines, rows, columns], softmax over rows; the array begins `shift` elements after a line of memory.
struct Problem {
  Index lines, rows, columns, panel, shift;
  std::vector<Axis> kept, reduced;

  Problem(Index n, Index r, Index c, Index width, Index from)
      : lines(n), rows(r), columns(c), panel(width), shift(from) {
    kept = {{.size = n, .in = r * c, .out = r * c}, {.size = c, .in = 1, .out = 1}};
    reduced = {{.size = r, .in = c, .out = c}};
  }
  Index elements() const { return lines * rows * columns; }
  Index blocks() const { return lines * ((columns + panel - 1) / panel); }
};

class Floats {
 public:
  Floats(const Problem& problem, float value)
      : all_(static_cast<std::size_t>(problem.elements() + problem.shift + kMargin), value), shift_(problem.shift) {}
  float* data() {
    const auto misaligned = reinterpret_cast<std::uintptr_t>(all_.data()) % 64 / sizeof(float);
    return all_.data() + (misaligned == 0 ? 0 : 16 - misaligned) + shift_;
  }
  float last() { return data()[all_.size() - kMargin - static_cast<std::size_t>(shift_)]; }

 private:
  static constexpr std::size_t kMargin = 32;
  std::vector<float> all_;
  Index shift_;
};

// Columns with maxima that rise, fall, come late, are no numbers, or are not there.
float value_at(Index row, Index column, Index rows) {
  const float noise = static_cast<float>(hash(static_cast<std::uint64_t>(row * 1000 + column)) % 2000) / 200 - 5;
  switch (column % 8) {
    case 1: return noise + static_cast<float>(row);
    case 2: return noise - static_cast<float>(row);
    case 3: return row < rows - 1 ? -kInfinity : noise - 1000;
    case 4: return row == rows / 2 ? std::nanf("") : noise;
    case 5: return row == rows / 2 ? kInfinity : noise;
    case 6: return -kInfinity;
    default: return noise;
  }
}

simd::Arguments step_of(const Problem& problem, SinkKind kind, Residency residency, float* in, float* out) {
  simd::Arguments step;
  step.in = reinterpret_cast<const std::byte*>(in);
  step.out = reinterpret_cast<std::byte*>(out);
  step.kept = list(problem.kept);
  step.reduced = list(problem.reduced);
  step.sink = kind;
  step.residency = residency;
  step.part = step.count = problem.rows;
  step.panel = problem.panel;
  step.past_caches = true;
  return step;
}

void expect_right(const Problem& problem, bool logarithm, const float* in, const float* out) {
  constexpr long double kUnit = 0x1p-24L, kRoundings = 60;
  for (Index line = 0; line < problem.lines; ++line)
    for (Index c = 0; c < problem.columns; ++c) {
      const Index base = line * problem.rows * problem.columns + c;
      long double max = -kInfinity, sum = 0;
      bool nan = false;
      for (Index r = 0; r < problem.rows; ++r) {
        const float x = in[base + r * problem.columns];
        nan = nan || x != x || x == kInfinity;
        max = std::max(max, static_cast<long double>(x));
      }
      for (Index r = 0; r < problem.rows; ++r) sum += std::exp(in[base + r * problem.columns] - max);
      for (Index r = 0; r < problem.rows; ++r) {
        const float got = out[base + r * problem.columns];
        const long double y = in[base + r * problem.columns] - max;
        if (nan || max == -kInfinity) {
          ASSERT_TRUE(std::isnan(got)) << "row " << r << " column " << c;
          continue;
        }
        const long double want = logarithm ? y - std::log(sum) : std::exp(y) / sum;
        if (std::isinf(want)) {
          ASSERT_EQ(got, want);
          continue;
        }
        const long double room = logarithm ? kUnit * (kRoundings + 4 * std::fabs(want))
                                           : kUnit * (kRoundings + std::fabs(y)) * want + 0x1p-126L;
        ASSERT_LE(std::fabs(got - want), y == -kInfinity ? 0 : room) << "row " << r << " column " << c;
      }
    }
}

void check(const Problem& problem, SinkKind kind, Residency residency) {
  Floats in(problem, 0), out(problem, kUntouched), again(problem, kUntouched);
  for (Index i = 0; i < problem.elements(); ++i)
    in.data()[i] = value_at(i / problem.columns % problem.rows, i % problem.columns, problem.rows);
  simd::softmax_columns<float>(step_of(problem, kind, residency, in.data(), out.data()), 0, problem.blocks());
  expect_right(problem, kind == SinkKind::log_softmax, in.data(), out.data());
  EXPECT_EQ(out.last(), kUntouched);

  for (Index block = problem.blocks(); block-- > 0;)
    simd::softmax_columns<float>(step_of(problem, kind, residency, in.data(), again.data()), block, block + 1);
  const auto bytes = static_cast<std::size_t>(problem.elements()) * sizeof(float);
  EXPECT_EQ(std::memcmp(out.data(), again.data(), bytes), 0) << "results depend on who runs a block";

  simd::softmax_columns<float>(step_of(problem, kind, residency, in.data(), in.data()), 0, problem.blocks());
  EXPECT_EQ(std::memcmp(out.data(), in.data(), bytes), 0) << "in place";
}

TEST(SoftmaxColumns, IsRightWhereverPowersWait) {
  for (const Index rows : {1, 2, 31, 33, 64, 65, 128, 300, 1030})
    for (const Index columns : {1, 5, 15, 16, 17, 40, 64, 70, 128})
      for (const Residency residency : {Residency::scratch, Residency::none})
        for (const SinkKind kind : {SinkKind::softmax, SinkKind::log_softmax}) {
          SCOPED_TRACE(::testing::Message() << rows << " rows, " << columns << " columns, " << name(residency));
          check(Problem(2, rows, columns, 64, columns % 3), kind, residency);
          if (::testing::Test::HasFailure()) return;
        }
}

// As many rows as registers hold, and one more.
TEST(SoftmaxColumns, IsRightForFewRows) {
  for (Index rows = 2; rows <= 17; ++rows)
    for (const Index columns : {1, 15, 16, 17, 48, 1000, 1024})
      for (const Index shift : {0, 3})
        for (const SinkKind kind : {SinkKind::softmax, SinkKind::log_softmax}) {
          SCOPED_TRACE(::testing::Message()
                       << rows << " rows, " << columns << " columns, " << shift << " after a line");
          check(Problem(2, rows, columns, 512, shift), kind, Residency::scratch);
          if (::testing::Test::HasFailure()) return;
        }
}

// Rows that begin anywhere in a line, in tiles that follow one another, end with a row and end within a group.
TEST(SoftmaxColumns, FillsLinesThatTilesShare) {
  for (const Index rows : {18, 64, 130})
    for (const Index columns : {64, 72, 128, 136, 200, 333, 448, 515})
      for (const Index panel : {64, 256})
        for (const Index shift : {0, 1, 8, 15}) {
          SCOPED_TRACE(::testing::Message()
                       << rows << " rows, " << columns << " columns, " << shift << " after a line");
          check(Problem(2, rows, columns, panel, shift), SinkKind::softmax, Residency::scratch);
          if (::testing::Test::HasFailure()) return;
        }
}

// Where the elements of [rows, columns] are: strides from one row to the next, and from one column to the next.
struct Place {
  Index row, column;
  Index first(Index rows, Index columns) const {
    return (row < 0 ? (1 - rows) * row : 0) + (column < 0 ? (1 - columns) * column : 0);
  }
  std::size_t span(Index rows, Index columns) const {
    return static_cast<std::size_t>((rows - 1) * std::abs(row) + (columns - 1) * std::abs(column) + 1);
  }
};

// Every layout that rows and columns can have, dense or apart, in rising order or in falling.
std::vector<Place> places_of(Index rows, Index columns) {
  return {{columns, 1},   {columns + 3, 1}, {1, rows},        {1, rows + 5},
          {-columns, -1}, {-1, -rows},      {2 * columns, 2}, {2, 2 * rows + 1}};
}

struct Aligned {
  explicit Aligned(std::size_t size) : all(size + 64, kUntouched) {}
  float* data(Index shift) {
    const auto misaligned = reinterpret_cast<std::uintptr_t>(all.data()) % 64 / sizeof(float);
    return all.data() + (16 - misaligned) % 16 + 16 + shift;
  }
  std::vector<float> all;
};

// The bits of the dense layout (which NaN a NaN is does not matter), and nothing else written.
void expect_same_bits(Index rows, Index columns, Place from, Place to, SinkKind kind, Residency residency) {
  const Problem dense(1, rows, columns, 64, 0);
  Floats source(dense, 0), want(dense, kUntouched);
  for (Index i = 0; i < rows * columns; ++i) source.data()[i] = value_at(i / columns, i % columns, rows);
  const cpu::Arguments reference = step_of(dense, kind, residency, source.data(), want.data());
  if (simd::joined_in_tile<float>(reference, simd::ColumnBlock(reference, 0)) > 1) return;  // sums in another order
  simd::softmax_columns<float>(reference, 0, dense.blocks());

  const Index shift = to.row % 2;
  Aligned in(from.span(rows, columns)), out(to.span(rows, columns));
  float* const first_in = in.data(0) + from.first(rows, columns);
  float* const first_out = out.data(shift) + to.first(rows, columns);
  std::vector<bool> is_result(out.all.size());
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < columns; ++c) {
      first_in[r * from.row + c * from.column] = source.data()[r * columns + c];
      is_result[static_cast<std::size_t>(first_out - out.all.data() + r * to.row + c * to.column)] = true;
    }
  Problem apart = dense;
  apart.kept = {{.size = columns, .in = from.column, .out = to.column}};
  apart.reduced = {{.size = rows, .in = from.row, .out = to.row}};
  simd::softmax_columns<float>(step_of(apart, kind, residency, first_in, first_out), 0, dense.blocks());
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < columns; ++c) {
      const float got = first_out[r * to.row + c * to.column], wanted = want.data()[r * columns + c];
      ASSERT_TRUE(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(wanted) ||
                  (got != got && wanted != wanted))
          << got << " is not " << wanted << " in row " << r << " column " << c;
    }
  for (std::size_t i = 0; i < is_result.size(); ++i) ASSERT_TRUE(is_result[i] || out.all[i] == kUntouched);
}

TEST(SoftmaxColumns, WhereElementsLieChangesNoBit) {
  for (const Index rows : {1, 3, 4, 7, 16, 17, 40, 150})
    for (const Index columns : {1, 9, 16, 50, 64, 130})
      for (const Place from : places_of(rows, columns))
        for (const Place to : places_of(rows, columns))
          for (const SinkKind kind : {SinkKind::softmax, SinkKind::log_softmax}) {
            // A few rows that have no lanes on one side go another way, with sums in another order.
            const auto few = [](Place place) { return place.column == 1 || place.row == 1; };
            if (rows <= simd::kFewRows && !(few(from) && few(to))) continue;
            SCOPED_TRACE(::testing::Message() << rows << " × " << columns << " from " << from.row << "," << from.column
                                              << " to " << to.row << "," << to.column);
            expect_same_bits(rows, columns, from, to, kind, rows == 40 ? Residency::none : Residency::scratch);
            if (::testing::Test::HasFailure()) return;
          }
}

TEST(SoftmaxColumns, WideTilesChangeNoBit) {
  constexpr Index kPanel = 64;
  for (const Index rows : {2, 31, 64, 65, 300})
    for (const Index columns : {64, 128, 130, 200, 257, 300, 384})
      for (const Index shift : {0, 5}) {
        const Problem problem(2, rows, columns, kPanel, shift);
        Floats in(problem, 0), narrow(problem, kUntouched), wide(problem, kUntouched);
        for (Index i = 0; i < problem.elements(); ++i)
          in.data()[i] = value_at(i / columns % rows, i % columns + i / (rows * columns), rows);
        for (const SinkKind kind : {SinkKind::softmax, SinkKind::log_softmax}) {
          const auto run = [&](Floats& out, bool is_wide) {
            const simd::Arguments step = step_of(problem, kind, Residency::scratch, in.data(), out.data());
            (kind == SinkKind::softmax
                 ? simd::softmax_in_slab<MapKind::softmax, float>
                 : simd::softmax_in_slab<MapKind::log_softmax, float>)(step, 1, 0, problem.blocks(), is_wide);
          };
          run(narrow, false), run(wide, true);
          for (Index i = 0; i < problem.elements(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(narrow.data()[i]), std::bit_cast<std::uint32_t>(wide.data()[i]))
                << rows << " × " << columns << " element " << i;
          ASSERT_EQ(wide.last(), kUntouched);
        }
      }
}

TEST(SoftmaxColumns, LongerThanTheSlabIsReadAgain) {
  check(Problem(1, simd::kSlabRows, 20, 64, 0), SinkKind::softmax, Residency::scratch);
  check(Problem(1, simd::kSlabRows + 1, 20, 64, 0), SinkKind::softmax, Residency::scratch);
}

}  // namespace
}  // namespace ndfold::test
