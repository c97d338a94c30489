// Whatever a plan for the host may ask for is in the catalog of every instruction set, and its states have the size
// that plans reckon with.
#include "lib/exec/cpu/levels.h"
#include "plans/typing.h"
#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <set>

namespace ndfold::test {
namespace {

constexpr DType kElements[] = {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8,  DType::i16,    DType::i32,
                               DType::i64, DType::u8,   DType::u16, DType::u32, DType::u64, DType::boolean};
constexpr const char* kHostStrategies[] = {"rows_in_block", "columns_in_block",  "split",
                                           "softmax_chain", "permute_then_rows", "copy"};

struct Ask {
  FoldKind fold;
  DType input, accumulate;
};

// Every op × type × accumulator × compensated that plans/typing allows.
std::vector<Ask> all_asks() {
  std::vector<Ask> asks;
  for (int op = 0; op < kReduceOpCount; ++op)
    for (const DType input : kElements) {
      if (default_output(static_cast<ReduceOp>(op), input) == DType::best) continue;
      for (int wanted = 0; wanted < kDTypeCount; ++wanted)
        for (const bool compensated : {false, true}) {
          const FoldKind fold = fold_of(static_cast<ReduceOp>(op), compensated);
          const auto accumulate = accumulate_type(static_cast<ReduceOp>(op), input, static_cast<DType>(wanted));
          if (!accumulate || fold == FoldKind::none) continue;
          if (compensated && !is_floating(*accumulate)) continue;  // refused, as the next test sees
          asks.push_back({fold, input, *accumulate});
        }
    }
  for (const DType input : {DType::f16, DType::bf16, DType::f32, DType::f64})
    asks.push_back({FoldKind::softmax, input, floating_accumulator(input)});
  return asks;
}

class catalog : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (!level().is_here()) GTEST_SKIP() << "this machine has no " << level().name;
  }
  static const cpu::Level& level() { return cpu::levels()[GetParam()]; }
  static cpu::Kernel find_kernel(const KernelKey& key, const cpu::Arguments& step) {
    return level().catalog().find_kernel(key, step);
  }
  static Index state_size(FoldKind fold, DType accumulate) { return level().catalog().state_size(fold, accumulate); }
  static void expect_steps_in_catalog(const Result<ReducePlan>& plan, std::set<std::string>& seen);
};

INSTANTIATE_TEST_SUITE_P(levels, catalog, ::testing::Range(std::size_t{0}, cpu::levels().size()),
                         [](const auto& one) { return std::string(cpu::levels()[one.param].name); });

KernelKey key_of(FoldKind fold, DType accumulate) {
  KernelKey key;
  key.fold = fold, key.accumulate = accumulate;
  return key;
}

TEST_P(catalog, has_every_fold_that_plans_ask_for) {
  const std::vector<Axis> axes = {{.size = 5, .in = 1, .out = 1}};
  const cpu::AxisList list = {axes.data(), 1};
  cpu::Arguments step{.kept = list, .reduced = list};
  step.panel = 4;
  const auto asks = all_asks();
  EXPECT_GT(asks.size(), 250u);
  for (const auto& [fold, input, accumulate] : asks) {
    SCOPED_TRACE(std::string(name(fold)) + " of " + std::string(name(input)) + " in " + std::string(name(accumulate)));
    KernelKey key = key_of(fold, accumulate);
    key.input = input;
    EXPECT_NE(find_kernel(key, step).run, nullptr) << "rows";
    EXPECT_EQ(find_kernel(key, step).blocks, 5);
    key.source = SourceKind::states;
    EXPECT_NE(find_kernel(key, step).run, nullptr) << "states";
    key.source = SourceKind::dense, key.body = Body::columns;
    EXPECT_NE(find_kernel(key, step).run, nullptr) << "columns";
    EXPECT_EQ(find_kernel(key, step).blocks, 2);
    EXPECT_EQ(state_size(fold, accumulate), state_bytes(fold, accumulate));
    EXPECT_GT(state_size(fold, accumulate), 0);
  }
}

std::string label(const Step& step) {
  return std::string(name(step.kernel.body)) + " " + std::string(name(step.kernel.fold)) + " of " +
         std::string(name(step.kernel.input)) + " in " + std::string(name(step.kernel.accumulate));
}

