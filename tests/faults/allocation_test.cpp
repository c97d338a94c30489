// When memory runs out every call says so, throws nothing, leaks nothing and changes nothing; a run needs no memory.
#include <ndfold/plan_cache.h>

#include "tests/faults/exhaust.h"
#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <thread>

namespace ndfold::test {
namespace {

struct Case {
  std::string name;
  AnyRequest request;
  ViewDesc in, out;
  PlanOptions options = {};
};

PlanOptions forced(const std::string& strategy) { return {.device = DeviceFacts::host(), .strategy = strategy}; }

std::vector<Case> all_cases() {
  const ViewDesc cube = dense(DType::f32, {4, 33, 70}), line = dense(DType::f32, {300001});
  const ViewDesc reversed = {.dtype = DType::f16, .sizes = {7, 1, 5, 3}, .strides = {-15, 99, 3, 1}};
  return {
      {"sum", ReduceSpec{.op = ReduceOp::sum, .axes = {1}}, cube, dense(DType::f32, {4, 70})},
      {"sum of a line", ReduceSpec{.op = ReduceOp::sum, .axes = {0}}, line, dense(DType::f32, {})},
      {"var", ReduceSpec{.op = ReduceOp::var, .axes = {0, 2}, .ddof = 1}, cube, dense(DType::f32, {33})},
      {"argmax", ReduceSpec{.op = ReduceOp::argmax, .axes = {0, 3}}, reversed, dense(DType::i64, {1, 5})},
      {"softmax", SoftmaxSpec{.axes = {1}}, cube, cube},
      {"log_softmax", SoftmaxSpec{.axes = {0, 2}, .kind = SoftmaxKind::log_softmax}, cube, cube},
      {"softmax chain", SoftmaxSpec{.axes = {2}}, cube, cube, forced("softmax_chain")},
      {"permute then rows", ReduceSpec{.op = ReduceOp::max, .axes = {0}}, cube, dense(DType::f32, {33, 70}),
       forced("permute_then_rows")},
      {"permute", Order{{2, 0, 1}}, cube, dense(DType::f32, {70, 4, 33})},
  };
}

Array result_of(const ReducePlan& plan, const Case& item) {
  Array in(item.in), out(item.out);
  fill(in, Values::mixed);
  Scratch scratch(plan.workspace_bytes());
  const Status status = plan.run(in.data(), out.data(), scratch.get());
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

template <class Planner>  // ReducePlan or a PlanCache: the same three functions
Result<ReducePlan> ask(Planner& planner, const Case& item) {
  if (const auto* reduce = std::get_if<ReduceSpec>(&item.request))
    return planner.reduce(item.in, item.out, *reduce, item.options);
  if (const auto* softmax = std::get_if<SoftmaxSpec>(&item.request))
    return planner.softmax(item.in, item.out, *softmax, item.options);
  return planner.permute(item.in, item.out, std::get<Order>(item.request), item.options);
}

struct Direct {
  static auto reduce(const auto&... arguments) { return ReducePlan::reduce(arguments...); }
  static auto softmax(const auto&... arguments) { return ReducePlan::softmax(arguments...); }
  static auto permute(const auto&... arguments) { return ReducePlan::permute(arguments...); }
};

TEST(allocation, the_switch_works) {
  static void* volatile seen = nullptr;  // or the compiler would leave out what nobody sees
  const auto allocate = [] {
    const auto number = std::make_unique<int>(1);
    seen = number.get();
    return Code::ok;
  };
  EXPECT_FALSE(fate_of(1, Mode::transient, allocate).code.has_value());
  EXPECT_TRUE(fate_of(2, Mode::transient, allocate).code.has_value());
  const long living = FailingMemory::living();
  auto held = std::make_unique<int>(1);
  seen = held.get();
  EXPECT_EQ(FailingMemory::living(), living + 1);
  held.reset();
  EXPECT_EQ(FailingMemory::living(), living);
  const Failing scope(0);
  seen = std::aligned_alloc(64, 64);
  std::free(seen);
  EXPECT_EQ(FailingMemory::calls(), 1);
}

TEST(allocation, planning_says_that_memory_ran_out) {
  for (const Case& item : all_cases()) {
    SCOPED_TRACE(item.name);
    Direct direct;
    const auto before = ask(direct, item);
    ASSERT_TRUE(before) << before.error().message();
    const Array expected = result_of(*before, item);
    exhaust([&] { return ask(direct, item).error().code(); });
    const auto after = ask(direct, item);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->explain_json(), before->explain_json());
    EXPECT_TRUE(result_of(*after, item) == expected);
    if (HasFailure()) return;
  }
}

// The default options are made by the caller's own expression: they must not need memory either.
TEST(allocation, default_options_are_free) {
  (void)DeviceFacts::host();
  const Failing scope(0);
  const PlanOptions options;
  EXPECT_EQ(FailingMemory::calls(), 0);
}

TEST(allocation, refusals_say_either_reason) {
  const ViewDesc in = dense(DType::f32, {4, 6}), out = dense(DType::f32, {5});
  const ReduceSpec spec{.op = ReduceOp::sum, .axes = {1}};
  for (const Mode mode : kModes)
    for (long failing = 1;; ++failing) {
      const Fate fate = fate_of(failing, mode, [&] { return ReducePlan::reduce(in, out, spec).error().code(); });
      ASSERT_TRUE(fate.code.has_value()) << "an exception crossed the API at allocation " << failing;
      EXPECT_TRUE(*fate.code == Code::invalid_argument || *fate.code == Code::out_of_memory) << name(*fate.code);
      if (fate.failures == 0) break;
    }
}

TEST(allocation, a_refused_run_says_either_reason) {
  const auto plan = ReducePlan::reduce(dense(DType::f32, {4, 6}), dense(DType::f32, {4}), {.axes = {1}});
  ASSERT_TRUE(plan);
  float out[4];
  for (long failing = 1;; ++failing) {
    const Fate fate = fate_of(failing, Mode::persistent, [&] { return plan->run(nullptr, out).code(); });
    ASSERT_TRUE(fate.code.has_value()) << "an exception crossed the API at allocation " << failing;
    EXPECT_TRUE(*fate.code == Code::invalid_argument || *fate.code == Code::out_of_memory) << name(*fate.code);
    if (fate.failures == 0) break;
  }
}

TEST(allocation, a_cache_stays_as_it_was) {
  const auto cases = all_cases();
  const Case &first = cases[0], &second = cases[4];
  for (const Case& item : {cases[1], cases[6], cases[8]}) {
    SCOPED_TRACE(item.name);
    std::unique_ptr<PlanCache> cache;
    const auto renew = [&] {
      cache = std::make_unique<PlanCache>(2);
      ASSERT_TRUE(ask(*cache, first) && ask(*cache, second));
    };
    renew();
    const PlanCacheStats before = cache->stats();
    const auto check = [&](Code code) {
      const PlanCacheStats after = cache->stats();
      if (code != Code::ok) {
        EXPECT_EQ(after.entries, before.entries);
        EXPECT_EQ(after.bytes, before.bytes);
        EXPECT_EQ(after.evictions, before.evictions);
        EXPECT_TRUE(ask(*cache, first) && ask(*cache, second));
        EXPECT_EQ(cache->stats().hits, after.hits + 2) << "a plan was lost";
      }
      EXPECT_TRUE(ask(*cache, item));
      const auto hits = cache->stats().hits;
      EXPECT_TRUE(ask(*cache, item));
      EXPECT_EQ(cache->stats().hits, hits + 1) << "the plan is not kept";
      EXPECT_EQ(cache->stats().entries, 2u);
      renew();
    };
    exhaust([&] { return ask(*cache, item).error().code(); }, check);
    if (HasFailure()) return;
  }
}

// Whoever waits for a plan that another thread could not build is told so, and does not wait for ever.
TEST(allocation, waiting_threads_are_told) {
  const Case item = all_cases()[1];
  for (long failing = 1; failing <= 40; ++failing) {
    PlanCache cache(4);
    constexpr int kThreads = 3;
    std::atomic<int> ready = 0, escaped = 0, done = 0;
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (++ready; !go;) std::this_thread::yield();
        try {
          done += ask(cache, item).error().code() != Code::internal;
        } catch (...) {
          ++escaped;
        }
      });
    while (ready < kThreads) std::this_thread::yield();
    {
      const Failing scope(failing, Mode::persistent);
      go = true;
      for (auto& thread : threads) thread.join();
    }
    ASSERT_EQ(escaped, 0) << "at allocation " << failing;
    EXPECT_EQ(done, kThreads);
    EXPECT_TRUE(ask(cache, item));
  }
}

