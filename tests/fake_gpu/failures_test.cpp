// The 1st, 2nd, 3rd … call to CUDA fails, until a call of ours needs no more: each failure is a sentence with CUDA's
// words, and leaves everything usable.
#include <ndfold/plan_cache.h>

#include "lib/api/plan_state.h"
#include "tests/fake_gpu/requests.h"

namespace ndfold::test {
namespace {

constexpr long kMostCalls = 400;  // of one call of ours: more means that it never succeeds

/// Runs `call` with ever later calls failing. `call` returns a Status; it begins and ends with device 0 current.
template <class Call>
void exhaust(FakeMachine& machine, const Call& call) {
  for (const bool lasting : {false, true}) {
    long failing = 1;
    for (; failing < kMostCalls; ++failing) {
      SCOPED_TRACE(::testing::Message() << (lasting ? "from call " : "call ") << failing << " on");
      make_fake_current(0);
      const long living = machine.living();
      machine.fail(failing, lasting);
      const Status status = call();
      const long failures = machine.failures();
      const Function last = machine.failed();
      machine.fail_nothing();
      EXPECT_EQ(machine.complaints(), "");
      EXPECT_EQ(machine.living(), living) << "a workspace was lost";
      if (failures == 0) {
        EXPECT_TRUE(status.ok()) << status.message();
        break;
      }
      // Nobody can be told that memory was not given back, or that the device from before is not current again.
      const bool silent = last == Function::free || last == Function::make_current || last == Function::current_device;
      EXPECT_TRUE(!status.ok() || silent) << "a failure was not reported";
      EXPECT_TRUE(status.ok() || status.message().find(kAskedWords) != std::string::npos) << status.message();
      if (!lasting && last != Function::make_current) {
        EXPECT_EQ(fake_current_device(), 0);
      }
      make_fake_current(0);
      const Status again = call();
      EXPECT_TRUE(again.ok()) << "afterwards: " << again.message();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(failing, 1) << "nothing was made to fail";
    EXPECT_LT(failing, kMostCalls);
  }
}

/// Forgets what was asked of the devices.
void forget() { cuda::use_backend(cuda::backend()); }

class fake_gpu_failures : public ::testing::TestWithParam<int> {
 protected:
  fake_gpu_failures() : machine_({fake_h200(), fake_h200()}) { process_plan_cache().clear(); }
  ~fake_gpu_failures() override { process_plan_cache().clear(); }
  int ordinal() const { return GetParam(); }
  Device device() const { return {.kind = DeviceKind::cuda, .ordinal = ordinal()}; }

  FakeMachine machine_;
};

TEST_P(fake_gpu_failures, of_asking_for_facts) {
  exhaust(machine_, [&] {
    forget();
    return DeviceFacts::cuda(ordinal()).error();
  });
}

// A cache that kept a plan which refuses would refuse for ever.
TEST_P(fake_gpu_failures, of_describing_the_device_leave_nothing_in_a_cache) {
  const auto facts = DeviceFacts::cuda(ordinal());
  ASSERT_TRUE(facts);
  const ViewDesc view = dense(DType::f32, {40, 50});
  PlanCache cache(4);
  const auto plan = [&] { return cache.softmax(view, view, SoftmaxSpec{.axes = {1}}, {.device = *facts}); };
  forget();
  machine_.fail(2);  // the first counts devices
  const auto refused = plan();
  machine_.fail_nothing();
  EXPECT_EQ(machine_.failed(), Function::describe);
  ASSERT_FALSE(refused);
  EXPECT_EQ(cache.stats().entries, 0u);
  const auto made = plan();
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->state().runnable.ok());
}

TEST_P(fake_gpu_failures, of_planning) {
  const auto facts = DeviceFacts::cuda(ordinal());
  ASSERT_TRUE(facts);
  for (const GpuRequest& item : one_of_each()) {
    SCOPED_TRACE(item.name);
    exhaust(machine_, [&] { return plan_of(item, *facts).error(); });
    if (HasFailure()) return;
  }
}

// The plan or its run says so, when the device could not be asked: plans are made for machines that are not here, too.
TEST_P(fake_gpu_failures, of_planning_before_anything_was_asked) {
  const auto facts = DeviceFacts::cuda(ordinal());
  ASSERT_TRUE(facts);
  exhaust(machine_, [&] {
    forget();
    const auto plan = plan_of(one_of_each()[0], *facts);
    return plan ? run_on_fake(*plan) : plan.error();
  });
}

TEST_P(fake_gpu_failures, of_running) {
  const auto facts = DeviceFacts::cuda(ordinal());
  ASSERT_TRUE(facts);
  for (const GpuRequest& item : one_of_each()) {
    SCOPED_TRACE(item.name);
    const auto plan = plan_of(item, *facts);
    ASSERT_TRUE(plan) << plan.error().message();
    exhaust(machine_, [&] {
      machine_.forget_launches();
      return run_on_fake(*plan);
    });
    if (HasFailure()) return;
  }
}

TEST_P(fake_gpu_failures, of_functions_without_a_plan) {
  for (const GpuRequest& item : one_of_each()) {
    SCOPED_TRACE(item.name);
    const ConstTensorView in(fake_address(1), item.in, device());
    const TensorView out{fake_address(2), item.out, device()};
    for (const bool cached : {false, true})
      exhaust(machine_, [&] {
        machine_.forget_launches();
        if (!cached) {
          forget();
          process_plan_cache().clear();
        }
        return std::visit(
            [&](const auto& spec) {
              using Spec = std::decay_t<decltype(spec)>;
              if constexpr (std::is_same_v<Spec, ReduceSpec>)
                return reduce(in, out, spec);
              else if constexpr (std::is_same_v<Spec, SoftmaxSpec>)
                return softmax(in, out, spec);
              else
                return permute(in, out, spec);
            },
            item.request);
      });
    if (HasFailure()) return;
  }
}

TEST_P(fake_gpu_failures, of_a_plan_cache) {
  const auto facts = DeviceFacts::cuda(ordinal());
  ASSERT_TRUE(facts);
  const GpuRequest item = one_of_each()[1];
  exhaust(machine_, [&] {
    PlanCache cache(4);
    const PlanOptions options{.device = *facts, .strategy = item.strategy};
    const auto spec = std::get<SoftmaxSpec>(item.request);
    const auto plan = cache.softmax(item.in, item.out, spec, options);
    EXPECT_EQ(cache.stats().entries, plan ? 1u : 0u) << "a failure was kept";
    return plan.error();
  });
}

TEST_P(fake_gpu_failures, of_workspaces) {
  exhaust(machine_, [&] {
    forget();
    auto own = OwnedWorkspace::allocate(1000, device());
    if (!own) return own.error();
    OwnedWorkspace moved;
    moved = std::move(*own);
    EXPECT_EQ(Workspace(moved).bytes, 1000u);
    return Status();
  });
}

TEST_P(fake_gpu_failures, of_memory_are_out_of_memory) {
  ASSERT_TRUE(DeviceFacts::cuda(ordinal()));
  machine_.fail(ordinal() == 0 ? 2 : 3, false, kNoMemory);
  const auto own = OwnedWorkspace::allocate(1000, device());
  ASSERT_EQ(machine_.failed(), Function::allocate);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code(), Code::out_of_memory);
  EXPECT_NE(own.error().message().find("1000"), std::string::npos) << own.error().message();
  EXPECT_NE(own.error().message().find("out of memory"), std::string::npos) << own.error().message();
}

INSTANTIATE_TEST_SUITE_P(on_device, fake_gpu_failures, ::testing::Values(0, 1),
                         [](const auto& entry) { return std::to_string(entry.param); });

}  // namespace
}  // namespace ndfold::test
