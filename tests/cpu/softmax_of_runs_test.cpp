// Softmax over short runs of few outputs that lie side by side: right, and the same whoever takes which lines.
#include "kernels/cpu/softmax_columns.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ndfold::test {
namespace {

constexpr Index kPanel = 24;  // outputs of a block

// Axes 1 and 3 of a dense [lines, rows, outputs, run] are reduced.
struct Runs {
  Index lines, rows, outputs, run;
  std::vector<Axis> kept, reduced;
  std::vector<float> in;

  Runs(Index n, Index r, Index o, Index k) : lines(n), rows(r), outputs(o), run(k) {
    kept = {{.size = n, .in = r * o * k, .out = r * o * k}, {.size = o, .in = k, .out = k}};
    reduced = {{.size = r, .in = o * k, .out = o * k}, {.size = k, .in = 1, .out = 1}};
    in.resize(static_cast<std::size_t>(n * r * o * k));
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(hash(i) % 2000) / 100 + static_cast<float>(i % 7919 == 3 ? 500 : 0);
  }

  cpu::Arguments step() const {
    cpu::Arguments given{.kept = list(kept), .reduced = list(reduced)};
    given.in = reinterpret_cast<const std::byte*>(in.data());
    given.part = rows * run, given.panel = kPanel, given.scale = 0.5, given.alpha = 2;
    return given;
  }

  std::vector<float> softmax(SinkKind sink, Residency residency, Index cut) const {
    std::vector<float> results(in.size());
    cpu::Arguments given = step();
    given.out = reinterpret_cast<std::byte*>(results.data());
    given.sink = sink, given.residency = residency;
    simd::softmax_columns<float>(given, 0, cut);
    simd::softmax_columns<float>(given, cut, blocks());
    return results;
  }

  Index blocks() const { return lines * ((outputs + kPanel - 1) / kPanel); }

  std::size_t at(Index line, Index row, Index output, Index k) const {
    return static_cast<std::size_t>(((line * rows + row) * outputs + output) * run + k);
  }
};

const Runs kRuns[] = {{3, 32, 16, 4},  {2, 200, 8, 8}, {2, 33, 5, 4},  {3, 64, 2, 32},
                      {1, 1030, 9, 7}, {2, 40, 1, 16}, {2, 40, 50, 4}, {1, 33, 37, 2}};

TEST(softmax_of_runs, is_taken_in_tiles_that_part_no_run) {
  constexpr int kWidth = simd::kLanes<simd::LanesOf<float>>;
  for (const Runs& runs : kRuns)
    EXPECT_EQ(simd::are_runs_as_tiles<float>(runs.step()),
              kWidth > 1 && (kWidth % runs.run == 0 || runs.outputs * runs.run <= simd::kTileColumns<float>));
  EXPECT_FALSE(simd::are_runs_as_tiles<float>(Runs(2, 31, 16, 4).step())) << "few rows";
  EXPECT_FALSE(simd::are_runs_as_tiles<float>(Runs(2, 32, 30, 3).step())) << "a line is wider than a tile";
}

TEST(softmax_of_runs, is_right) {
  for (const Runs& runs : kRuns)
    for (const SinkKind sink : {SinkKind::softmax, SinkKind::log_softmax})
      for (const Residency residency : {Residency::scratch, Residency::none}) {
        const auto results = runs.softmax(sink, residency, 0);
        for (Index cut = 1; cut < runs.blocks(); ++cut) ASSERT_EQ(runs.softmax(sink, residency, cut), results);
        for (Index line = 0; line < runs.lines; ++line)
          for (Index output = 0; output < runs.outputs; ++output) {
            double sum = 0;
            const auto each = [&](const auto& work) {
              for (Index row = 0; row < runs.rows; ++row)
                for (Index k = 0; k < runs.run; ++k) work(runs.at(line, row, output, k));
            };
            each([&](std::size_t i) { sum += std::exp(0.5 * runs.in[i] - 250); });
            each([&](std::size_t i) {
              const double logarithm = 0.5 * runs.in[i] - 250 - std::log(sum);
              const double right = 2 * (sink == SinkKind::softmax ? std::exp(logarithm) : logarithm);
              ASSERT_NEAR(results[i], right, 3e-6 * (1 + std::abs(right))) << i;
            });
          }
      }
}

TEST(softmax_of_runs, what_is_not_finite_stays_with_its_output) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  Runs runs(2, 40, 16, 4);
  runs.in[runs.at(0, 7, 3, 1)] = std::numeric_limits<float>::quiet_NaN();
  runs.in[runs.at(1, 39, 5, 0)] = kInfinite;
  for (Index row = 0; row < 40; ++row)
    for (Index k = 0; k < 4; ++k) {
      runs.in[runs.at(0, row, 15, k)] = -kInfinite;
      if (k != 2 || row != 20) runs.in[runs.at(1, row, 0, k)] = -kInfinite;
    }
  for (const Residency residency : {Residency::scratch, Residency::none}) {
    const auto results = runs.softmax(SinkKind::softmax, residency, 1);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::size_t line = i / (40 * 64), output = i % 64 / 4;
      const bool is_nan = line == 0 ? output == 3 || output == 15 : output == 5;
      ASSERT_EQ(std::isnan(results[i]), is_nan) << i;
    }
    EXPECT_NEAR(results[runs.at(1, 20, 0, 2)], 2, 2 * 12 * 0x1p-24);  // 12u: two powers, a state, a quotient, a product
    EXPECT_LE(results[runs.at(1, 20, 0, 2)], 2);
    EXPECT_EQ(results[runs.at(1, 21, 0, 2)], 0);
  }
}

}  // namespace
}  // namespace ndfold::test
