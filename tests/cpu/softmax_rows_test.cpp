// Softmax and logsumexp of dense rows of any length: right, within their rows, and the same bits wherever they are put,
// past the caches or not, in whatever groups of blocks.
#include "kernels/cpu/softmax_rows.h"

#include "kernels/cpu/softmax_runs.h"
#include "tests/cpu/walks.h"
#include "tests/support/bounds.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using simd::elements_at;

struct Shape {
  Index rows, outer, run;  // a row is `outer` runs
  Index gap = 0;           // elements between runs
  Index n() const { return outer * run; }
};

// Bytes with a margin before and after that nobody may touch.
class Field {
  static constexpr std::size_t kMargin = 256;

 public:
  Field(std::size_t bytes, std::size_t skew) : bytes_(bytes + 2 * kMargin + skew + 64, std::byte{0xA5}) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kMargin;
    begin_ = bytes_.data() + kMargin + (64 - address % 64) % 64 + skew;
    end_ = begin_ + bytes;
  }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  std::byte* data() { return begin_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  bool margins_are_untouched() const {
    const auto is_mark = [](std::byte b) { return b == std::byte{0xA5}; };
    return std::all_of(bytes_.data(), static_cast<const std::byte*>(begin_), is_mark) &&
           std::all_of(static_cast<const std::byte*>(end_), bytes_.data() + bytes_.size(), is_mark);
  }

 private:
  std::vector<std::byte> bytes_;
  std::byte *begin_, *end_;
};

Index width(DType type) { return static_cast<Index>(size_bytes(type)); }

// A problem and its data; strides count the gaps.
struct Problem {
  Shape shape;
  DType type;
  SoftmaxSpec spec;
  std::vector<Axis> kept, reduced;
  Field in;

  Problem(Shape s, DType t, SoftmaxSpec with, Values values = Values::mixed, std::size_t skew = 0)
      : shape(s), type(t), spec(with), in(static_cast<std::size_t>(s.rows * row_stride() * width(t)), skew) {
    if (s.rows > 1) kept = {{.size = s.rows, .in = row_stride(), .out = row_stride()}};
    if (s.outer > 1) reduced.push_back({.size = s.outer, .in = s.run + s.gap, .out = s.run + s.gap});
    reduced.push_back({.size = s.run, .in = 1, .out = 1});
    for (Index i = 0; i < s.rows * row_stride(); ++i)
      store(type, in.data() + i * width(type), floating_value(values, type, i, 7));
  }

  Index row_stride() const { return shape.outer * (shape.run + shape.gap); }
  Index offset(Index row, Index i) const {
    return row * row_stride() + i / shape.run * (shape.run + shape.gap) + i % shape.run;
  }
  void put(Index row, Index i, Real value) { store(type, in.data() + offset(row, i) * width(type), value); }
  Row row(Index r) {
    Row values;
    for (Index i = 0; i < shape.n(); ++i) values.push_back(load(type, in.data() + offset(r, i) * width(type)));
    return values;
  }

  cpu::Arguments arguments(std::byte* out, bool past_caches) {
    cpu::Arguments step{.in = in.data(), .out = out, .kept = list(kept), .reduced = list(reduced)};
    step.input = step.output = type;
    step.sink = spec.kind == SoftmaxKind::softmax ? SinkKind::softmax : SinkKind::log_softmax;
    step.part = shape.n();
    step.count = shape.n();
    step.scale = spec.scale;
    step.alpha = spec.alpha;
    step.past_caches = past_caches;
    return step;
  }

  void run(const cpu::Arguments& step, Index blocks_at_a_time) const {
    const auto kernel = type == DType::f64 ? simd::softmax_rows<double> : simd::softmax_rows<float>;
    for (Index first = 0; first < shape.rows; first += blocks_at_a_time)
      kernel(step, first, std::min(shape.rows, first + blocks_at_a_time));
  }
};

void expect_right(Problem& problem, const std::byte* out) {
  const Precision precision = precision_of(problem.type, DType::best, problem.type);
  for (Index r = 0; r < problem.shape.rows; ++r) {
    const Row row = problem.row(r);
    const Row exact = softmax_of(problem.spec, row);
    const SoftmaxFacts facts = softmax_facts(problem.spec, precision, row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Real got = load(problem.type, out + problem.offset(r, static_cast<Index>(i)) * width(problem.type));
      if (std::isnan(exact[i])) {
        ASSERT_TRUE(std::isnan(got)) << "row " << r << " element " << i;
      } else if (got != exact[i]) {
        const Real bound = softmax_bound(problem.spec, precision, facts, row[i], exact[i]);
        ASSERT_LE(std::fabs(got - exact[i]), bound) << "row " << r << " element " << i;
      }
    }
  }
}

