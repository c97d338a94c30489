// What is refused, and in which words: other GPUs, missing kernels, builds and machines without CUDA; and whose device
// is current meanwhile.
#include <ndfold/plan_cache.h>

#include "tests/fake_gpu/requests.h"

namespace ndfold::test {
namespace {

bool says(const Status& status, std::string_view words) { return status.message().find(words) != std::string::npos; }

const GpuRequest kSmall = softmax_over(dense(DType::f32, {40, 300}), {1});

TEST(fake_gpu_refusals, a_build_without_cuda_says_so) {
  cuda::use_backend({});
  const auto facts = DeviceFacts::cuda(0);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code(), Code::unsupported);
  EXPECT_TRUE(says(facts.error(), "no CUDA")) << facts.error().message();
  const auto plan = plan_of(kSmall, DeviceFacts::h200());
  ASSERT_TRUE(plan) << "plans may be made for any machine";
  const Status status = run_on_fake(*plan);
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_TRUE(says(status, "NVIDIA H200") && says(status, "no CUDA")) << status.message();
  const ConstTensorView in(fake_address(1), kSmall.in, {.kind = DeviceKind::cuda, .ordinal = 0});
  const TensorView out{fake_address(2), kSmall.out, {.kind = DeviceKind::cuda, .ordinal = 0}};
  EXPECT_TRUE(says(softmax(in, out, {.axes = {1}}), "no CUDA"));
  EXPECT_TRUE(says(OwnedWorkspace::allocate(64, in.device).error(), "no CUDA"));
  cuda::use_backend(cuda::built_backend());
}

TEST(fake_gpu_refusals, a_machine_without_a_driver_says_so) {
  FakeMachine machine({});
  machine.driver = kNoDriver;
  const auto facts = DeviceFacts::cuda(0);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code(), Code::unsupported);
  EXPECT_TRUE(says(facts.error(), "driver version is insufficient")) << facts.error().message();
}

TEST(fake_gpu_refusals, a_gpu_that_is_not_here) {
  FakeMachine machine({fake_h200(), fake_h200()});
  for (const int ordinal : {2, -1, 1000}) {
    const auto facts = DeviceFacts::cuda(ordinal);
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().code(), Code::unsupported);
    EXPECT_TRUE(says(facts.error(), std::to_string(ordinal)) && says(facts.error(), "2")) << facts.error().message();
    EXPECT_FALSE(OwnedWorkspace::allocate(64, {.kind = DeviceKind::cuda, .ordinal = ordinal}));
  }
  EXPECT_EQ(machine.living(), 0);
  EXPECT_EQ(machine.complaints(), "");
}

TEST(fake_gpu_refusals, facts_are_what_the_driver_says) {
  FakeMachine machine({fake_sm80(), fake_slice(16)});
  const auto first = DeviceFacts::cuda(0), second = DeviceFacts::cuda(1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->architecture, 80);
  EXPECT_EQ(first->cluster_blocks, 1);
  EXPECT_EQ(first->shared_bytes_per_block, 163 * 1024);
  EXPECT_EQ(second->ordinal, 1);
  EXPECT_EQ(second->multiprocessors, 16);
  EXPECT_EQ(second->register_bytes_per_multiprocessor, 256 * 1024);
  const long asked = machine.calls(Function::describe);
  EXPECT_TRUE(*DeviceFacts::cuda(0) == *first);
  EXPECT_EQ(machine.calls(Function::describe), asked);
}

TEST(fake_gpu_refusals, a_plan_for_another_architecture) {
  FakeMachine machine({fake_sm80()});
  const auto plan = plan_of(kSmall, DeviceFacts::h200());
  ASSERT_TRUE(plan) << plan.error().message();
  const Status status = run_on_fake(*plan);
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_TRUE(says(status, "sm_90") && says(status, "sm_80")) << status.message();
  EXPECT_TRUE(machine.launches().empty());
  EXPECT_EQ(machine.complaints(), "");
}

TEST(fake_gpu_refusals, a_kernel_that_is_not_in_the_catalog) {
  FakeMachine machine({fake_h200()});
  const auto facts = DeviceFacts::cuda(0);
  machine.lacks = [](const KernelKey& key) { return key.fold == FoldKind::var && key.input == DType::bf16; };
  const auto plan = plan_of(reduce_over(ReduceOp::var, dense(DType::bf16, {40, 300}), {1}), *facts);
  ASSERT_FALSE(plan);
  for (const char* word : {"rows", "var", "bf16", "f32"})
    EXPECT_TRUE(says(plan.error(), word)) << plan.error().message();
  EXPECT_TRUE(plan_of(reduce_over(ReduceOp::var, dense(DType::f16, {40, 300}), {1}), *facts));
  machine.lacks = [](const KernelKey& key) { return key.body == Body::elementwise; };
  const auto chain = plan_of(softmax_over(dense(DType::f32, {40, 300}), {1}, "softmax_chain"), *facts);
  ASSERT_FALSE(chain);
  EXPECT_TRUE(says(chain.error(), "elementwise")) << chain.error().message();
  EXPECT_EQ(machine.complaints(), "");
}

