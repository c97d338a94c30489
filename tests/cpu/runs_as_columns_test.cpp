// Short runs of a few outputs side by side give what each output gives alone, wherever blocks cut them.
#include "kernels/cpu/runs_as_columns.h"

#include "kernels/cpu/fold_rows.h"
#include "kernels/cpu/softmax_states.h"
#include "tests/cpu/walks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ndfold::test {
namespace {

using namespace folds;

// Axes 1, 3 and 5 of a dense array are reduced.
struct Shape {
  Index sizes[6];

  std::vector<Axis> axes(std::size_t first) const {
    std::vector<Axis> some;
    for (std::size_t i = first; i < 6; i += 2) {
      Axis axis{.size = sizes[i], .in = 1, .out = 1};
      for (std::size_t k = i + 1; k < 6; ++k) axis.in *= sizes[k];
      for (std::size_t k = i + 2; k < 6; k += 2) axis.out *= sizes[k];
      if (axis.size > 1) some.push_back(axis);
    }
    return some;
  }
};

// Elements of an array and what is expected of its outputs.
template <class T>
struct Folded {
  std::vector<Axis> kept, reduced;
  std::vector<T> elements;
  std::vector<Index> outputs_at, elements_at;  // where an output begins, and its elements from there

  template <class Value>
  Folded(const Shape& shape, const Value& value)
      : kept(shape.axes(0)), reduced(shape.axes(1)), outputs_at(offsets_in(kept)), elements_at(offsets_in(reduced)) {
    elements.resize(outputs_at.size() * elements_at.size());
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(value(i));
  }

  float at(std::size_t output, std::size_t k) const {
    return static_cast<float>(elements[static_cast<std::size_t>(outputs_at[output] + elements_at[k])]);
  }

  // By `run`, in pieces that end at `cuts` and at the last output.
  template <class Result, class Run>
  std::vector<Result> results(DType in, DType out, const Run& run, std::vector<Index> cuts) const {
    cpu::Arguments step{.kept = list(kept), .reduced = list(reduced)};
    step.input = in, step.output = out, step.panel = 1024;
    step.part = step.count = static_cast<Index>(elements_at.size());
    std::vector<Result> all(outputs_at.size());
    step.in = reinterpret_cast<const std::byte*>(elements.data());
    step.out = reinterpret_cast<std::byte*>(all.data());
    cuts.push_back(static_cast<Index>(outputs_at.size()));
    Index first = 0;
    for (const Index last : cuts) run(step, first, last), first = last;
    return all;
  }

