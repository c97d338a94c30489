// Graphs: captured in global mode right after planning, replayed with new data, several plans in one, one workspace.
#include "tests/gpu/bench.h"
#include "tests/gpu/trial.h"
#include "tests/support/strategies.h"

namespace ndfold::test {
namespace {

class capture : public OnDevice {};

// Runs first in a process of its own when it is asked for by name: nothing has loaded any kernel then.
TEST_F(capture, right_after_planning) {
  std::vector<Trial> trials;
  for (const DType type : {DType::bf16, DType::f32})
    for (const char* strategy : kFoldingStrategies)
      for (const auto& [sizes, axis] : {std::pair(Sizes{3, 9000}, 1), std::pair(Sizes{2500, 40}, 0)})
        trials.push_back({.name = std::string(name(type)) + ' ' + ::testing::PrintToString(sizes),
                          .request = SoftmaxSpec{.axes = {axis}},
                          .in = dense(type, sizes),
                          .out = dense(type, sizes),
                          .strategy = strategy});
  expect_right(trials);
}

// A softmax of columns, and then their sums: the second reads what the first wrote, both use one workspace.
TEST_F(capture, two_plans_in_one_graph) {
  for (const std::string strategy : {"split", "softmax_chain", "columns_in_grid", "permute_then_rows"}) {
    SCOPED_TRACE(strategy);
    const ViewDesc view = dense(DType::f32, {600, 50});
    const auto soft = plan_for(SoftmaxSpec{.axes = {0}}, view, view, {.device = facts(), .strategy = strategy});
    const auto sum = plan_for(ReduceSpec{.op = ReduceOp::sum, .axes = {0}}, view, dense(DType::f32, {50}),
                              {.device = facts(), .strategy = "split"});
    if (!soft || !sum) continue;
    Array in(view), middle(view), out(dense(DType::f32, {50}));
    Bench bench;
    bench.lay_out(in, &out, std::max(soft->workspace_bytes(), sum->workspace_bytes()));
    const Memory between(middle.total_bytes());
    Graph graph(bench.queue(), [&] {
      const Status status = soft->run(bench.in(), between.data(), bench.workspace(), bench.queue().get());
      return status ? sum->run(between.data(), bench.out(), bench.workspace(), bench.queue().get()) : status;
    });
    ASSERT_TRUE(graph.status().ok()) << graph.status().message();
    EXPECT_EQ(graph.other_than_kernels(soft->steps().size() + sum->steps().size()), "");
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      fill(in, Values::mixed, seed);
      bench.put(in, static_cast<int>(seed));
      graph.launch();
      EXPECT_EQ(bench.take(out), "");
      const Precision p = precision_of(DType::f32, DType::best, DType::f32);
      for (const Index place : out.elements())
        EXPECT_NEAR(static_cast<double>(out.get(place)), 1, static_cast<double>(exp_sum_error(p, 600) * 4))
            << "column " << place;
    }
  }
}

// A replay finds in the workspace what another plan left there.
TEST_F(capture, replays_between_other_runs_in_the_same_workspace) {
  const ViewDesc view = dense(DType::f32, {3, 50000});
  const SoftmaxSpec spec{.axes = {1}};
  for (const std::string strategy : {"rows_in_grid", "split", "softmax_chain"})
    for (const std::string other : {"split", "rows_in_grid", "softmax_chain"}) {
      SCOPED_TRACE(strategy + " between " + other);
      const auto one = plan_for(spec, view, view, {.device = facts(), .strategy = strategy});
      const auto two = plan_for(spec, view, view, {.device = facts(), .strategy = other});
      if (!one || !two) continue;
      Array in(view), first(view), again(view);
      fill(in, Values::mixed);
      Bench bench;
      bench.lay_out(in, &first, std::max(one->workspace_bytes(), two->workspace_bytes()));
      const auto run = [&](const ReducePlan& plan) {
        return plan.run(bench.in(), bench.out(), bench.workspace(), bench.queue().get());
      };
      Graph graph(bench.queue(), [&] { return run(*one); });
      ASSERT_TRUE(graph.status().ok()) << graph.status().message();
      bench.put(in, 0);
      graph.launch();
      EXPECT_EQ(bench.take(first), "");
      for (int replay = 0; replay < 3; ++replay) {
        bench.put(in, 0xff);
        ASSERT_TRUE(run(*two).ok());
        graph.launch();
        graph.launch();
        EXPECT_EQ(bench.take(again), "");
        EXPECT_TRUE(again == first) << "replay " << replay;
      }
    }
}

TEST_F(capture, a_refused_run_leaves_the_capture_alone) {
  const ViewDesc view = dense(DType::f32, {40, 50});
  const auto plan = plan_for(SoftmaxSpec{.axes = {1}}, view, view, {.device = facts(), .strategy = {}});
  ASSERT_TRUE(plan) << plan.error().message();
  Array in(view), out(view);
  fill(in, Values::mixed);
  Bench bench;
  bench.lay_out(in, &out, plan->workspace_bytes());
  Status refused;
  Graph graph(bench.queue(), [&] {
    refused = plan->run(nullptr, bench.out(), bench.workspace(), bench.queue().get());
    return plan->run(bench.in(), bench.out(), bench.workspace(), bench.queue().get());
  });
  ASSERT_TRUE(graph.status().ok()) << graph.status().message();
  bench.put(in, 0);
  graph.launch();
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_EQ(bench.take(out), "");
  EXPECT_TRUE(out.gaps_untouched());
}

}  // namespace
}  // namespace ndfold::test