TEST(fake_gpu_refusals, wrong_arguments_launch_nothing) {
  FakeMachine machine({fake_h200()});
  const auto plan = plan_of(softmax_over(dense(DType::f32, {3, 200000}), {1}, "split"), *DeviceFacts::cuda(0));
  ASSERT_TRUE(plan);
  const std::size_t bytes = plan->workspace_bytes();
  ASSERT_GT(bytes, 0u);
  const Workspace good{.data = fake_address(4), .bytes = bytes};
  const Workspace kBad[] = {
      {}, {fake_address(4), bytes - 1}, {fake_address(4, 32), bytes}, {fake_address(2, 64), bytes}};
  for (const Workspace& bad : kBad) EXPECT_FALSE(plan->run(fake_address(1), fake_address(2), bad).ok());
  EXPECT_FALSE(plan->run(nullptr, fake_address(2), good).ok());
  EXPECT_FALSE(plan->run(fake_address(1), nullptr, good).ok());
  EXPECT_FALSE(plan->run(fake_address(1, 2), fake_address(2), good).ok());
  EXPECT_FALSE(plan->run(fake_address(1), fake_address(1, 64), good).ok());
  EXPECT_TRUE(machine.launches().empty());
  EXPECT_TRUE(plan->run(fake_address(1), fake_address(1), good).ok()) << "in place";
  EXPECT_EQ(machine.complaints(), "");
}

TEST(fake_gpu_refusals, tensors_that_lie_apart) {
  FakeMachine machine({fake_h200(), fake_h200()});
  const ConstTensorView in(fake_address(1), kSmall.in, {.kind = DeviceKind::cuda, .ordinal = 0});
  const Status between = softmax(in, {fake_address(2), kSmall.out, {DeviceKind::cuda, 1}}, {.axes = {1}});
  EXPECT_EQ(between.code(), Code::invalid_argument);
  EXPECT_TRUE(says(between, "cuda:0") && says(between, "cuda:1")) << between.message();
  EXPECT_FALSE(softmax(in, {fake_address(2), kSmall.out, {}}, {.axes = {1}}).ok());
  EXPECT_TRUE(machine.launches().empty());
}

TEST(fake_gpu_refusals, a_plan_runs_on_its_device_and_leaves_the_current_one) {
  FakeMachine machine({fake_h200(), fake_h200(), fake_sm80()});
  for (const GpuRequest& item : one_of_each())
    for (int current = 0; current < 3; ++current)
      for (int ordinal = 0; ordinal < 3; ++ordinal) {
        SCOPED_TRACE(::testing::Message() << item.name << " on " << ordinal << " while " << current << " is current");
        make_fake_current(current);
        const auto plan = plan_of(item, *DeviceFacts::cuda(ordinal));
        EXPECT_EQ(fake_current_device(), current);
        if (!plan) continue;  // no clusters
        EXPECT_TRUE(run_on_fake(*plan).ok());
        EXPECT_EQ(fake_current_device(), current);
        for (const FakeLaunch& launch : machine.launches()) EXPECT_EQ(launch.device, ordinal);
        EXPECT_EQ(machine.launches().size(), plan->steps().size());
        machine.forget_launches();
        EXPECT_EQ(machine.complaints(), "");
      }
}

TEST(fake_gpu_refusals, functions_without_a_plan_run_where_their_tensors_lie) {
  FakeMachine machine({fake_h200(), fake_h200()});
  process_plan_cache().clear();
  const GpuRequest large = softmax_over(dense(DType::f32, {3, 200000}), {1});
  for (const int current : {0, 1})
    for (const int ordinal : {0, 1}) {
      make_fake_current(current);
      const Device device{.kind = DeviceKind::cuda, .ordinal = ordinal};
      const ConstTensorView in(fake_address(1), large.in, device);
      EXPECT_TRUE(softmax(in, {fake_address(2), large.out, device}, {.axes = {1}}).ok());
      EXPECT_TRUE(reduce(in, {fake_address(2), dense(DType::f32, {3}), device}, {.axes = {1}}).ok());
      EXPECT_TRUE(permute(in, {fake_address(2), dense(DType::f32, {200000, 3}), device}, {{1, 0}}).ok());
      EXPECT_GE(machine.launches().size(), 3u);
      for (const FakeLaunch& launch : machine.launches()) EXPECT_EQ(launch.device, ordinal);
      machine.forget_launches();
      EXPECT_EQ(fake_current_device(), current);
      EXPECT_EQ(machine.living(), 0);
      EXPECT_EQ(machine.complaints(), "");
    }
  EXPECT_GT(machine.calls(Function::allocate), 0);
  process_plan_cache().clear();
}

}  // namespace
}  // namespace ndfold::test
