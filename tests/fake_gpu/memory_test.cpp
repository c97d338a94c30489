// Plans for a GPU when the host's memory runs out; and a run needs none of it.
#include <ndfold/plan_cache.h>

#include "tests/fake_gpu/requests.h"
#include "tests/faults/exhaust.h"

namespace ndfold::test {
namespace {

TEST(fake_gpu_memory, a_run_needs_none) {
  FakeMachine machine({fake_h200(), fake_h200()});
  for (const int ordinal : {0, 1})
    for (const GpuRequest& item : one_of_each()) {
      SCOPED_TRACE(item.name);
      const auto plan = plan_of(item, *DeviceFacts::cuda(ordinal));
      ASSERT_TRUE(plan) << plan.error().message();
      EXPECT_TRUE(run_on_fake(*plan, 4, 8).ok());
      EXPECT_EQ(machine.complaints(), "");
      const Fate fate = fate_of(1, Mode::persistent, [&] { return run_on_fake(*plan, 4, 8).code(); });
      ASSERT_TRUE(fate.code.has_value()) << "an exception crossed the API";
      EXPECT_EQ(*fate.code, Code::ok);
      EXPECT_EQ(fate.failures, 0) << "allocations of one run";
      EXPECT_EQ(machine.complaints(), "");
    }
}

TEST(fake_gpu_memory, planning_says_that_it_ran_out) {
  FakeMachine machine({fake_h200()});
  const auto facts = DeviceFacts::cuda(0);
  ASSERT_TRUE(facts);
  for (const GpuRequest& item : one_of_each()) {
    SCOPED_TRACE(item.name);
    const PlanOptions options{.device = *facts, .strategy = item.strategy};
    exhaust([&] { return plan_for(item.request, item.in, item.out, options).error().code(); });
    if (HasFailure()) return;
    const auto plan = plan_of(item, *facts);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(run_on_fake(*plan).ok());
    EXPECT_EQ(machine.complaints(), "");
  }
}

TEST(fake_gpu_memory, functions_without_a_plan_say_that_it_ran_out) {
  FakeMachine machine({fake_h200()});
  ASSERT_TRUE(DeviceFacts::cuda(0));
  const Device device{.kind = DeviceKind::cuda, .ordinal = 0};
  const GpuRequest item = softmax_over(dense(DType::f32, {3, 200000}), {1});
  const ConstTensorView in(fake_address(1), item.in, device);
  const TensorView out{fake_address(2), item.out, device};
  const auto spec = std::get<SoftmaxSpec>(item.request);
  ASSERT_TRUE(softmax(in, out, spec).ok());  // the cache itself is there now, and goes on
  process_plan_cache().clear();
  exhaust([&] {
    const Code code = softmax(in, out, spec).code();
    process_plan_cache().clear();
    return code;
  });
  EXPECT_EQ(machine.living(), 0);
  EXPECT_EQ(machine.complaints(), "");
}

// A plan that is in the cache is found and run without a copy of what was asked.
TEST(fake_gpu_memory, functions_whose_plan_is_kept_need_none) {
  FakeMachine machine({fake_h200(), fake_h200()});
  const Device device{.kind = DeviceKind::cuda, .ordinal = 1};
  const ViewDesc view = dense(DType::f32, {300, 70}), turned = dense(DType::f32, {70, 300});
  const ConstTensorView in(fake_address(1), view, device);
  const TensorView same{fake_address(2), view, device}, sums{fake_address(2), dense(DType::f32, {300}), device},
      one{fake_address(2), dense(DType::f32, {}), device}, moved{fake_address(2), turned, device};
  const ReduceSpec rows{.axes = {1}}, all{.op = ReduceOp::var, .axes = AxisSet::all()};
  const SoftmaxSpec soft{.axes = {0}};
  const Order order{{1, 0}};
  const std::function<Status()> calls[] = {[&] { return reduce(in, sums, rows); }, [&] { return reduce(in, one, all); },
                                           [&] { return softmax(in, same, soft); },
                                           [&] { return permute(in, moved, order); }};
  for (const auto& call : calls) {
    ASSERT_TRUE(call().ok());
    const Fate fate = fate_of(1, Mode::persistent, [&] { return call().code(); });
    EXPECT_EQ(fate.code, Code::ok);
    EXPECT_EQ(fate.failures, 0) << "allocations of one call";
  }
  EXPECT_EQ(machine.living(), 0);
  EXPECT_EQ(machine.complaints(), "");
  process_plan_cache().clear();
}

}  // namespace
}  // namespace ndfold::test
