// Where blocks that wait for each other cannot all be resident, another plan is made: nothing is launched that hangs.
#include "tests/fake_gpu/requests.h"

namespace ndfold::test {
namespace {

struct Poor {
  const char* name;
  void (*impoverish)(FakeDevice& device);
};

// What a device does not tell the planner, or the planner's facts get wrong.
const Poor kPoor[] = {
    {"one block of a multiprocessor", [](FakeDevice& d) { d.most_resident_blocks = 1; }},
    {"kernels of many registers", [](FakeDevice& d) { d.registers_of_thread = 128; }},
    {"no clusters resident", [](FakeDevice& d) { d.widest_cluster = 1; }},
    {"clusters of 4", [](FakeDevice& d) { d.widest_cluster = 4; }},
    {"no cooperative launch", [](FakeDevice& d) { d.numbers.cooperative = 0; }},
    {"7 multiprocessors", [](FakeDevice& d) { d.numbers.multiprocessors = 7; }},
    {"1 multiprocessor", [](FakeDevice& d) { d.numbers.multiprocessors = 1; }},
    {"little shared memory",
     [](FakeDevice& d) {
       d.numbers.shared_bytes_per_block = 48 * 1024;
       d.numbers.shared_bytes_per_multiprocessor = 64 * 1024;
     }},
};

std::vector<GpuRequest> all_requests() {
  std::vector<GpuRequest> requests;
  for (const auto& [sizes, axis] :
       {std::pair(Sizes{3, 200000}, 1), std::pair(Sizes{200000, 40}, 0), std::pair(Sizes{1, 1 << 22}, 1),
        std::pair(Sizes{64, 512, 4096}, 1), std::pair(Sizes{500, 60000}, 1), std::pair(Sizes{2, 16384, 64}, 1)}) {
    requests.push_back(softmax_over(dense(DType::f32, sizes), {axis}));
    requests.push_back(softmax_over(dense(DType::bf16, sizes), {axis}));
    requests.push_back(reduce_over(ReduceOp::sum, dense(DType::f32, sizes), {axis}));
  }
  return requests;
}

void expect_no_trouble(FakeMachine& machine, const DeviceFacts& facts) {
  for (const GpuRequest& item : all_requests()) {
    SCOPED_TRACE(item.name);
    const auto plan = plan_of(item, facts);
    ASSERT_TRUE(plan) << plan.error().message();
    const Status status = run_on_fake(*plan);
    EXPECT_TRUE(status.ok()) << status.message() << "\n" << plan->explain();
    EXPECT_EQ(machine.complaints(), "") << plan->explain();
    EXPECT_EQ(machine.launches().size(), plan->steps().size());
    machine.forget_launches();
  }
}

TEST(fake_gpu_fall_back, plans_for_a_poor_device_run_there) {
  for (const Poor& poor : kPoor) {
    SCOPED_TRACE(poor.name);
    FakeDevice device = fake_h200();
    poor.impoverish(device);
    FakeMachine machine({device});
    const auto facts = DeviceFacts::cuda(0);
    ASSERT_TRUE(facts);
    expect_no_trouble(machine, *facts);
  }
}

// The facts of a whole H200 where there is less: of the same architecture, so the plan may run.
TEST(fake_gpu_fall_back, plans_for_a_richer_device_do_not_hang) {
  for (const Poor& poor : kPoor) {
    SCOPED_TRACE(poor.name);
    FakeDevice device = fake_h200();
    poor.impoverish(device);
    FakeMachine machine({device});
    for (const GpuRequest& item : all_requests()) {
      SCOPED_TRACE(item.name);
      const auto plan = plan_of(item, DeviceFacts::h200());
      const Status status = plan ? run_on_fake(*plan) : plan.error();
      EXPECT_EQ(machine.complaints(), "") << status.message();
      EXPECT_TRUE(status.ok() || status.code() == Code::unsupported) << status.message();
      machine.forget_launches();
    }
  }
}

// A strategy that is forced has nothing to fall back to: it is refused in words.
TEST(fake_gpu_fall_back, forced_strategies_are_refused) {
  FakeDevice device = fake_h200();
  device.most_resident_blocks = 0;
  device.widest_cluster = 1;
  FakeMachine machine({device});
  const auto facts = DeviceFacts::cuda(0);
  for (const char* strategy : {"rows_in_grid", "rows_in_cluster"}) {
    const auto plan = plan_of(softmax_over(dense(DType::f32, {3, 200000}), {1}, strategy), *facts);
    ASSERT_FALSE(plan) << strategy;
    EXPECT_EQ(plan.error().code(), Code::unsupported) << plan.error().message();
    EXPECT_NE(plan.error().message().find(strategy), std::string::npos) << plan.error().message();
  }
  EXPECT_TRUE(machine.launches().empty());
  EXPECT_EQ(machine.complaints(), "");
}

// A later plan with less shared memory, or for a device said to have less, takes nothing from an earlier one.
TEST(fake_gpu_fall_back, plans_of_one_kernel_do_not_disturb_each_other) {
  FakeMachine machine({fake_h200()});
  const auto facts = DeviceFacts::cuda(0);
  ASSERT_TRUE(facts);
  DeviceFacts tight = *facts;
  tight.shared_bytes_per_block = 31 * 1024;
  tight.shared_bytes_per_multiprocessor = 32 * 1024;
  const auto column = [](Index rows) { return softmax_over(dense(DType::f64, {rows, 4096}), {0}, "columns_in_block"); };
  const auto large = plan_of(column(250), *facts), smaller = plan_of(column(200), *facts),
             small = plan_of(column(80), tight);
  ASSERT_TRUE(large && smaller && small);
  ASSERT_GT(large->steps()[0].launch.shared_bytes, 48 * 1024);
  ASSERT_TRUE(large->steps()[0].kernel == small->steps()[0].kernel);
  for (const auto& plan : {large, smaller, small, large}) {
    const Status status = run_on_fake(*plan);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(machine.complaints(), "");
  }
}

TEST(fake_gpu_fall_back, facts_of_two_devices_are_kept_apart) {
  FakeMachine machine({fake_h200(), fake_slice(5)});
  for (const int ordinal : {0, 1, 0}) {
    const auto facts = DeviceFacts::cuda(ordinal);
    ASSERT_TRUE(facts);
    expect_no_trouble(machine, *facts);
  }
}

}  // namespace
}  // namespace ndfold::test
