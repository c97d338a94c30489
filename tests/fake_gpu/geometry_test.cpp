// Launches of plans for many shapes, from a single element to more than fit any memory: within every limit of the GPU.
#include "tests/fake_gpu/requests.h"
#include "tests/support/views.h"

namespace ndfold::test {
namespace {

struct Shape {
  Sizes sizes;
  AxisSet axes;
};

const Shape kShapes[] = {{{}, {}},
                         {{1}, {0}},
                         {{33}, {0}},
                         {{5, 300}, {1}},
                         {{300, 19}, {0}},
                         {{3, 40, 5}, {1}},
                         {{4, 6, 5, 8}, {0, 2}},
                         {{4, 6, 5, 8, 3}, {1, 3}},
                         {{3, 2, 5, 4, 7, 6}, {1, 3, 5}},
                         {{70001, 3, 33}, {1}},
                         {{70001, 3, 33}, {2}},
                         {{1 << 20, 64}, {1}},
                         {{1 << 20, 64}, {0}},
                         {{4, 1 << 20}, {1}},
                         {{0, 4}, {0}}};

// None of these fits a GPU; plans for them are as good as any.
const Shape kHuge[] = {
    {{Index{1} << 33, 5}, {1}},         {{Index{1} << 33, 5}, {0}},      {{3, (Index{1} << 33) + 1}, {1}},
    {{3, (Index{1} << 33) + 1}, {0}},   {{(Index{1} << 40) + 7}, {0}},   {{65536 * Index{70000}, 3, 40}, {1}},
    {{Index{1} << 32, 2, 130}, {0, 2}}, {{1 << 17, 1 << 17, 3}, {0, 1}}, {{1 << 11, 1 << 11, 1 << 11, 3, 5}, {1, 3}},
    {{100003, 1, 100003}, {2}}};

const FakeDevice kDevices[] = {fake_h200(), fake_sm80(), fake_slice(3), fake_slice(1)};

std::vector<GpuRequest> requests_of(const Shape& shape, Layout layout, const std::string& strategy) {
  const auto in = [&](DType type) { return lay_out(type, shape.sizes, layout, 5); };
  return {softmax_over(in(DType::f32), shape.axes, strategy),
          softmax_over(in(DType::bf16), shape.axes, strategy),
          softmax_over(in(DType::f64), shape.axes, strategy),
          reduce_over(ReduceOp::sum, in(DType::u8), shape.axes, strategy),
          reduce_over(ReduceOp::var, in(DType::f16), shape.axes, strategy),
          reduce_over(ReduceOp::argmax, in(DType::f32), shape.axes, strategy)};
}

// What a run launches is what the plan's steps say, and covers all of it.
void expect_steps(const FakeMachine& machine, const ReducePlan& plan) {
  ASSERT_EQ(machine.launches().size(), plan.steps().size());
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    const Step& step = plan.steps()[i];
    const FakeLaunch& launch = machine.launches()[i];
    EXPECT_EQ(launch.shape.grid_x, step.launch.grid[0]);
    EXPECT_EQ(launch.shape.grid_y, step.launch.grid[1]);
    EXPECT_EQ(launch.shape.cooperative, step.launch.cooperative);
    EXPECT_EQ(launch.shape.cluster, step.launch.cluster);
    const bool folds = step.kernel.body == Body::rows || step.kernel.body == Body::columns;
    const cuda::Arguments& arguments = launch.arguments;
    if (folds) {
      const auto parts = static_cast<double>(arguments.part) * static_cast<double>(arguments.parts);
      EXPECT_GE(parts, static_cast<double>(arguments.reduced) * (1 - 1e-12)) << "elements are left out";
    }
    if (step.kernel.scope == Scope::grid || step.kernel.scope == Scope::cluster) {
      EXPECT_EQ(launch.shape.grid_x, arguments.parts) << "every block of a group has a part of its own";
    }
  }
}

int run_all(std::span<const Shape> shapes, std::initializer_list<Layout> layouts) {
  int runs = 0;
  for (const FakeDevice& device : kDevices) {
    FakeMachine machine({device});
    const auto facts = DeviceFacts::cuda(0);
    EXPECT_TRUE(facts);
    for (const Shape& shape : shapes)
      for (const Layout layout : layouts)
        for (const std::string strategy : kReadingStrategies)
          for (const GpuRequest& item : requests_of(shape, layout, strategy)) {
            SCOPED_TRACE(::testing::Message()
                         << item.name << ' ' << name(layout) << " of " << device.numbers.multiprocessors);
            const auto plan = plan_of(item, *facts);
            if (!plan) {
              EXPECT_NE(plan.error().code(), Code::internal) << plan.error().message();
              continue;
            }
            for (const Index shift : {0, 1}) {
              const Status status = run_on_fake(*plan, shift * static_cast<Index>(size_bytes(item.in.dtype)),
                                                shift * static_cast<Index>(size_bytes(item.out.dtype)));
              EXPECT_TRUE(status.ok()) << status.message();
              expect_steps(machine, *plan);
              machine.forget_launches();
            }
            EXPECT_EQ(machine.complaints(), "") << plan->explain();
            ++runs;
            if (::testing::Test::HasFailure()) return runs;
          }
  }
  return runs;
}

TEST(fake_gpu_geometry, of_shapes_as_they_come) {
  EXPECT_GT(run_all(kShapes, {Layout::row_major, Layout::permuted, Layout::stepped, Layout::reversed}), 5000);
}

TEST(fake_gpu_geometry, of_shapes_beyond_any_memory) {
  EXPECT_GT(run_all(kHuge, {Layout::row_major, Layout::column_major, Layout::broadcast}), 2000);
}

TEST(fake_gpu_geometry, of_what_the_planner_chooses) {
  FakeMachine machine({fake_h200()});
  const auto facts = DeviceFacts::cuda(0);
  ASSERT_TRUE(facts);
  for (const auto shapes : {std::span<const Shape>(kShapes), std::span<const Shape>(kHuge)})
    for (const Shape& shape : shapes)
      for (const GpuRequest& item : requests_of(shape, Layout::row_major, "")) {
        SCOPED_TRACE(item.name);
        const auto plan = plan_of(item, *facts);
        if (plan.error().code() == Code::empty_reduction) continue;
        ASSERT_TRUE(plan) << plan.error().message();
        EXPECT_TRUE(run_on_fake(*plan).ok());
        expect_steps(machine, *plan);
        machine.forget_launches();
        EXPECT_EQ(machine.complaints(), "") << plan->explain();
      }
}

// Vectors begin where they do in memory, wherever the buffer begins.
TEST(fake_gpu_geometry, panels_begin_where_packs_do) {
  FakeMachine machine({fake_h200()});
  const auto facts = DeviceFacts::cuda(0);
  const auto plan = plan_of(softmax_over(dense(DType::f32, {300, 4096}), {0}, "columns_in_block"), *facts);
  ASSERT_TRUE(plan);
  for (Index shift = 0; shift < 8; ++shift) {
    ASSERT_TRUE(run_on_fake(*plan, 4 * shift).ok());
    const cuda::Arguments& arguments = machine.launches().back().arguments;
    EXPECT_EQ(arguments.phase, shift % 4);
    EXPECT_GE(arguments.panels * arguments.lanes * 4, 4096 + arguments.phase);
  }
}

TEST(fake_gpu_geometry, runs_go_to_the_stream_that_they_are_told) {
  FakeMachine machine({fake_h200()});
  for (const GpuRequest& item : one_of_each()) {
    SCOPED_TRACE(item.name);
    const auto plan = plan_of(item, *DeviceFacts::cuda(0));
    ASSERT_TRUE(plan) << plan.error().message();
    int stream = 0;
    EXPECT_TRUE(run_on_fake(*plan, 0, 0, &stream).ok());
    for (const FakeLaunch& launch : machine.launches()) EXPECT_EQ(launch.stream, &stream);
    EXPECT_EQ(machine.launches().size(), plan->steps().size());
    EXPECT_EQ(machine.complaints(), "");
    machine.forget_launches();
  }
}

}  // namespace
}  // namespace ndfold::test
