// Numbers that take the place of a tuning table's: what of a file is taken, what is refused and why, and what plans
// use.
#include "plans/tuning/override.h"

#include "kernels/cuda/catalog.h"
#include "plans/choose.h"
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ndfold::test {
namespace {

TuningOverride of_table(int architecture, const TuningRow& row) { return {.architecture = architecture, .row = row}; }

std::span<const TuningRow> rows_of(int architecture) {
  return built_in_rows({.kind = DeviceKind::cuda, .architecture = architecture});
}

/// A row of an H200's table.
TuningOverride row_of(std::string_view strategy, bool softmax_only) {
  for (const TuningRow& row : rows_of(90))
    if (row.when.strategy == strategy && row.when.softmax_only == softmax_only) return of_table(90, row);
  ADD_FAILURE() << strategy;
  return {};
}

std::string file_of(const std::vector<std::string>& lines) {
  std::string text = "# a comment\n\n" + override_columns() + "\r\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string refusal_of(const TuningOverride& item) {
  return parse_overrides(file_of({text_of(item)})).error().message();
}

/// Puts the tables back.
class Override : public ::testing::Test {
 protected:
  ~Override() override { use_overrides({}); }
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(Override, EveryRowOfATableIsRead) {
  for (const int architecture : {80, 90, 100}) {
    std::vector<std::string> lines;
    for (const TuningRow& row : rows_of(architecture)) lines.push_back(text_of(of_table(architecture, row)));
    const auto items = parse_overrides(file_of(lines));
    ASSERT_TRUE(items) << items.error().message();
    ASSERT_EQ(items->size(), rows_of(architecture).size());
    for (std::size_t i = 0; i < items->size(); ++i) {
      EXPECT_EQ((*items)[i].row.use, rows_of(architecture)[i].use);
      EXPECT_EQ((*items)[i].row.residency, rows_of(architecture)[i].residency);
      EXPECT_EQ(text_of((*items)[i]), lines[i]);
    }
  }
}

TEST_F(Override, TakesTheRowsPlaceAndNoOther) {
  TuningOverride item = row_of("columns_in_block", false);
  item.row.use.unroll = 2;
  use_overrides(*parse_overrides(file_of({text_of(item)})));
  const auto now = tuning_rows(DeviceFacts::h200()), before = built_in_rows(DeviceFacts::h200());
  ASSERT_EQ(now.size(), before.size());
  int changed = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    EXPECT_EQ(now[i].when.strategy, before[i].when.strategy);
    EXPECT_EQ(now[i].residency, before[i].residency);
    if (now[i].use == before[i].use) continue;
    ++changed;
    EXPECT_EQ(now[i].use.unroll, 2);
    EXPECT_EQ(now[i].evidence, "NDFOLD_TUNING");
  }
  EXPECT_EQ(changed, 1);
  EXPECT_EQ(tuning_rows(DeviceFacts::a100()).data(), built_in_rows(DeviceFacts::a100()).data());
  EXPECT_EQ(tuning_rows(fixed_host()).data(), built_in_rows(fixed_host()).data());
}

TEST_F(Override, PlansUseIt) {
  Request request = sum_of({8, 4096}, {0}, DeviceFacts::h200());
  request.options.strategy = "columns_in_block";
  const auto problem = make_problem(request);
  ASSERT_TRUE(problem);
  const auto panel_of_plan = [&] {
    return choose(*problem, request.options)->schedule.steps[0].kernel.tuning.panel_bytes;
  };
  TuningOverride item = row_of("columns_in_block", false);
  ASSERT_EQ(panel_of_plan(), item.row.use.panel_bytes);
  item.row.use.panel_bytes /= 2;
  use_overrides({item});
  EXPECT_EQ(panel_of_plan(), item.row.use.panel_bytes);
  use_overrides({});
  EXPECT_EQ(panel_of_plan(), 2 * item.row.use.panel_bytes);
}

struct Wrong {
  const char* field;
  void (*make)(TuningOverride&);
};

TEST_F(Override, ARefusalNamesTheLineAndTheField) {
  constexpr Wrong kWrong[] = {
      {"architecture is '0'", [](TuningOverride& item) { item.architecture = 0; }},
      {"threads is '100'", [](TuningOverride& item) { item.row.use.threads = 100; }},
      {"threads is '96'", [](TuningOverride& item) { item.row.use.threads = 96; }},
      {"threads is '1024'", [](TuningOverride& item) { item.row.use.threads = 1024; }},
      {"lanes_per_row is '12'", [](TuningOverride& item) { item.row.use.lanes_per_row = 12; }},
      {"lanes_per_row is '64'", [](TuningOverride& item) { item.row.use.lanes_per_row = 64; }},
      {"unroll is '0'", [](TuningOverride& item) { item.row.use.unroll = 0; }},
      {"unroll is '16'", [](TuningOverride& item) { item.row.use.unroll = 16; }},
      {"panel_bytes is '100'", [](TuningOverride& item) { item.row.use.panel_bytes = 100; }},
      {"panel_bytes is '0', it has to be more", [](TuningOverride& item) { item.row.use.panel_bytes = 0; }},
      {"panel_bytes is '4096', it has to be at most 16 for each of 128 threads",
       [](TuningOverride& item) { item.row.use.panel_bytes = 4096, item.row.use.threads = 128; }},
      {"cluster_blocks is '3'", [](TuningOverride& item) { item.row.use.cluster_blocks = 3; }},
      {"cluster_blocks is '2', it has to be 1", [](TuningOverride& item) { item.row.use.cluster_blocks = 2; }},
      {"reduced_up_to is '-1'", [](TuningOverride& item) { item.row.when.reduced_up_to = -1; }},
      {"has no row of these limits in the table of sm_90", [](TuningOverride& item) { item.row.when.bytes_up_to = 7; }},
      {"strategy magic has no row", [](TuningOverride& item) { item.row.when.strategy = "magic"; }}};
  for (const Wrong& wrong : kWrong) {
    TuningOverride item = row_of("columns_in_block", false);
    wrong.make(item);
    const std::string message = refusal_of(item);
    EXPECT_TRUE(holds(message, "line 4: ") && holds(message, wrong.field)) << message << " should say " << wrong.field;
  }
}

TEST_F(Override, ARefusalNamesWhatIsNoTable) {
  const std::string good = text_of(row_of("rows_in_lanes", false));
  EXPECT_TRUE(holds(parse_overrides("threads\n256\n").error().message(), "line 1: columns have to be architecture,"));
  EXPECT_TRUE(holds(parse_overrides(file_of({good, "90,rows_in_lanes"})).error().message(), "line 5: it has 2 fields"));
  EXPECT_TRUE(holds(parse_overrides(file_of({good + ",1"})).error().message(), "line 4: it has 12 fields"));
  EXPECT_TRUE(parse_overrides("")->empty());
  EXPECT_TRUE(parse_overrides(file_of({}))->empty());
}

// Kernels are compiled for so many loads and threads; asking for more would silently get fewer.
TEST_F(Override, AsksForWhatIsCompiled) {
  TuningOverride item = row_of("rows_in_block", true);
  item.row.use = {.threads = cuda::kThreads, .unroll = cuda::kManyLoads};
  EXPECT_EQ(refusal_of(item), "");
  item.row.use.threads *= 2;
  EXPECT_NE(refusal_of(item), "");
  item.row.use = {.threads = cuda::kThreads, .unroll = 2 * cuda::kManyLoads};
  EXPECT_NE(refusal_of(item), "");
  for (const std::string_view strategy :
       {"rows_in_grid", "columns_in_grid", "split", "rows_in_lanes", "rows_in_block"}) {
    TuningOverride few = row_of(strategy, false);
    few.row.use.threads = cuda::kFewThreads;
    EXPECT_EQ(refusal_of(few), "") << strategy;
    few.row.use.threads *= 2;
    EXPECT_TRUE(holds(refusal_of(few), "threads is '512', it has to be at most 256 in this row")) << strategy;
  }
}

// Whatever is taken, a kernel can be made of it: every combination of every field's values, right and wrong.
TEST_F(Override, WhatIsTakenIsValid) {
  int taken = 0, refused = 0;
  for (const TuningRow& row : rows_of(90))
    for (const int threads : {0, 32, 48, 256, 512, 1024})
      for (const int lanes : {0, 1, 3, 32})
        for (const int panel : {0, 8, 16, 48, 256, 4096, 8192})
          for (const int blocks : {0, 1, 6, 16, 32}) {
            TuningOverride item = of_table(90, row);
            item.row.use = {.threads = threads, .lanes_per_row = lanes, .panel_bytes = panel, .cluster_blocks = blocks};
            const auto items = parse_overrides(file_of({text_of(item)}));
            (items ? taken : refused)++;
            EXPECT_TRUE(!items || is_valid_for_gpu(items->front().row.use)) << text_of(item);
          }
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace ndfold::test
