// The executor: blocks may be cut into tasks anywhere, an unknown kernel is a defect that says so, and the
// floating-point environment stays the caller's.
#include "lib/exec/cpu/executor.h"

#include "lib/api/plan_state.h"
#include "lib/exec/cpu/levels.h"
#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <random>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace ndfold::test {
namespace {

/// Workers that run tasks backwards, on the caller: any order must do.
class Backwards final : public Workers {
 public:
  explicit Backwards(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  void run(Index tasks, Task task, void* context) override {
    most_tasks = std::max(most_tasks, tasks);
    for (Index i = tasks; i-- > 0;) task(context, i);
  }
  Index most_tasks = 0;

 private:
  int threads_;
};

struct Case {
  AnyRequest request;
  ViewDesc in, out;
  std::string strategy;
};

std::vector<Case> all_cases() {
  const ViewDesc cube = dense(DType::f32, {61, 83, 47}), halves = dense(DType::f16, {61, 83, 47});
  const ViewDesc turned = {.dtype = DType::f32, .sizes = {61, 83, 47}, .strides = {1, 61, 61 * 83}};
  std::vector<Case> cases;
  for (const char* strategy : {"rows_in_block", "columns_in_block", "split", "softmax_chain", "permute_then_rows"})
    for (const ViewDesc& in : {cube, halves, turned})
      for (const AxisSet& axes : {AxisSet{2}, AxisSet{0}, AxisSet{0, 2}, AxisSet::all()}) {
        const Sizes left = output_sizes(in.sizes, axes);
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmin, ReduceOp::var, ReduceOp::logsumexp})
          cases.push_back(
              {ReduceSpec{.op = op, .axes = axes}, in, dense(default_output(op, in.dtype), left), strategy});
        cases.push_back({SoftmaxSpec{.axes = axes}, in, in, strategy});
        cases.push_back({SoftmaxSpec{.axes = axes, .kind = SoftmaxKind::log_softmax}, in, in, strategy});
      }
  cases.push_back({Order{{2, 0, 1}}, cube, dense(DType::f32, {47, 61, 83}), ""});
  return cases;
}

std::string text(const Case& item) {
  std::string words = item.strategy + " of " + ::testing::PrintToString(item.in.strides);
  return words + (std::holds_alternative<ReduceSpec>(item.request) ? " reduce" : " softmax");
}

/// The case's input, made anew only where the one of the case before will not do.
const Array& input_of(const Case& item, Array& kept) {
  if (kept.desc() == item.in) return kept;
  kept = Array(item.in);
  fill(kept, Values::mixed);
  return kept;
}

