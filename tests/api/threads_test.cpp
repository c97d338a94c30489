// Results do not depend on how many threads there are, and one plan serves many threads at once.
#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ndfold::test {
namespace {

constexpr const char* kStrategies[] = {"",           "rows_in_block", "columns_in_block", "split",
                                       "map_across", "wide_columns",  "softmax_chain",    "permute_then_rows"};

struct Work {
  AnyRequest request;
  ViewDesc in, out;
  std::string strategy;
};

std::ostream& operator<<(std::ostream& stream, const Work& work) {
  return stream << work.strategy << ' ' << ::testing::PrintToString(work.in.sizes);
}

struct Shape {
  Sizes sizes;
  AxisSet axes;
};

// Large enough to be split, in each orientation; sizes are no multiple of anything.
const Shape kShapes[] = {{{300001}, {0}},        {{3, 100003}, {1}}, {{150001, 3}, {0}},
                         {{601, 503}, {1}},      {{601, 503}, {0}},  {{7, 211, 301}, {1}},
                         {{67, 91, 53}, {0, 2}}, {{40007, 7}, {1}},  {{20011, 5, 3}, {1}}};

std::vector<Work> all_work(const std::vector<ReduceOp>& ops) {
  std::vector<Work> list;
  for (const Shape& shape : kShapes)
    for (const std::string strategy : kStrategies) {
      const ViewDesc in = dense(DType::f32, shape.sizes);
      for (const ReduceOp op : ops)
        list.push_back({ReduceSpec{.op = op, .axes = shape.axes}, in,
                        dense(default_output(op, DType::f32), output_sizes(shape.sizes, shape.axes)), strategy});
      list.push_back({SoftmaxSpec{.axes = shape.axes}, in, in, strategy});
      list.push_back(
          {SoftmaxSpec{.axes = shape.axes}, in, lay_out(DType::f32, shape.sizes, Layout::column_major), strategy});
      list.push_back(
          {SoftmaxSpec{.axes = shape.axes}, in, lay_out(DType::f32, shape.sizes, Layout::reversed), strategy});
    }
  return list;
}

Array run(const ReducePlan& plan, const Work& work, const Array& in, Workers& workers) {
  Array out(work.out);
  Scratch scratch(plan.workspace_bytes());
  const Status status = plan.run(in.data(), out.data(), scratch.get(), {.handle = nullptr, .workers = &workers});
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

PlanOptions forced(const Work& work) { return {.device = DeviceFacts::host(), .strategy = work.strategy}; }

void expect_same_bits(const std::vector<ReduceOp>& ops, const std::vector<int>& counts) {
  std::vector<std::unique_ptr<Workers>> teams;
  for (const int count : counts) teams.push_back(make_workers(count));
  const auto one = make_workers(1);
  int compared = 0;
  Array in(dense(DType::f32, {}));
  for (const Work& work : all_work(ops)) {
    SCOPED_TRACE(::testing::PrintToString(work));
    const auto plan = plan_for(work.request, work.in, work.out, forced(work));
    if (!plan) continue;
    if (in.desc() != work.in) in = Array(work.in), fill(in, Values::mixed);
    const Array alone = run(*plan, work, in, *one);
    for (const auto& team : teams) EXPECT_TRUE(run(*plan, work, in, *team) == alone) << team->threads() << " threads";
    ++compared;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, 40);
}

TEST(threads, results_are_bitwise_equal_for_1_to_8) {
#if defined(__SANITIZE_ADDRESS__)  // it looks at memory, not at numbers
  expect_same_bits({ReduceOp::sum, ReduceOp::var}, {3, 8});
#else
  expect_same_bits({ReduceOp::sum, ReduceOp::var}, {2, 3, 4, 5, 6, 7, 8});
#endif
}

TEST(threads, results_of_other_ops_are_bitwise_equal) {
  expect_same_bits({ReduceOp::prod, ReduceOp::mean, ReduceOp::argmax, ReduceOp::max, ReduceOp::l2, ReduceOp::logsumexp,
                    ReduceOp::count_nonzero},
                   {2, 5});
}

TEST(threads, workers_run_each_task_once) {
  for (const int threads : {1, 2, 5}) {
    const auto workers = make_workers(threads);
    EXPECT_EQ(workers->threads(), threads);
    for (const Index tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(tasks));
      workers->run(
          tasks,
          [](void* context, Index task) { ++(*static_cast<decltype(seen)*>(context))[static_cast<std::size_t>(task)]; },
          &seen);
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(threads, make_workers_of_none_is_one) { EXPECT_GE(make_workers(0)->threads(), 1); }

// The default workers are shared by all; a plan is never changed by running.
TEST(threads, one_plan_runs_on_many_threads_at_once) {
  for (const std::string strategy : kStrategies) {
    const Work work{SoftmaxSpec{.axes = {1}}, dense(DType::f32, {37, 3001}), dense(DType::f32, {37, 3001}), strategy};
    const auto plan = plan_for(work.request, work.in, work.out, forced(work));
    if (!plan) continue;
    Array in(work.in);
    fill(in, Values::mixed);
    const Array expected = run(*plan, work, in, default_workers());
    const auto own = make_workers(2);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5; ++i)
          if (!(run(*plan, work, in, t % 2 == 0 ? default_workers() : *own) == expected)) ++wrong;
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << strategy;
  }
}

TEST(threads, free_functions_from_many_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (Index n = 1; n <= 30; ++n) {
        Array in(dense(DType::f32, {n, 40})), out(dense(DType::f32, {40}));
        fill_with(in, t + 1);
        if (!reduce(in.view(), out.view(), {.op = ReduceOp::sum, .axes = {0}}).ok()) ++wrong;
        for (const Index place : out.elements()) wrong += out.get(place) != static_cast<Real>(n * (t + 1));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ndfold::test