TEST(allocation, free_functions_say_that_memory_ran_out) {
  for (const Case& item : all_cases()) {
    if (!(item.options == PlanOptions())) continue;
    SCOPED_TRACE(item.name);
    Array in(item.in), out(item.out);
    fill(in, Values::mixed);
    const ConstTensorView from = in.view();
    const TensorView to = out.view();
    const auto ask_for_it = [&] {
      if (const auto* spec = std::get_if<ReduceSpec>(&item.request)) return reduce(from, to, *spec).code();
      if (const auto* spec = std::get_if<SoftmaxSpec>(&item.request)) return softmax(from, to, *spec).code();
      return permute(from, to, std::get<Order>(item.request)).code();
    };
    const auto call = [&] {
      const Code code = ask_for_it();
      process_plan_cache().clear();  // a plan may be kept although there was no memory to run it
      return code;
    };
    ASSERT_EQ(call(), Code::ok);
    const Array expected = out;
    fill_with(out, 7);
    const Array untouched = out;
    exhaust(call, [&](Code code) {
      EXPECT_TRUE(code == Code::ok || out == untouched) << "something was written";
      ASSERT_EQ(call(), Code::ok);
      EXPECT_TRUE(out == expected);
      fill_with(out, 7);
    });
    if (HasFailure()) return;
  }
}

