// A column of a tile has the same bits whether its neighbours' sums are tame or not; those that are not are right.
#include "kernels/cpu/raised_columns.h"

#include "tests/cpu/dense_softmax_rows.h"

namespace ndfold::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Columns {
  Index rows, columns;
  double alpha = 1.5;
  std::vector<float> in;
  Columns(Index r, Index c) : rows(r), columns(c), in(static_cast<std::size_t>(r * c)) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(hash(i) % 401) / 16 - 12;
  }
  float& at(Index r, Index c) { return in[static_cast<std::size_t>(r * columns + c)]; }

  // Every seventh column and every other tile is far from 0, or has what is not finite.
  static bool is_spoilt(Index c) { return c % 7 == 0 || c / simd::kTileColumns<float> % 2 == 1; }
  void spoil() {
    for (Index c = 0; c < columns; ++c)
      for (Index r = 0; r < rows && is_spoilt(c); ++r) {
        at(r, c) += c % 2 == 0 ? 300.f : -300.f;
        if (c % 5 == 1) at(r, c) = -kInf;
        if (c % 5 == 2 && r == 3) at(r, c) = kInf;
        if (c % 5 == 3 && r == 3) at(r, c) = std::numeric_limits<float>::quiet_NaN();
      }
  }

  std::vector<float> softmax(SinkKind sink, Residency residency) const {
    const std::vector<Axis> kept = {{.size = columns, .in = 1, .out = 1}};
    const std::vector<Axis> reduced = {{.size = rows, .in = columns, .out = columns}};
    std::vector<float> out(in.size());
    cpu::Arguments step{.in = reinterpret_cast<const std::byte*>(in.data()),
                        .out = reinterpret_cast<std::byte*>(out.data()),
                        .kept = list(kept),
                        .reduced = list(reduced)};
    step.input = step.output = DType::f32;
    step.part = rows, step.panel = 1024, step.sink = sink, step.residency = residency;
    step.scale = 0.75, step.alpha = alpha;
    simd::softmax_columns<float>(step, 0, (columns + step.panel - 1) / step.panel);
    return out;
  }
};

double expected(Columns& some, SinkKind sink, Index r, Index c) {
  double sum = 0;
  for (Index k = 0; k < some.rows; ++k) sum += std::exp(0.75 * (static_cast<double>(some.at(k, c)) - some.at(r, c)));
  return 1.5 * (sink == SinkKind::softmax ? 1 / sum : -std::log(sum));
}

TEST(raised_columns, a_column_does_not_depend_on_others) {
  for (const Index rows : {17, 32, 65, 200})
    for (const Index columns : {9, 64, 129, 300})
      for (const Residency residency : {Residency::scratch, Residency::none})
        for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax}) {
          Columns some(rows, columns);
          const auto results = some.softmax(sink, residency);
          some.spoil();
          const auto others = some.softmax(sink, residency);
          for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < columns; ++c) {
              const auto at = static_cast<std::size_t>(r * columns + c);
              if (!Columns::is_spoilt(c))
                ASSERT_EQ(results[at], others[at]) << rows << " x " << columns << ", column " << c;
              else if (c % 5 == 1 || c % 5 == 2 || c % 5 == 3)
                ASSERT_TRUE(std::isnan(others[at])) << rows << " x " << columns << ", column " << c;
              else
                ASSERT_NEAR(others[at], expected(some, sink, r, c), 1e-4)
                    << rows << " x " << columns << ", column " << c;
            }
        }
}

// One element of each column is nearly all of its sum, whatever rounds it: few columns join their rows.
TEST(raised_columns, no_probability_is_more_than_one) {
  for (const Index rows : {2, 8, 16, 17, 65, 200})
    for (const Index columns : {3, 64, 300})
      for (const Residency residency : {Residency::scratch, Residency::none}) {
        Columns some(rows, columns);
        some.alpha = 1;
        for (Index c = 0; c < columns; ++c) some.at(c % rows, c) += 30 + static_cast<float>(hash(c) % 1000) / 64;
        const auto largest = [&](SinkKind sink) {
          const auto results = some.softmax(sink, residency);
          return *std::max_element(results.begin(), results.end());
        };
        EXPECT_LE(largest(SinkKind::log_softmax), 0) << rows << " x " << columns;
        EXPECT_LE(largest(SinkKind::softmax), 1) << rows << " x " << columns;
      }
}

// Nor is a result more than alpha where powers are made again; of a negative alpha it is right.
TEST(raised_columns, second_looks_are_cut_off_at_alpha) {
  for (const Index columns : {3, 64, 300})
    for (const double alpha : {0.3, 1.7, -1.5}) {
      Columns some(65, columns);
      some.alpha = alpha;
      for (Index c = 0; c < columns; ++c) some.at(c % 65, c) += 30 + static_cast<float>(hash(c) % 1000) / 64;
      const auto results = some.softmax(SinkKind::softmax, Residency::none);
      EXPECT_LE(*std::max_element(results.begin(), results.end()), std::max(static_cast<float>(alpha), 0.f)) << columns;
      for (Index c = 0; c < columns; ++c)
        ASSERT_NEAR(results[static_cast<std::size_t>(c % 65 * columns + c)] / alpha,
                    expected(some, SinkKind::softmax, c % 65, c) / 1.5, 3e-6)
            << columns;
    }
}

}  // namespace
}  // namespace ndfold::test
