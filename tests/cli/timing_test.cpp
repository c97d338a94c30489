// Tables and JSON of work that has a clock of its own, as a GPU's has; the host's clock is in bench_test.py.
#include "tools/timing.h"

#include <gtest/gtest.h>

#include <sstream>

namespace ndfold::cli {
namespace {

constexpr Repeats kFew = {.count = 3, .seconds = 1e-4};

// `runs` of them in a millisecond; the third call fails if `fails`.
Timed millisecond(const char* name, Index runs, std::size_t bytes, int& calls, bool fails = false) {
  const auto seconds = [&calls, fails]() -> Result<double> {
    if (++calls == 3 && fails) return Status(Code::internal, "the clock has stopped");
    return 1e-3;
  };
  return {.name = name, .run = {}, .bytes = bytes, .seconds = seconds, .runs = runs};
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(timing, a_run_takes_its_share_of_the_clock) {
  int plan = 0, copy = 0;
  const auto table =
      timing_table({millisecond("plan", 10, 1'000'000, plan), millisecond("memcpy", 5, 1'000'000, copy)}, kFew);
  ASSERT_TRUE(table);
  const std::vector<std::string> expected = {"median", "ms",   "GB/s",   "of",     "memcpy", "plan", "0.1000",
                                             "10.00",  "200%", "memcpy", "0.2000", "5.00",   "100%"};
  EXPECT_EQ(words_of(*table), expected) << *table;
  EXPECT_GE(plan, kFew.count);
}

TEST(timing, tables_do_not_remember_each_other) {
  int calls = 0;
  for (const char* name : {"first", "second"}) {
    const auto table = timing_table({millisecond(name, 1, 1000, calls)}, kFew);
    ASSERT_TRUE(table);
    EXPECT_EQ(words_of(*table).size(), 9u) << *table;
    EXPECT_EQ(words_of(*table)[5], name);
  }
}

TEST(timing, a_clock_that_fails_is_the_answer) {
  int plan = 0, copy = 0;
  const auto table = timing_table({millisecond("plan", 1, 8, plan, true), millisecond("memcpy", 1, 8, copy)}, kFew);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message(), "the clock has stopped");
  EXPECT_EQ(copy, 0) << "nothing is timed after a failure";
}

TEST(timing, json_counts_runs) {
  int calls = 0;
  testing::internal::CaptureStdout();
  const auto status = print_timing_json({millisecond("plan", 10, 1'000'000, calls)}, kFew, "cuda:0, a model");
  const std::string json = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(status.ok());
  EXPECT_NE(json.find("\"device\": \"cuda:0, a model\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"bytes_per_second\": 1.0000000000000000e+10"), std::string::npos) << json;
}

}  // namespace
}  // namespace ndfold::cli
