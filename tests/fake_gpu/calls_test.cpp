// What a run asks of CUDA, counted: launches, which device is current, and nothing else.
#include <ndfold/plan_cache.h>

#include "tests/fake_gpu/requests.h"

namespace ndfold::test {
namespace {

struct Counts {
  long asked = 0, changed = 0, launched = 0, allocated = 0, freed = 0, all = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  friend std::ostream& operator<<(std::ostream& to, const Counts& counts) {
    return to << counts.asked << " asked which device, " << counts.changed << " changed it, " << counts.launched
              << " launched, " << counts.allocated << " allocated, " << counts.freed << " freed, of " << counts.all;
  }
};

template <class Work>
Counts calls_of(const FakeMachine& machine, const Work& work) {
  const auto now = [&] {
    Counts counts{.asked = machine.calls(Function::current_device),
                  .changed = machine.calls(Function::make_current),
                  .launched = machine.calls(Function::launch),
                  .allocated = machine.calls(Function::allocate),
                  .freed = machine.calls(Function::free)};
    for (int f = 0; f < kFunctionCount; ++f) counts.all += machine.calls(static_cast<Function>(f));
    return counts;
  };
  const Counts before = now();
  work();
  const Counts after = now();
  return {.asked = after.asked - before.asked,
          .changed = after.changed - before.changed,
          .launched = after.launched - before.launched,
          .allocated = after.allocated - before.allocated,
          .freed = after.freed - before.freed,
          .all = after.all - before.all};
}

TEST(fake_gpu_calls, a_run_launches_and_asks_once_which_device_is_current) {
  FakeMachine machine({fake_h200(), fake_h200()});
  for (const GpuRequest& item : one_of_each()) {
    SCOPED_TRACE(item.name);
    const auto plan = plan_of(item, *DeviceFacts::cuda(1));
    ASSERT_TRUE(plan) << plan.error().message();
    const auto launches = static_cast<long>(plan->steps().size());
    for (const int current : {0, 1}) {
      make_fake_current(current);
      const long changes = current == 1 ? 0 : 2;
      const Counts counts = calls_of(machine, [&] { EXPECT_TRUE(run_on_fake(*plan).ok()); });
      EXPECT_EQ(counts, (Counts{.asked = 1, .changed = changes, .launched = launches, .all = 1 + changes + launches}));
    }
  }
  make_fake_current(0);
}

// Kernels for a GPU before sm_90 have no way to wait for the launch before. Few long blocks begin when all others
// ended.
TEST(fake_gpu_calls, a_launch_begins_early_where_kernels_wait) {
  struct Case {
    Sizes sizes;
    bool early;
  };
  for (const auto& [sizes, early] : {Case{{256, 256}, true}, {{65536, 4096}, true}, {{256, 262144}, false}})
    for (const bool waits : {true, false}) {
      FakeMachine machine({waits ? fake_h200() : fake_sm80()});
      const GpuRequest item{"a sum", ReduceSpec{.axes = {1}}, dense(DType::f32, sizes), dense(DType::f32, {sizes[0]})};
      const auto plan = plan_of(item, *DeviceFacts::cuda(0));
      ASSERT_TRUE(plan) << plan.error().message();
      EXPECT_TRUE(run_on_fake(*plan).ok());
      ASSERT_EQ(machine.launches().size(), 1u);
      EXPECT_EQ(machine.launches().front().shape.begins_early, early && waits) << ::testing::PrintToString(sizes);
      EXPECT_EQ(machine.complaints(), "");
    }
}

// A workspace is allocated and freed, and for each of these calls the device is asked for again.
TEST(fake_gpu_calls, a_function_whose_plan_is_kept_asks_no_more_than_a_run) {
  FakeMachine machine({fake_h200()});
  const Device device{.kind = DeviceKind::cuda, .ordinal = 0};
  for (const ViewDesc& view : {dense(DType::f32, {256, 256}), dense(DType::f32, {1, 1 << 20})}) {
    const ConstTensorView in(fake_address(1), view, device);
    const TensorView out{fake_address(2), dense(DType::f32, {view.sizes[0]}), device};
    const ReduceSpec spec{.axes = {1}};
    const auto plan = process_plan_cache().reduce(view, out.desc, spec, {.device = *DeviceFacts::cuda(0)});
    ASSERT_TRUE(plan) << plan.error().message();
    const auto launches = static_cast<long>(plan->steps().size());
    const long spaces = plan->workspace_bytes() > 0 ? 1 : 0;
    EXPECT_EQ(spaces, view.sizes[0] == 1 ? 1 : 0) << "both kinds are meant to be seen";
    const Counts counts = calls_of(machine, [&] { EXPECT_TRUE(reduce(in, out, spec).ok()); });
    EXPECT_EQ(counts, (Counts{.asked = 1 + 2 * spaces,
                              .launched = launches,
                              .allocated = spaces,
                              .freed = spaces,
                              .all = 1 + 4 * spaces + launches}));
  }
  process_plan_cache().clear();
}

}  // namespace
}  // namespace ndfold::test
