// Requests of random shapes, layouts, types and devices, by every strategy that can take them: what nobody thought of.
#include "tests/simt/forced.h"
#include "tests/support/generators.h"

namespace simt {
namespace {

template <class T>
T drawn(const rc::Gen<T>& from, rc::Random& random) {
  return from(random.split(), rc::kNominalSize).value();
}

Index below(Index limit, rc::Random& random) {
  return static_cast<Index>(random.split().next() % static_cast<std::uint64_t>(limit));
}

template <class T, std::size_t kCount>
T one_of(const T (&list)[kCount], rc::Random& random) {
  return list[below(Index{kCount}, random)];
}

// A type for which the tests' tables have no kernels is passed over.
void run_by_each(const AnyRequest& request, Array& in, Array& out, const DeviceFacts& device, Tally& tally) {
  for (const std::string strategy : kGpuStrategies) {
    SCOPED_TRACE(strategy);
    const Judged run = simulate(request, in, out, {.device = device, .strategy = strategy});
    if (!run.refused && !run.missing) count(run, tally);
  }
}

void run_seed(std::uint64_t seed, Tally& tally) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::u8, DType::i32};
  constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::mean,   ReduceOp::min,
                               ReduceOp::var, ReduceOp::argmax, ReduceOp::logsumexp};
  const DeviceFacts devices[] = {small(DeviceFacts::h200(), 3), small(DeviceFacts::a100(), 2), without_cache(2),
                                 tight(2)};
  rc::Random random(seed);
  const DType type = one_of(kTypes, random);
  const Sample sample = drawn(any_sample(type, 5), random);
  SCOPED_TRACE(::testing::Message() << sample);
  const AxisSet axes(sample.axes);
  const DeviceFacts device = one_of(devices, random);
  Array in(sample.view, below(9, random));
  const Index shift = below(5, random);
  if (is_floating(type) && below(4, random) == 0) {
    Array out(dense(type, sample.view.sizes), shift);
    fill(in, Values::mixed, sample.seed);
    return run_by_each(SoftmaxSpec{.axes = axes}, in, out, device, tally);
  }
  const ReduceOp op = one_of(kOps, random);
  SCOPED_TRACE(std::string(name(op)));
  Array out(dense(default_output(op, type), output_sizes(sample.view.sizes, axes)), shift);
  fill(in, op == ReduceOp::argmax ? Values::ties : Values::mixed, sample.seed);
  run_by_each(ReduceSpec{.op = op, .axes = axes}, in, out, device, tally);
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