TEST(allocation, a_missing_workspace_is_out_of_memory) {
  const Case item = all_cases()[1];
  Direct direct;
  const auto plan = ask(direct, item);
  ASSERT_TRUE(plan && plan->workspace_bytes() > 0);
  Array in(item.in), out(item.out);
  fill(in, Values::mixed);
  const ConstTensorView from = in.view();
  const TensorView to = out.view();
  const ReduceSpec spec = std::get<ReduceSpec>(item.request);
  ASSERT_TRUE(reduce(from, to, spec).ok());  // the plan is in the cache now
  fill_with(out, 7);
  long asked = 0;
  for (const Mode mode : kModes)
    for (long failing = 1;; ++failing) {
      const Fate fate = fate_of(failing, mode, [&] { return reduce(from, to, spec).code(); });
      ASSERT_TRUE(fate.code.has_value()) << "an exception crossed the API";
      EXPECT_EQ(*fate.code, fate.failures == 0 ? Code::ok : Code::out_of_memory);
      EXPECT_EQ(out.get(0) == 7, fate.failures > 0);
      fill_with(out, 7);
      if (fate.failures == 0) break;
      ++asked;
    }
  EXPECT_GT(asked, 0);
}

// These have no Status: they give all, or nothing. Not explain_json(): nlohmann-json's destructor needs memory itself.
TEST(allocation, descriptions_are_whole_or_empty) {
  for (const Case& item : all_cases()) {
    SCOPED_TRACE(item.name);
    Direct direct;
    const auto plan = ask(direct, item);
    ASSERT_TRUE(plan);
    const std::string text = plan->explain();
    const auto index = plan->gather_index();
    const auto whole_or_empty = [](const auto& got, const auto& whole) {
      return got.empty() || got == whole ? Code::ok : Code::internal;
    };
    exhaust([&] { return whole_or_empty(plan->explain(), text); });
    exhaust([&] { return whole_or_empty(plan->gather_index(), index); });
    if (HasFailure()) return;
  }
}

TEST(allocation, output_desc_says_that_memory_ran_out) {
  const ViewDesc in = dense(DType::f32, {4, 6, 8});
  const ReduceSpec spec{.op = ReduceOp::argmax, .axes = {-2}, .keep_axes = true};
  exhaust([&] { return output_desc(in, spec).error().code(); });
}

TEST(allocation, a_run_needs_no_memory) {
  const auto own = make_workers(3);
  (void)default_workers();
  for (const Case& item : all_cases()) {
    SCOPED_TRACE(item.name);
    Direct direct;
    const auto plan = ask(direct, item);
    ASSERT_TRUE(plan);
    const Array expected = result_of(*plan, item);
    Array in(item.in), out(item.out);
    fill(in, Values::mixed);
    Scratch scratch(plan->workspace_bytes());
    for (Workers* workers : {static_cast<Workers*>(nullptr), own.get()}) {
      const auto run = [&] { return plan->run(in.data(), out.data(), scratch.get(), {.workers = workers}).code(); };
      const Fate fate = fate_of(1, Mode::persistent, run);
      ASSERT_TRUE(fate.code.has_value()) << "an exception crossed the API";
      EXPECT_EQ(*fate.code, Code::ok);
      EXPECT_EQ(fate.failures, 0) << "allocations of one run";
      EXPECT_TRUE(out == expected);
      fill_with(out, 3);
    }
  }
}

TEST(allocation, a_function_whose_plan_is_kept_needs_no_memory) {
  (void)default_workers();
  for (const Case& item : all_cases()) {
    Direct direct;
    if (!(item.options == PlanOptions()) || ask(direct, item)->workspace_bytes() > 0) continue;
    SCOPED_TRACE(item.name);
    Array in(item.in), out(item.out);
    fill(in, Values::mixed);
    const ConstTensorView from = in.view();
    const TensorView to = out.view();
    const auto call = [&] {
      if (const auto* spec = std::get_if<ReduceSpec>(&item.request)) return reduce(from, to, *spec).code();
      if (const auto* spec = std::get_if<SoftmaxSpec>(&item.request)) return softmax(from, to, *spec).code();
      return permute(from, to, std::get<Order>(item.request)).code();
    };
    ASSERT_EQ(call(), Code::ok);
    const Fate fate = fate_of(1, Mode::persistent, call);
    EXPECT_EQ(fate.code, Code::ok);
    EXPECT_EQ(fate.failures, 0) << "allocations of one call";
  }
}

}  // namespace
}  // namespace ndfold::test