Array run_with(const ReducePlan& plan, const Case& item, const Array& in, Workers& workers) {
  Array out(item.out);
  Scratch scratch(plan.workspace_bytes());
  const Status status = plan.run(in.data(), out.data(), scratch.get(), {.handle = nullptr, .workers = &workers});
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST(executor, results_do_not_depend_on_the_cuts) {
  int compared = 0;
  Index most_tasks = 0;
  Array kept(dense(DType::f32, {}));
  for (const Case& item : all_cases()) {
    SCOPED_TRACE(text(item));
    const auto plan =
        plan_for(item.request, item.in, item.out, {.device = DeviceFacts::host(), .strategy = item.strategy});
    if (!plan) continue;
    const Array& in = input_of(item, kept);
    Backwards one(1);
    const Array expected = run_with(*plan, item, in, one);
    for (const int threads : {2, 3, 7, 64}) {
      Backwards workers(threads);
      ASSERT_TRUE(run_with(*plan, item, in, workers) == expected) << threads << " threads";
      most_tasks = std::max(most_tasks, workers.most_tasks);
    }
    ++compared;
  }
  EXPECT_GT(compared, 150);
  EXPECT_GT(most_tasks, 8) << "nothing was ever shared";
}

// Threads read in long stretches where there are enough of them: bundles of runs that lie beside each other, and whole
// rows of panels.
// Runs that share lanes of f32 at the level that runs here.
Index runs_in_lanes() { return cpu_level() == "avx512" ? 16 : cpu_level() == "avx2" ? 8 : 4; }

TEST(executor, tasks_are_long_stretches_of_memory) {
  struct Shared {
    Sizes sizes;
    AxisSet axes;
    int threads;
    Index tasks;
  };
  const Shared all[] = {
      {{16, 256, 512}, {0, 2}, 2, 4},  // 64 runs of 2 KiB
      {{16, 256, 512}, {0, 2}, 4, 8},  // 32: two tasks a thread come first
      {{16, 256, 512}, {0, 2}, 64, 256 / runs_in_lanes()},
      {{16, 16, 16, 512}, {1, 3}, 2, 16},  // one line of runs at a time: 16
      {{4096, 512}, {1}, 2, 16},           // one stretch however it is cut
      {{1024, 8192}, {0}, 2, 8},           // 4 parts of 8 panels: 4 of them are a strip
      {{256, 4096}, {0}, 2, 4},            // 4 parts of 4 panels
  };
  for (const Shared& one : all) {
    const ViewDesc in = dense(DType::f32, one.sizes), out = dense(DType::f32, output_sizes(one.sizes, one.axes));
    SCOPED_TRACE(::testing::PrintToString(one.sizes) + " on " + std::to_string(one.threads));
    const Case item{ReduceSpec{.op = ReduceOp::max, .axes = one.axes}, in, out, ""};
    const auto plan = plan_for(item.request, in, out, {.device = DeviceFacts::host()});
    ASSERT_TRUE(plan);
    Array values(in);
    fill(values, Values::mixed);
    Backwards alone(1), workers(one.threads);
    EXPECT_TRUE(run_with(*plan, item, values, workers) == run_with(*plan, item, values, alone));
    EXPECT_EQ(workers.most_tasks, one.tasks);
  }
}

// Beneath the executor: each kernel over [0, n) at once, and over random cuts in random order.
TEST(executor, kernels_run_any_blocks_in_any_order) {
  int steps = 0;
  std::mt19937_64 random(7);
  Array kept(dense(DType::f32, {}));
  for (const Case& item : all_cases()) {
    SCOPED_TRACE(text(item));
    const auto plan =
        plan_for(item.request, item.in, item.out, {.device = DeviceFacts::host(), .strategy = item.strategy});
    if (!plan || plan->steps().size() != 1) continue;  // a lone step reads the input and writes the output
    const Step& step = plan->steps()[0];
    const Array& in = input_of(item, kept);
    const auto run = [&](bool cut, Index panel) {
      Array out(item.out);
      cpu::Arguments bound{.kept = {step.kept.data(), static_cast<int>(step.kept.size())},
                           .reduced = {step.reduced.data(), static_cast<int>(step.reduced.size())}};
      bound.in =
          static_cast<const std::byte*>(in.data()) + step.in_offset * static_cast<Index>(size_bytes(step.kernel.input));
      bound.out =
          static_cast<std::byte*>(out.data()) + step.out_offset * static_cast<Index>(size_bytes(step.kernel.output));
      bound.map = step.kernel.map, bound.input = step.kernel.input;
      bound.output = step.kernel.output, bound.sink = step.kernel.sink;
      bound.residency = step.kernel.residency, bound.part = step.part, bound.parts = step.parts, bound.panel = panel;
      bound.repeat = step.repeat, bound.count = step.count, bound.scale = step.scale, bound.alpha = step.alpha;
      const cpu::Kernel kernel = cpu::chosen_level()->catalog().find_kernel(step.kernel, bound);
      std::vector<std::pair<Index, Index>> cuts;
      for (Index first = 0; first < kernel.blocks;) {
        const Index length =
            cut ? 1 + static_cast<Index>(random() % static_cast<std::uint64_t>(kernel.blocks / 3 + 1)) : kernel.blocks;
        cuts.emplace_back(first, std::min(kernel.blocks, first + length));
        first = cuts.back().second;
      }
      if (cut) std::shuffle(cuts.begin(), cuts.end(), random);
      for (const auto& [first, last] : cuts) kernel.run(bound, first, last);
      EXPECT_TRUE(out.gaps_untouched());
      return out;
    };
    for (const Index panel : {24, 64}) {  // of cut vectors, and of whole ones
      const Array whole = run(false, panel);
      for (int round = 0; round < 3; ++round) ASSERT_TRUE(run(true, panel) == whole) << panel << " columns a panel";
    }
    ++steps;
  }
  EXPECT_GT(steps, 80);
}

TEST(executor, an_unknown_kernel_is_an_internal_error) {
  Step step;
  step.kernel.fold = FoldKind::sum, step.kernel.accumulate = DType::i8;
  step.in = kInput, step.out = kOutput;
  Schedule schedule;
  schedule.steps.push_back(step);
  const Status status = cpu::prepare(schedule).error();
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_EQ(status.message(), "the CPU catalog has no rows kernel for sum in i8");
}

TEST(executor, of_no_steps_calls_nothing) {
  const auto program = cpu::prepare(Schedule());
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->calls.empty());
  cpu::run(*program, {}, nullptr);
}

#ifdef __SSE__
// Rounding mode, flush-to-zero and exception masks are the caller's. What results become under them is not promised.
TEST(executor, leaves_the_floating_point_environment_alone) {
  constexpr unsigned kSticky = 0x3f;  // the flags that arithmetic raises
  const unsigned before = _mm_getcsr();
  Array kept(dense(DType::f32, {}));
  for (const unsigned mode : {0x0000u, 0x2000u, 0x4000u, 0x6000u, 0x8040u}) {  // nearest, down, up, zero; FTZ with DAZ
    const unsigned wanted = (before & ~(0xe040u | kSticky)) | mode;
    for (const Case& item : all_cases()) {
      const auto plan =
          plan_for(item.request, item.in, item.out, {.device = DeviceFacts::host(), .strategy = item.strategy});
      if (!plan || item.in.dtype != DType::f32) continue;
      const Array& in = input_of(item, kept);
      Array out(item.out);
      Scratch scratch(plan->workspace_bytes());
      _mm_setcsr(wanted);
      const int rounding = std::fegetround();
      const Status status = plan->run(in.data(), out.data(), scratch.get());
      const unsigned after = _mm_getcsr();
      const int rounding_after = std::fegetround();
      _mm_setcsr(before);
      std::fesetround(FE_TONEAREST);
      ASSERT_TRUE(status.ok());
      ASSERT_EQ(after & ~kSticky, wanted) << text(item);
      ASSERT_EQ(rounding_after, rounding);
    }
  }
}
#endif

}  // namespace
}  // namespace ndfold::test