  bool suits() const { return simd::RunsAsColumns::suits({.kept = list(kept), .reduced = list(reduced)}, 512); }
};

const Shape kShapes[] = {
    {{3, 5, 4, 32, 16, 4}}, {{3, 7, 4, 5, 5, 8}},   {{1, 1, 1, 40, 8, 2}},  {{2, 3, 1, 64, 3, 16}},
    {{5, 33, 1, 1, 9, 3}},  {{2, 64, 3, 2, 2, 32}}, {{1, 1, 2, 33, 16, 4}}, {{2, 2, 2, 128, 6, 7}},
};

std::vector<std::vector<Index>> some_cuts(Index outputs) {
  return {{}, {1}, {outputs / 2, outputs / 2 + 1}, {outputs - 1}};
}

double small_whole(std::size_t i) { return static_cast<double>(hash(i) % 17) - 8; }

// same(results, data) for all shapes and cuts.
template <class T, class Result, class Value, class Run, class Same>
void each_shape(DType in, DType out, const Value& value, const Run& run, const Same& same) {
  for (const Shape& shape : kShapes) {
    const Folded<T> data(shape, value);
    SCOPED_TRACE(::testing::PrintToString(shape.sizes));
    ASSERT_TRUE(data.suits());
    const auto whole = data.template results<Result>(in, out, run, {});
    same(whole, data);
    for (const auto& cuts : some_cuts(static_cast<Index>(whole.size())))
      ASSERT_EQ(data.template results<Result>(in, out, run, cuts), whole);
  }
}

template <class T>
void expect_sums(DType type) {
  each_shape<T, float>(type, DType::f32, small_whole, simd::fold_rows<Sum, float>,
                       [](const auto& results, const auto& data) {
                         for (std::size_t o = 0; o < results.size(); ++o) {
                           float sum = 0;
                           for (std::size_t k = 0; k < data.elements_at.size(); ++k) sum += data.at(o, k);
                           ASSERT_EQ(results[o], sum) << o;
                         }
                       });
}

TEST(runs_as_columns, sums) {
  expect_sums<float>(DType::f32);
  expect_sums<simd::Half>(DType::f16);
}

TEST(runs_as_columns, extrema_with_a_nan) {
  const auto value = [](std::size_t i) { return i == 777 ? std::numeric_limits<double>::quiet_NaN() : small_whole(i); };
  each_shape<float, double>(
      DType::f32, DType::f64, [](std::size_t i) { return small_whole(i); }, simd::fold_rows<Max, float>,
      [](const auto& results, const auto& data) {
        for (std::size_t o = 0; o < results.size(); ++o) {
          float most = data.at(o, 0);
          for (std::size_t k = 1; k < data.elements_at.size(); ++k) most = std::max(most, data.at(o, k));
          ASSERT_EQ(results[o], most) << o;
        }
      });
  const Folded<float> data(kShapes[0], value);
  const auto results = data.results<float>(DType::f32, DType::f32, simd::fold_rows<Max, float>, {});
  EXPECT_EQ(std::count_if(results.begin(), results.end(), [](float x) { return x != x; }), 1);
}

TEST(runs_as_columns, the_lowest_index_of_many_ties) {
  each_shape<float, Index>(
      DType::f32, DType::i64, [](std::size_t i) { return static_cast<double>(hash(i) % 3); },
      simd::fold_rows<ArgMax, float>,
      [](const auto& results, const auto& data) {
        for (std::size_t o = 0; o < results.size(); ++o) {
          std::size_t best = 0;
          for (std::size_t k = 1; k < data.elements_at.size(); ++k)
            if (data.at(o, k) > data.at(o, best)) best = k;
          ASSERT_EQ(results[o], static_cast<Index>(best)) << o;
        }
      });
}

TEST(runs_as_columns, variances_and_logarithms) {
  const auto value = [](std::size_t i) { return 100 + small_whole(i) / 8; };
  each_shape<float, float>(DType::f32, DType::f32, value, simd::fold_rows<Variance, float>,
                           [](const auto& results, const auto& data) {
                             const auto n = static_cast<double>(data.elements_at.size());
                             for (std::size_t o = 0; o < results.size(); ++o) {
                               double sum = 0, squares = 0;
                               for (std::size_t k = 0; k < data.elements_at.size(); ++k) sum += data.at(o, k);
                               for (std::size_t k = 0; k < data.elements_at.size(); ++k)
                                 squares += std::pow(data.at(o, k) - sum / n, 2);
                               ASSERT_NEAR(results[o], squares / n, 1e-5) << o;
                             }
                           });
  const auto expect_logarithms = [](const auto& results, const auto& data) {
    for (std::size_t o = 0; o < results.size(); ++o) {
      double sum = 0;
      for (std::size_t k = 0; k < data.elements_at.size(); ++k) sum += std::exp(data.at(o, k) - 100.0);
      ASSERT_NEAR(results[o], 100 + std::log(sum), 2e-5) << o;
    }
  };
  each_shape<float, float>(DType::f32, DType::f32, value, simd::fold_rows<LogSumExp, float>, expect_logarithms);
  const auto in_tiles = [](const cpu::Arguments& step, Index first, Index last) {
    const bool fit = simd::RunsAsColumns::suits(step, simd::kTileColumns<float>);
    fit ? simd::fold_runs_as_tiles<LogSumExp, float>(step, first, last)
        : simd::fold_rows<LogSumExp, float>(step, first, last);
  };
  each_shape<float, float>(DType::f32, DType::f32, value, in_tiles, expect_logarithms);
}

TEST(runs_as_columns, where_bundles_would_have_one_line_each) {
  const auto suits = [](const Shape& shape, Index most = 512) {
    const auto kept = shape.axes(0), reduced = shape.axes(1);
    return simd::RunsAsColumns::suits({.kept = list(kept), .reduced = list(reduced)}, most);
  };
  EXPECT_TRUE(suits({{3, 5, 4, 32, 16, 4}}));
  EXPECT_FALSE(suits({{3, 5, 4, 32, 16, 4}}, 63)) << "more columns than there may be";
  EXPECT_FALSE(suits({{1, 1, 4, 31, 16, 4}})) << "few rows";
  EXPECT_FALSE(suits({{1, 1, 4, 64, 4, 64}})) << "long runs";
  EXPECT_FALSE(suits({{1, 1, 4, 64, 3, 4}})) << "few columns";
  EXPECT_FALSE(suits({{1, 64, 3, 1, 4, 16}})) << "lines beside each other: a bundle has them all";
}

}  // namespace
}  // namespace ndfold::test
