// PlanCache: what it counts, what it forgets, and that it builds each plan once.
#include <ndfold/plan_cache.h>

#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ndfold::test {
namespace {

const ViewDesc kIn = dense(DType::f32, {4, 6, 8});
const ViewDesc kOut = dense(DType::f32, {4, 8});
const ReduceSpec kSum{.op = ReduceOp::sum, .axes = {1}};

void ask(PlanCache& cache, Index n) {
  const auto plan = cache.reduce(dense(DType::f32, {n, 3}), dense(DType::f32, {n}), {.op = ReduceOp::sum, .axes = {1}});
  EXPECT_TRUE(plan) << plan.error().message();
}

TEST(cache, counts_hits_and_misses) {
  PlanCache cache(8);
  EXPECT_EQ(cache.stats().capacity, 8u);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(cache.reduce(kIn, kOut, kSum));
  const PlanCacheStats stats = cache.stats();
  EXPECT_EQ(stats.misses, 1u);
  EXPECT_EQ(stats.hits, 4u);
  EXPECT_EQ(stats.entries, 1u);
  EXPECT_EQ(stats.evictions, 0u);
  EXPECT_GT(stats.bytes, 0u);
}

TEST(cache, evicts_the_least_recently_used) {
  PlanCache cache(2);
  ask(cache, 1), ask(cache, 2), ask(cache, 1), ask(cache, 3);  // 2 goes
  EXPECT_EQ(cache.stats().evictions, 1u);
  EXPECT_EQ(cache.stats().entries, 2u);
  const auto misses = cache.stats().misses;
  ask(cache, 1), ask(cache, 3);
  EXPECT_EQ(cache.stats().misses, misses);
  ask(cache, 2);
  EXPECT_EQ(cache.stats().misses, misses + 1);
}

TEST(cache, of_capacity_0_keeps_nothing) {
  PlanCache cache(0);
  ask(cache, 1), ask(cache, 1);
  EXPECT_EQ(cache.stats().entries, 0u);
  EXPECT_EQ(cache.stats().hits, 0u);
  EXPECT_EQ(cache.stats().misses, 2u);
  EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(cache, clear_and_set_capacity) {
  PlanCache cache(10);
  for (Index n = 1; n <= 6; ++n) ask(cache, n);
  cache.set_capacity(2);
  EXPECT_EQ(cache.stats().entries, 2u);
  EXPECT_EQ(cache.stats().evictions, 4u);
  EXPECT_EQ(cache.stats().capacity, 2u);
  cache.clear();
  EXPECT_EQ(cache.stats().entries, 0u);
  EXPECT_EQ(cache.stats().bytes, 0u);
  EXPECT_EQ(cache.stats().misses, 6u);
  ask(cache, 6);
  EXPECT_EQ(cache.stats().misses, 7u);
}

TEST(cache, keys_compare_by_value) {
  PlanCache cache(100);
  ASSERT_TRUE(cache.reduce(kIn, kOut, kSum));
  std::vector<ViewDesc> copies(20, dense(DType::f32, {4, 6, 8}));  // other addresses, the same values
  for (const ViewDesc& copy : copies) ASSERT_TRUE(cache.reduce(copy, ViewDesc(kOut), ReduceSpec(kSum)));
  EXPECT_EQ(cache.stats().misses, 1u);
}

// Each of these changes a schedule, an answer or a check: none may be served by another's plan.
TEST(cache, everything_that_matters_is_in_the_key) {
  PlanCache cache(100);
  std::uint64_t misses = 0;
  const auto expect_miss = [&](const Result<ReducePlan>& plan, const char* what) {
    EXPECT_TRUE(plan) << what << ": " << plan.error().message();
    EXPECT_EQ(cache.stats().misses, ++misses) << what;
  };
  const auto with = [](ViewDesc view, auto change) {
    change(view);
    return view;
  };
  expect_miss(cache.reduce(kIn, kOut, kSum), "the first");
  expect_miss(cache.reduce(with(kIn, [](ViewDesc& v) { v.alignment_bytes = 64; }), kOut, kSum), "alignment of in");
  expect_miss(cache.reduce(kIn, with(kOut, [](ViewDesc& v) { v.alignment_bytes = 64; }), kSum), "alignment of out");
  expect_miss(cache.reduce(with(kIn, [](ViewDesc& v) { v.strides = {48, 1, 6}; }), kOut, kSum), "strides of in");
  expect_miss(cache.reduce(kIn, with(kOut, [](ViewDesc& v) { v.strides = {1, 4}; }), kSum), "strides of out");
  expect_miss(cache.reduce(with(kIn, [](ViewDesc& v) { v.dtype = DType::f16; }), kOut, kSum), "type of in");
  expect_miss(cache.reduce(kIn, with(kOut, [](ViewDesc& v) { v.dtype = DType::f64; }), kSum), "type of out");
  expect_miss(cache.reduce(kIn, kOut, {.op = ReduceOp::max, .axes = {1}}), "op");
  expect_miss(cache.reduce(kIn, dense(DType::f32, {6, 8}), {.op = ReduceOp::sum, .axes = {0}}), "axes");
  expect_miss(cache.reduce(kIn, kOut, {.op = ReduceOp::sum, .axes = {1}, .accumulate = DType::f64}), "accumulate");
  expect_miss(cache.reduce(kIn, kOut, {.op = ReduceOp::sum, .axes = {1}, .compensated = true}), "compensated");
  expect_miss(cache.reduce(kIn, kOut, {.op = ReduceOp::var, .axes = {1}}), "var");
  expect_miss(cache.reduce(kIn, kOut, {.op = ReduceOp::var, .axes = {1}, .ddof = 1}), "ddof");
  expect_miss(cache.softmax(kIn, kIn, {.axes = {1}}), "softmax");
  expect_miss(cache.softmax(kIn, kIn, {.axes = {1}, .kind = SoftmaxKind::log_softmax}), "kind");
  expect_miss(cache.softmax(kIn, kIn, {.axes = {1}, .scale = 2}), "scale");
  expect_miss(cache.softmax(kIn, kIn, {.axes = {1}, .alpha = 2}), "alpha");
  expect_miss(cache.permute(kIn, kIn, {{0, 1, 2}}), "permute");
  PlanOptions options;
  options.block_limit = 4;
  expect_miss(cache.reduce(kIn, kOut, kSum, options), "block_limit");
  options = {.device = DeviceFacts::host(), .strategy = "permute_then_rows"};
  expect_miss(cache.reduce(kIn, kOut, kSum, options), "strategy");
  options = {};
  options.device.cache_bytes *= 2;
  expect_miss(cache.reduce(kIn, kOut, kSum, options), "device");
}

TEST(cache, does_not_keep_refusals) {
  PlanCache cache(8);
  for (int i = 0; i < 3; ++i) {
    const auto plan = cache.reduce(kIn, kOut, {.op = ReduceOp::sum, .axes = {9}});
    EXPECT_EQ(plan.error().code(), Code::invalid_argument);
  }
  EXPECT_EQ(cache.stats().entries, 0u);
  EXPECT_EQ(cache.stats().hits, 0u);
}

TEST(cache, a_plan_outlives_its_eviction) {
  PlanCache cache(1);
  const auto plan = cache.reduce(kIn, kOut, kSum);
  ask(cache, 1), cache.clear();
  Array in(kIn), out(kOut);
  fill_with(in, 1);
  Scratch scratch(plan->workspace_bytes());
  ASSERT_TRUE(plan->run(in.data(), out.data(), scratch.get()).ok());
  EXPECT_EQ(out.get(31), 6);
}

TEST(cache, builds_a_plan_once_for_many_threads) {
  for (int round = 0; round < 20; ++round) {
    PlanCache cache(8);
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&] {
        for (++ready; ready < 6;) std::this_thread::yield();
        EXPECT_TRUE(cache.reduce(kIn, kOut, kSum));
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(cache.stats().misses, 1u);
    EXPECT_EQ(cache.stats().hits, 5u);
  }
}

TEST(cache, threads_that_evict_each_other) {
  PlanCache cache(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (Index i = 0; i < 200; ++i) {
        ask(cache, 1 + static_cast<Index>(hash(static_cast<std::uint64_t>(i * 4 + t)) % 5));
        if (i % 50 == 49) cache.clear();
        if (i % 60 == 59) cache.set_capacity(static_cast<std::size_t>(i % 4));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(cache.stats().hits + cache.stats().misses, 800u);
  EXPECT_LE(cache.stats().entries, cache.stats().capacity);
}

TEST(cache, the_free_functions_use_the_process_cache) {
  const auto before = process_plan_cache().stats();
  Array in(dense(DType::f32, {3, 41})), out(dense(DType::f32, {3}));
  fill_with(in, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(reduce(in.view(), out.view(), {.op = ReduceOp::sum, .axes = {1}}).ok());
  const auto after = process_plan_cache().stats();
  EXPECT_EQ(after.misses - before.misses, 1u);
  EXPECT_EQ(after.hits - before.hits, 2u);
}

}  // namespace
}  // namespace ndfold::test
