// The first large run starts the default workers: without memory for them it says so, and the next run starts them.
// Alone in its program: in any other the workers may have been started already.
#include "tests/faults/exhaust.h"
#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ndfold::test {
namespace {

TEST(first_run, without_memory_for_the_workers) {
  ASSERT_EQ(setenv("NDFOLD_NUM_THREADS", "4", 1), 0);
  const ViewDesc large = dense(DType::f32, {512, 1024});
  const SoftmaxSpec spec{.axes = {1}};
  const auto plan = ReducePlan::softmax(large, large, spec);
  ASSERT_TRUE(plan);
  Array in(large), out(large);
  fill_with(in, 1);
  Scratch scratch(plan->workspace_bytes());
  long failing = 1;
  for (;; ++failing) {
    const auto mode = failing % 2 == 0 ? Mode::transient : Mode::persistent;
    const Fate fate = fate_of(failing, mode, [&] { return plan->run(in.data(), out.data(), scratch.get()).code(); });
    ASSERT_TRUE(fate.code.has_value()) << "an exception crossed the API at allocation " << failing;
    if (*fate.code == Code::ok) break;
    ASSERT_EQ(*fate.code, Code::out_of_memory);
    ASSERT_TRUE(out.untouched());
  }
  EXPECT_GT(failing, 1) << "nothing was made to fail";
  Real worst = 0;
  EXPECT_EQ(judge(expected_of(spec, in, large), out, false, false, worst), "");
}

}  // namespace
}  // namespace ndfold::test
