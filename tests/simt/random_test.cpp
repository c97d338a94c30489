// Requests of random shapes, layouts, types and devices, by every strategy that can take them: what nobody thought of.
#include "tests/simt/forced.h"

#include <algorithm>
#include <random>

namespace simt {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::u8, DType::i32};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::mean,   ReduceOp::min,
                             ReduceOp::var, ReduceOp::argmax, ReduceOp::logsumexp};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  Index below(Index limit) { return static_cast<Index>(random_() % static_cast<std::uint64_t>(limit)); }
  template <class T, std::size_t kCount>
  T one_of(const T (&list)[kCount]) {
    return list[below(Index{kCount})];
  }

  /// Some long axes, more short ones, and two thousand elements at most.
  Sizes sizes() {
    constexpr Index kLargest[] = {9, 60, 4000};
    Index left = Index{1} << (6 + below(6));
    Sizes list;
    for (Index rank = 1 + below(5); rank > 0; --rank) {
      list.push_back(1 + below(std::min(left, one_of(kLargest))));
      left = std::max<Index>(1, left / list.back());
    }
    std::shuffle(list.begin(), list.end(), random_);
    return list;
  }

  AxisSet axes(std::size_t rank) {
    std::vector<int> list;
    for (int axis = 0; axis < static_cast<int>(rank); ++axis)
      if (below(2) == 1) list.push_back(axis);
    return AxisSet(list);
  }

 private:
  std::mt19937_64 random_;
};

// By each of them or by none: a type for which the tests have no kernels is passed over.
void run_by_each(const AnyRequest& request, Array& in, Array& out, const DeviceFacts& device, std::uint64_t seed,
                 Tally& tally) {
  for (const std::string strategy : kGpuStrategies) {
    const Judged run = simulate(request, in, out, {.device = device, .strategy = strategy}, {.seed = seed});
    if (run.refused || run.missing) continue;
    EXPECT_EQ(run.failure, "") << strategy << ", seed " << seed;
    ++tally.strategies[run.strategy];
  }
}

void run_seed(std::uint64_t seed, Tally& tally) {
  Draw draw(seed);
  const DeviceFacts devices[] = {small(DeviceFacts::h200(), 3), small(DeviceFacts::a100(), 2), without_cache(2),
                                 tight(2)};
  const Sizes sizes = draw.sizes();
  const AxisSet axes = draw.axes(sizes.size());
  const DType type = draw.one_of(kTypes);
  Array in(lay_out(type, sizes, draw.one_of(kLayouts), seed), draw.below(9));
  const DeviceFacts device = draw.one_of(devices);
  const Index shift = draw.below(5);
  if (is_floating(type) && draw.below(4) == 0) {
    Array out(lay_out(type, sizes, Layout::row_major), shift);
    fill(in, Values::mixed, seed);
    return run_by_each(SoftmaxSpec{.axes = axes}, in, out, device, seed, tally);
  }
  const ReduceOp op = draw.one_of(kOps);
  Array out(dense(default_output(op, type), output_sizes(sizes, axes)), shift);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed, seed);
  run_by_each(ReduceSpec{.op = op, .axes = axes}, in, out, device, seed, tally);
}

// One request in a hundred has wide columns, which nearest_first_test.cpp looks for.
TEST(random, requests_by_every_strategy) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) run_seed(seed, tally);
  for (const std::string strategy : kFoldingStrategies)
    EXPECT_TRUE(tally.strategies.contains(strategy) || strategy == "wide_columns") << strategy;
}

}  // namespace
}  // namespace simt