// Right once; then the same bits from anywhere, past the caches, block by block and in place.
void expect_right_and_steady(Problem& problem) {
  const std::size_t bytes = problem.in.size();
  Field plain(bytes, 0);
  problem.run(problem.arguments(plain.data(), false), problem.shape.rows);
  EXPECT_TRUE(plain.margins_are_untouched());
  expect_right(problem, plain.data());
  const auto element = size_bytes(problem.type);
  for (const std::size_t skew : {std::size_t{0}, element, 7 * element, 15 * element})
    for (const Index at_a_time : {problem.shape.rows, Index{3}}) {
      Field streamed(bytes, skew);
      problem.run(problem.arguments(streamed.data(), true), at_a_time);
      EXPECT_TRUE(streamed.margins_are_untouched()) << "skew " << skew;
      EXPECT_TRUE(std::equal(plain.data(), plain.data() + bytes, streamed.data())) << "skew " << skew;
    }
  for (const bool past_caches : {false, true}) {
    Field copy(bytes, element);
    std::copy_n(problem.in.data(), bytes, copy.data());
    auto step = problem.arguments(copy.data(), past_caches);
    step.in = copy.data();
    problem.run(step, problem.shape.rows);
    EXPECT_TRUE(std::equal(plain.data(), plain.data() + bytes, copy.data()) || problem.shape.gap > 0) << "in place";
  }
}

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64};
constexpr SoftmaxKind kKinds[] = {SoftmaxKind::softmax, SoftmaxKind::log_softmax};

