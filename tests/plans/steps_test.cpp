// The numbers of multi-step schedules, and the order of the chain.
#include "tests/plans/launch_limits.h"
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

namespace ndfold::test {
namespace {

using Grid = std::array<Index, 3>;

Schedule in_steps(Request request, Index limit) {
  request.options.block_limit = limit;
  return plan(forced(std::move(request), "permute_then_rows")).schedule;
}

std::vector<std::string> kernels(const Schedule& schedule) {
  std::vector<std::string> list;
  for (const Step& step : schedule.steps) {
    const KernelKey& k = step.kernel;
    list.emplace_back(k.body == Body::permute       ? name(k.body)
                      : k.body == Body::elementwise ? name(k.map)
                                                    : name(k.fold));
  }
  return list;
}

TEST(Steps, BlocksOfFourOverTheExampleTakeTwoSteps) {
  const Schedule schedule = in_steps(sum_of({2, 3, 4}, {0, 2}), 4);
  ASSERT_EQ(schedule.steps.size(), 3u);
  EXPECT_EQ(schedule.steps[0].kernel.body, Body::permute);
  EXPECT_EQ(schedule.steps[1].launch.grid, (Grid{2, 3, 1}));
  EXPECT_EQ(schedule.steps[1].launch.block, 4);
  EXPECT_EQ(schedule.steps[1].kernel.sink, SinkKind::store_state);
  EXPECT_EQ(schedule.steps[2].launch.grid, (Grid{1, 3, 1}));
  EXPECT_EQ(schedule.steps[2].launch.block, 2);
  EXPECT_EQ(schedule.steps[2].kernel.source, SourceKind::states);
  EXPECT_EQ(schedule.steps[2].kernel.sink, SinkKind::store);
  EXPECT_EQ(schedule.steps[2].count, 8);
}

TEST(Steps, TheGpuRunsTheSameSteps) {
  const Schedule host = in_steps(sum_of({2, 3, 4}, {0, 2}), 4);
  const Schedule gpu = in_steps(sum_of({2, 3, 4}, {0, 2}, DeviceFacts::h200()), 4);
  ASSERT_EQ(gpu.steps.size(), host.steps.size());
  for (std::size_t i = 1; i < host.steps.size(); ++i) EXPECT_EQ(gpu.steps[i].launch.grid, host.steps[i].launch.grid);
}

TEST(Steps, PartialsShrinkUntilOneIsLeft) {
  const Schedule schedule = in_steps(reduce_of(ReduceOp::max, dense(DType::f32, {2, 50000}), {1}), 1024);
  std::vector<Index> parts;
  for (std::size_t i = 1; i < schedule.steps.size(); ++i) parts.push_back(schedule.steps[i].parts);
  EXPECT_EQ(parts, (std::vector<Index>{49, 1}));
  const Schedule tiny = in_steps(sum_of({1000}, {0}), 2);
  EXPECT_EQ(tiny.steps.size(), 11u) << "a permute, then 1000 500 250 125 63 32 16 8 4 2";
  for (std::size_t i = 1; i + 1 < tiny.steps.size(); ++i) {
    EXPECT_EQ(tiny.steps[i].out, tiny.steps[i + 1].in);
    EXPECT_NE(tiny.steps[i].in, tiny.steps[i].out);
  }
}

TEST(Steps, ABlockLimitOfOneStillEnds) { EXPECT_GT(in_steps(sum_of({9}, {0}), 1).steps.size(), 3u); }

TEST(Steps, TheChainIsLiteral) {
  const auto chain = [](Request request) {
    return kernels(plan(forced(std::move(request), "softmax_chain")).schedule);
  };
  const std::vector<std::string> plain = {"permute", "max", "subtract", "exponential", "sum", "divide", "permute"};
  for (const DeviceFacts& device : {fixed_host(), DeviceFacts::h200(), DeviceFacts::a100()})
    EXPECT_EQ(chain(softmax_of({2, 3, 4}, {0, 2}, device)), plain);
  Request scaled = softmax_of({2, 3, 4}, {1});
  scaled.softmax.scale = 0.5;
  scaled.softmax.kind = SoftmaxKind::log_softmax;
  const std::vector<std::string> with_scale = {"permute",     "scale", "max",          "subtract",
                                               "exponential", "sum",   "subtract_log", "permute"};
  EXPECT_EQ(chain(scaled), with_scale);
}

TEST(Steps, TheChainFoldsInStepsToo) {
  Request request = softmax_of({2, 3, 4}, {0, 2});
  request.options.block_limit = 4;
  const std::vector<std::string> twice = {"permute", "max", "max",    "subtract", "exponential",
                                          "sum",     "sum", "divide", "permute"};
  EXPECT_EQ(kernels(plan(forced(request, "softmax_chain")).schedule), twice);
}

TEST(Steps, ASplitReductionIsOneLaunchOnAGpu) {
  const Request long_columns = sum_of({Index{1} << 22, 64}, {0}, DeviceFacts::h200());
  const Request long_row = sum_of({Index{1} << 28}, {0}, DeviceFacts::a100());
  const Request little = sum_of({Index{1} << 22}, {0}, DeviceFacts::h200());
  for (const Request& request : {long_columns, long_row, little}) {
    const Schedule gpu = plan(forced(request, "split")).schedule;
    ASSERT_EQ(gpu.steps.size(), 1u);
    const Step& step = gpu.steps.front();
    EXPECT_GT(step.parts, 1);
    EXPECT_EQ(step.kernel.sink, SinkKind::store);
    EXPECT_EQ(step.exchange.place, Buffer::Place::workspace);
    EXPECT_GE(gpu.workspace_bytes, step.parts * 4 + 4) << "states and a counter";
  }
}

TEST(Steps, ASplitIsTwoLaunchesOnACpuAndWhereTheyOverlap) {
  const DeviceFacts host = sum_of({4}, {0}).options.device;
  for (const DeviceFacts& device : {host, DeviceFacts::h200()}) {
    const Schedule schedule = plan(forced(sum_of({Index{1} << 28}, {0}, device), "split")).schedule;
    ASSERT_EQ(schedule.steps.size(), 2u);
    EXPECT_EQ(schedule.steps[0].kernel.sink, SinkKind::store_state);
    EXPECT_EQ(schedule.steps[1].kernel.source, SourceKind::states);
    for (const Step& step : schedule.steps) EXPECT_FALSE(step.launch.cooperative);
  }
}

TEST(Steps, AGridSoftmaxMeetsOnce) {
  const Schedule schedule =
      plan(forced(softmax_of({1, Index{1} << 22}, {1}, DeviceFacts::h200()), "rows_in_grid")).schedule;
  ASSERT_EQ(schedule.steps.size(), 1u);
  const Step& step = schedule.steps.front();
  EXPECT_TRUE(step.launch.cooperative);
  EXPECT_EQ(step.launch.grid_barriers, 1);
  EXPECT_EQ(step.kernel.residency, Residency::shared) << "16 MiB fit the shared memory of 132 multiprocessors";
  EXPECT_EQ(broken_limit(schedule, DeviceFacts::h200()), "");
}

TEST(Steps, GridsStayWithinLaunchLimits) {
  const Dims shapes[] = {{Index{1} << 33, 2}, {3, Index{1} << 35}, {70000, 70000}, {Index{1} << 20, 3, 1025}, {200000}};
  for (const DeviceFacts& device : {DeviceFacts::h200(), DeviceFacts::a100()})
    for (const Dims& sizes : shapes)
      for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis)
        for (const Strategy& row : strategies()) {
          for (Request request : {softmax_of(sizes, {axis}, device), sum_of(sizes, {axis}, device)}) {
            const Problem problem = make_problem(request).value();
            request.options.strategy = row.name;
            const auto choice = choose(problem, request.options);
            const std::string broken = choice ? broken_limit(choice->schedule, device) : "";
            EXPECT_EQ(broken, "") << row.name;
          }
        }
}

TEST(Steps, AWorkspaceBeyond64BitsIsRefused) {
  ViewDesc in = dense(DType::f64, {Index{1} << 59});
  in.strides = {0};
  Request request = softmax_of(in, {0});
  EXPECT_EQ(refusal(forced(request, "softmax_chain")).message(),
            "strategy softmax_chain cannot do this on host: its workspace would take more than 2^63 bytes");
}

}  // namespace
}  // namespace ndfold::test
