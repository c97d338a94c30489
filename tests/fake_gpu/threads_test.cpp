// Plans for GPUs, their cache and their runs, from many threads at once.
#include <ndfold/plan_cache.h>

#include "tests/fake_gpu/requests.h"

#include <atomic>
#include <thread>

namespace ndfold::test {
namespace {

template <class Body>
void on_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

// `quiet`: the fake's own lock would order threads that the library leaves unordered.
class fake_gpu_threads : public ::testing::Test {
 protected:
  fake_gpu_threads() : machine_({fake_h200(), fake_h200()}) { machine_.quiet = true; }
  FakeMachine machine_;
};

TEST_F(fake_gpu_threads, one_plan_runs_on_many) {
  for (const GpuRequest& item : one_of_each()) {
    const auto plan = plan_of(item, *DeviceFacts::cuda(1));
    ASSERT_TRUE(plan) << plan.error().message();
    std::atomic<int> wrong = 0;
    on_threads(6, [&](int thread) {
      make_fake_current(thread % 2);
      for (int i = 0; i < 50; ++i) {
        if (!run_on_fake(*plan, 4 * (i % 5)).ok()) ++wrong;
        if (fake_current_device() != thread % 2) ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0) << item.name;
  }
}

TEST_F(fake_gpu_threads, facts_are_asked_by_many) {
  std::atomic<int> wrong = 0;
  on_threads(6, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      const auto facts = DeviceFacts::cuda((thread + i) % 2);
      if (!facts || facts->ordinal != (thread + i) % 2) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(fake_gpu_threads, a_cache_plans_for_many) {
  PlanCache cache(3);  // fewer than requests: plans are evicted while others run them
  const auto requests = one_of_each();
  std::atomic<int> wrong = 0;
  on_threads(6, [&](int thread) {
    for (std::size_t i = 0; i < 40; ++i) {
      const GpuRequest& item = requests[(i * static_cast<std::size_t>(thread + 1)) % 7];
      const auto facts = DeviceFacts::cuda(static_cast<int>(i) % 2);
      const auto plan = cache.softmax(item.in, item.out, std::get<SoftmaxSpec>(item.request),
                                      {.device = *facts, .strategy = item.strategy});
      if (!plan || !run_on_fake(*plan).ok()) ++wrong;
      if (i % 10 == 9) cache.clear();
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.stats().entries, 3u);
}

TEST_F(fake_gpu_threads, functions_without_a_plan) {
  std::atomic<int> wrong = 0;
  on_threads(6, [&](int thread) {
    for (Index n = 1; n <= 30; ++n) {
      const Device device{.kind = DeviceKind::cuda, .ordinal = thread % 2};
      const ConstTensorView in(fake_address(1), dense(DType::f32, {n, 40000}), device);
      const TensorView out{fake_address(2), in.desc, device};
      if (!softmax(in, out, {.axes = {1}}).ok()) ++wrong;
      if (!reduce(in, {fake_address(2), dense(DType::f32, {n}), device}, {.axes = {1}}).ok()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ndfold::test