void expect_all(Shape shape) {
  for (const DType type : kTypes)
    for (const SoftmaxKind kind : kKinds) {
      SCOPED_TRACE(::testing::Message() << shape.rows << " rows of " << shape.outer << "x" << shape.run << " "
                                        << name(type) << (kind == SoftmaxKind::softmax ? "" : ", log"));
      Problem problem(shape, type, {.kind = kind});
      expect_right_and_steady(problem);
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(softmax_rows, of_every_short_length) {
  for (Index n = 1; n <= 70; ++n) expect_all({.rows = 19, .outer = 1, .run = n});
  for (const Index n : {95, 100, 127, 128, 129, 200, 239, 255, 256, 257, 300, 511, 512, 513})
    expect_all({.rows = 18, .outer = 1, .run = n});
}

TEST(softmax_rows, of_long_lengths) {
  for (const Index n : {1000, 1023, 1024, 1025, 1087, 1089, 4095, 4096, 4113})
    expect_all({.rows = 4, .outer = 1, .run = n});
}

TEST(softmax_rows, that_fill_the_cache_and_more) {
  for (const Index n : {50257, 65536, 65537, 70001}) {
    Problem problem({.rows = 2, .outer = 1, .run = n}, DType::f32, {});
    expect_right_and_steady(problem);
  }
  for (const DType type : kTypes) {
    Problem problem({.rows = 2, .outer = 1, .run = 66001}, type, {.kind = SoftmaxKind::log_softmax});
    expect_right_and_steady(problem);
  }
}

TEST(softmax_rows, of_several_runs) {
  for (const Index run : {32, 33, 64, 100, 1024, 1500})
    for (const Index gap : {0, 5}) expect_all({.rows = 3, .outer = 7, .run = run, .gap = gap});
  expect_all({.rows = 2, .outer = 300, .run = 40, .gap = 3});
  Problem problem({.rows = 2, .outer = 70, .run = 1000, .gap = 24}, DType::f32, {});
  expect_right_and_steady(problem);
}

TEST(softmax_rows, scaled_and_weighted) {
  for (const Index n : {5, 64, 300, 5000, 70000})
    for (const double scale : {0.125, 3.0, 0.0, -1.0})
      for (const SoftmaxKind kind : kKinds) {
        SCOPED_TRACE(::testing::Message() << n << " scale " << scale);
        Problem problem({.rows = 3, .outer = 1, .run = n}, DType::f32, {.kind = kind, .scale = scale, .alpha = 2.5});
        expect_right_and_steady(problem);
      }
}

// NaN, infinities and masks: each row has its own, and its neighbours must not see it.
TEST(softmax_rows, with_special_values) {
  for (const Index n : {1, 3, 16, 40, 64, 130, 257, 1030, 5000, 66000})
    for (const DType type : {DType::f32, DType::bf16})
      for (const SoftmaxKind kind : kKinds) {
        SCOPED_TRACE(::testing::Message() << n << " " << name(type));
        Problem problem({.rows = 8, .outer = 1, .run = n}, type, {.kind = kind});
        problem.put(1, n / 2, kNaN);
        problem.put(2, n - 1, kInfinity);
        for (Index i = 0; i < n; ++i) problem.put(3, i, -kInfinity);
        for (Index i = 0; i + 1 < n; ++i) problem.put(4, i, -kInfinity);
        problem.put(5, 0, -kInfinity);
        problem.put(6, 0, -kNaN);
        problem.put(6, n - 1, kInfinity);
        expect_right_and_steady(problem);
      }
}

// As the catalog does: dense rows the fast way, others (16-bit floats without lanes) through the walk.
void fold(const cpu::Arguments& step, Index blocks) {
  const bool is_dense =
      simd::visit_dense<float>(step, [&]<class T>(T) { simd::fold_dense<simd::LogSumExp, T>(step, 0, blocks); });
  if (!is_dense) simd::fold_rows<simd::LogSumExp, float>(step, 0, blocks);
}

std::vector<float> logsumexp_from(Problem& problem, Index parts) {
  const auto rows = static_cast<std::size_t>(problem.shape.rows);
  std::vector<float> results(rows, -1.f);
  auto step = problem.arguments(reinterpret_cast<std::byte*>(results.data()), false);
  std::vector<Axis> kept = problem.kept;
  for (Axis& axis : kept) axis.out = 1;
  step.kept = list(kept);
  step.output = DType::f32;
  step.sink = SinkKind::store;
  if (parts == 1) {
    fold(step, problem.shape.rows);
    return results;
  }
  std::vector<simd::MaxAndSum<float>> states(rows * static_cast<std::size_t>(parts));
  step.out = reinterpret_cast<std::byte*>(states.data());
  step.sink = SinkKind::store_state;
  step.part = (problem.shape.n() + parts - 1) / parts;
  step.parts = parts;
  fold(step, problem.shape.rows * parts);
  const simd::LogSumExp<float> merge;
  for (std::size_t r = 0; r < rows; ++r) {
    auto total = merge.identity();
    for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
      total = merge.combine(total, states[r * static_cast<std::size_t>(parts) + p]);
    results[r] = merge.finalize(total, 0);
  }
  return results;
}

TEST(softmax_rows, logsumexp_of_every_length_and_value) {
  for (const Index n : {1, 2, 15, 16, 17, 63, 64, 100, 255, 256, 300, 1000, 1024, 1025, 4096, 4097, 9000, 70000})
    for (const Index outer : {1, 3})
      for (const Index parts : {1, 5}) {
        if ((outer > 1 && n < 32) || (parts > 1 && n < 100)) continue;
        SCOPED_TRACE(::testing::Message() << outer << "x" << n << " in " << parts << " parts");
        Problem problem({.rows = 21, .outer = outer, .run = n, .gap = 2}, n % 2 == 0 ? DType::f32 : DType::bf16, {});
        problem.put(1, n / 2, kNaN);
        problem.put(2, n - 1, kInfinity);
        for (Index i = 0; i < outer * n; ++i) problem.put(3, i, -kInfinity);
        problem.put(4, 0, -kInfinity);
        problem.put(5, 0, kNaN);
        problem.put(5, n - 1, kInfinity);
        const Precision precision = precision_of(problem.type, DType::best, DType::f32);
        const auto results = logsumexp_from(problem, parts);
        for (Index r = 0; r < problem.shape.rows; ++r) {
          const Row row = problem.row(r);
          const Real exact = logsumexp_of(row), got = results[static_cast<std::size_t>(r)];
          if (std::isnan(exact)) {
            EXPECT_TRUE(std::isnan(got)) << "row " << r;
          } else if (got != exact) {
            EXPECT_LE(std::fabs(got - exact), reduce_bound({.op = ReduceOp::logsumexp}, precision, row, exact))
                << "row " << r;
          }
        }
      }
}

// Broadcast rows: what was fetched for the next row is the row itself.
TEST(softmax_rows, logsumexp_of_one_row_many_times) {
  for (const Index n : {17, 1500, 4096, 9000}) {
    Problem problem({.rows = 5, .outer = 1, .run = n}, DType::f32, {});
    const float first = logsumexp_from(problem, 1).front();
    problem.kept[0].in = 0;
    for (const float got : logsumexp_from(problem, 1)) EXPECT_EQ(got, first) << n;
  }
}

}  // namespace
}  // namespace ndfold::test