// The steps of real plans, by every strategy of the host.
void catalog::expect_steps_in_catalog(const Result<ReducePlan>& plan, std::set<std::string>& seen) {
  if (!plan) return;
  for (const Step& step : plan->steps()) {
    cpu::Arguments arguments{.kept = {step.kept.data(), static_cast<int>(step.kept.size())},
                             .reduced = {step.reduced.data(), static_cast<int>(step.reduced.size())}};
    arguments.part = step.part, arguments.parts = step.parts, arguments.panel = 16;
    const cpu::Kernel kernel = find_kernel(step.kernel, arguments);
    EXPECT_NE(kernel.run, nullptr) << label(step);
    EXPECT_GT(kernel.blocks, 0) << label(step);
    seen.insert(label(step));
  }
}

TEST_P(catalog, has_every_kernel_of_every_plan) {
  const Sizes shape = {6, 40, 70};
  std::set<std::string> seen;
  for (const std::string strategy : kHostStrategies)
    for (const auto& axes : all_axis_sets(3))
      for (const DType input : kElements) {
        const PlanOptions options{.device = DeviceFacts::host(), .strategy = strategy, .block_limit = 16};
        for (int op = 0; op < kReduceOpCount; ++op) {
          const auto reduce = static_cast<ReduceOp>(op);
          const ViewDesc out = dense(default_output(reduce, input), output_sizes(shape, axes));
          for (const bool compensated : {false, true})
            expect_steps_in_catalog(
                ReducePlan::reduce(dense(input, shape), out, {.op = reduce, .axes = axes, .compensated = compensated},
                                   options),
                seen);
        }
        for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
          expect_steps_in_catalog(
              ReducePlan::softmax(dense(input, shape), dense(input, shape), {.axes = axes, .kind = kind}, options),
              seen);
      }
  EXPECT_GT(seen.size(), 300u);
}

TEST_P(catalog, lacks_what_no_plan_asks_for) {
  const cpu::Arguments step{.kept = {}, .reduced = {}};
  EXPECT_EQ(find_kernel(key_of(FoldKind::none, DType::f32), step).run, nullptr);
  EXPECT_EQ(find_kernel(key_of(FoldKind::sum, DType::f16), step).run, nullptr);
  EXPECT_EQ(find_kernel(key_of(FoldKind::logsumexp, DType::i64), step).run, nullptr);
  KernelKey unknown = key_of(FoldKind::sum, DType::f32);
  unknown.body = static_cast<Body>(99);
  EXPECT_EQ(find_kernel(unknown, step).run, nullptr);
  EXPECT_EQ(state_size(FoldKind::none, DType::f32), 0);
  EXPECT_EQ(state_size(FoldKind::var, DType::i32), 0);
}

TEST_P(catalog, brings_together_what_lies_in_the_way_of_lanes) {
  const auto is_brought_together = [](Index line, Index rows, const KernelKey& key, DType type) {
    const std::vector<Axis> kept = {{.size = 500, .in = rows * line, .out = line}, {.size = line, .in = 1, .out = 1}};
    const std::vector<Axis> reduced = {{.size = rows, .in = line, .out = 1}};
    cpu::Arguments step{.kept = {kept.data(), 2}, .reduced = {reduced.data(), 1}};
    step.input = step.output = type, step.panel = 1024, step.part = rows;
    return find_kernel(key, step).of_tiles != nullptr;
  };
  KernelKey key = key_of(FoldKind::logsumexp, DType::f32);
  key.body = Body::columns;
  EXPECT_TRUE(is_brought_together(3, 7, key, DType::f32));
  EXPECT_FALSE(is_brought_together(100, 7, key, DType::f32)) << "lanes have a line to themselves";
  EXPECT_FALSE(is_brought_together(3, 5000, key, DType::f32)) << "as many rows fit no tile";
  key.source = SourceKind::states;
  EXPECT_FALSE(is_brought_together(3, 7, key, DType::f32));
  key = key_of(FoldKind::max, DType::u8), key.body = Body::columns;
  EXPECT_TRUE(is_brought_together(40, 7, key, DType::u8));
}

}  // namespace
}  // namespace ndfold::test
