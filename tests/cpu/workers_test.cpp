// Workers run each task once, whoever calls, from wherever, and however many tasks there are.
#include <ndfold/workers.h>

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace ndfold {
namespace {

struct Tally {
  explicit Tally(Index tasks) : seen(static_cast<std::size_t>(tasks)) {}
  static void count(void* context, Index task) { ++static_cast<Tally*>(context)->seen[static_cast<std::size_t>(task)]; }
  bool each_once() const {
    for (const auto& times : seen)
      if (times != 1) return false;
    return true;
  }
  std::vector<std::atomic<int>> seen;
};

bool runs_each_once(Workers& workers, Index tasks) {
  Tally tally(tasks);
  workers.run(tasks, Tally::count, &tally);
  return tally.each_once();
}

TEST(workers, run_each_task_once) {
  for (const int threads : {1, 2, 3, 8}) {
    const auto workers = make_workers(threads);
    for (const Index tasks : {0, 1, 2, 3, 7, 8, 9, 100, 5000})
      EXPECT_TRUE(runs_each_once(*workers, tasks)) << threads << " threads, " << tasks << " tasks";
  }
}

TEST(workers, count_the_calling_thread) {
  EXPECT_EQ(make_workers(1)->threads(), 1);
  EXPECT_EQ(make_workers(5)->threads(), 5);
  EXPECT_EQ(make_workers(0)->threads(), 1);
  EXPECT_EQ(make_workers(-3)->threads(), 1);
}

TEST(workers, one_thread_is_the_caller) {
  const auto workers = make_workers(1);
  static thread_local bool mine = false;
  mine = true;
  std::atomic<int> elsewhere = 0;
  workers->run(
      100, [](void* context, Index) { *static_cast<std::atomic<int>*>(context) += !mine; }, &elsewhere);
  EXPECT_EQ(elsewhere, 0);
}

// All writes of the tasks are seen by the caller afterwards, without any other synchronization.
TEST(workers, results_are_seen_by_the_caller) {
  const auto workers = make_workers(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<Index> plain(64, -1);
    workers->run(
        64,
        [](void* context, Index task) {
          (*static_cast<std::vector<Index>*>(context))[static_cast<std::size_t>(task)] = task;
        },
        &plain);
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(plain[i], static_cast<Index>(i));
  }
}

struct Nest {
  Workers* workers;
  std::atomic<int> wrong{0}, done{0};
  static void run(void* context, Index) {
    Nest& nest = *static_cast<Nest*>(context);
    if (!runs_each_once(*nest.workers, 20)) ++nest.wrong;
    ++nest.done;
  }
};

TEST(workers, may_be_called_from_their_own_tasks) {
  for (const int threads : {1, 2, 4}) {
    const auto workers = make_workers(threads);
    Nest nest{.workers = workers.get()};
    for (int round = 0; round < 20; ++round) workers->run(16, Nest::run, &nest);
    EXPECT_EQ(nest.done, 320);
    EXPECT_EQ(nest.wrong, 0);
  }
}

TEST(workers, may_be_called_from_other_workers_tasks) {
  const auto outer = make_workers(3), inner = make_workers(2);
  Nest nest{.workers = inner.get()};
  outer->run(50, Nest::run, &nest);
  EXPECT_EQ(nest.done, 50);
  EXPECT_EQ(nest.wrong, 0);
}

TEST(workers, serve_many_callers_at_once) {
  const auto workers = make_workers(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 100; ++round) wrong += !runs_each_once(*workers, (c * 7 + round) % 40);
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(workers, come_and_go) {
  for (int round = 0; round < 30; ++round) {
    const auto workers = make_workers(4);
    EXPECT_TRUE(round % 2 == 0 || runs_each_once(*workers, 10));
  }
}

TEST(workers, default_ones_are_the_same_for_all) {
  Workers* first = &default_workers();
  Workers* second = nullptr;
  std::thread([&] { second = &default_workers(); }).join();
  EXPECT_EQ(first, second);
  EXPECT_GE(first->threads(), 1);
  EXPECT_TRUE(runs_each_once(*first, 100));
}

}  // namespace
}  // namespace ndfold
