// The widest instruction set of this machine runs, or the one that NDFOLD_CPU names; other names are refused.
#include "lib/exec/cpu/levels.h"

#include <ndfold/ndfold.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace ndfold::test {
namespace {

using ::testing::ExitedWithCode;

TEST(levels, begin_with_one_that_is_everywhere_and_have_names) {
  ASSERT_FALSE(cpu::levels().empty());
  EXPECT_EQ(cpu::levels()[0].name, "baseline");
  EXPECT_TRUE(cpu::levels()[0].is_here());
  EXPECT_EQ(cpu::levels().size(), std::size_t{NDFOLD_LEVELS});
}

TEST(levels, widest_is_chosen_unless_one_is_asked_for) {
  const char* const asked = std::getenv("NDFOLD_CPU");
  std::string_view expected;
  for (const cpu::Level& level : cpu::levels())
    if (level.is_here() && (asked == nullptr || level.name == asked)) expected = level.name;
  EXPECT_EQ(cpu_level(), expected);
}

Status sum_of_four() {
  const float in[] = {1, 2, 3, 4};
  float out = 0;
  return reduce({in, dense(DType::f32, {4})}, {&out, dense(DType::f32, {})}, {.op = ReduceOp::sum, .axes = {0}});
}

// Asked for once a process: every name needs one of its own.
void exit_with(const char* level) {
  setenv("NDFOLD_CPU", level, 1);
  const Status status = sum_of_four();
  std::fprintf(stderr, "%s: %s\n", std::string(cpu_level()).c_str(), status.message().c_str());
  std::exit(status.ok() ? 0 : 1);
}

class levels_death : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(levels_death, each_that_is_here_runs_when_asked_for) {
  for (const cpu::Level& level : cpu::levels()) {
    if (!level.is_here()) continue;
    const std::string name(level.name);
    EXPECT_EXIT(exit_with(name.c_str()), ExitedWithCode(0), name + ": ");
  }
}

TEST_F(levels_death, names_of_none_are_refused_with_the_names_there_are) {
  EXPECT_EXIT(exit_with("avx9"), ExitedWithCode(1), ": NDFOLD_CPU asks for avx9, this machine and build have baseline");
  EXPECT_EXIT(exit_with(""), ExitedWithCode(1), "NDFOLD_CPU asks for , this");
}

}  // namespace
}  // namespace ndfold::test
