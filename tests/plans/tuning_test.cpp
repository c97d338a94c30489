// The tuning tables: every row can be reached, says what it rests on, and ends its strategy without limits.
#include "plans/tuning/tuning.h"

#include <ndfold/kept_columns.h>

#include "kernels/cuda/catalog.h"
#include "tests/plans/problems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>

namespace ndfold::test {
namespace {

const std::vector<DeviceFacts>& devices() {
  static const std::vector<DeviceFacts> kDevices = {fixed_host(), DeviceFacts::h200(), DeviceFacts::a100()};
  return kDevices;
}

TuningQuestion question(const TuningRow& row, Index bytes, bool softmax, bool registers) {
  const Index fits = row.when.bytes_up_to / bytes;
  return {.strategy = row.when.strategy,
          .element_bytes = bytes,
          .reduced = std::min(row.when.reduced_up_to, fits),
          .softmax = softmax,
          .registers = registers};
}

bool is_reached(const DeviceFacts& device, const TuningRow& row) {
  for (Index bytes : {1, 2, 4, 8})
    for (bool softmax : {false, true})
      for (bool registers : {false, true})
        if (&tuning_for(device, question(row, bytes, softmax, registers)) == &row) return true;
  return false;
}

bool takes_everything(const TuningMatch& when) {
  return when.reduced_up_to == kAny && when.bytes_up_to == kAny && when.element_up_to == kAny && !when.softmax_only;
}

// As a link to it would be spelled: lower case, spaces to dashes, no punctuation.
std::string anchor(const std::string& heading) {
  std::string text;
  for (char c : heading) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) || c == '-') text += static_cast<char>(std::tolower(letter));
    if (c == ' ') text += '-';
  }
  return text;
}

std::set<std::string> anchors_of(const std::string& file) {
  std::ifstream stream(std::filesystem::path(NDFOLD_SOURCE_FOLDER) / file);
  std::set<std::string> anchors;
  for (std::string line; std::getline(stream, line);)
    if (line.rfind("#", 0) == 0) anchors.insert(anchor(line.substr(line.find_first_not_of("# "))));
  return anchors;
}

TEST(Tuning, EveryRowIsReached) {
  for (const DeviceFacts& device : devices())
    for (const TuningRow& row : tuning_rows(device))
      EXPECT_TRUE(is_reached(device, row)) << device.name << ", row " << &row - tuning_rows(device).data();
}

TEST(Tuning, TheLastRowOfAStrategyTakesEverything) {
  for (const DeviceFacts& device : devices()) {
    const auto rows = tuning_rows(device);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool last = i + 1 == rows.size() || rows[i + 1].when.strategy != rows[i].when.strategy;
      EXPECT_TRUE(!last || takes_everything(rows[i].when)) << device.name << " " << rows[i].when.strategy;
    }
  }
}

TEST(Tuning, AStrategysRowsLieTogether) {
  for (const DeviceFacts& device : devices()) {
    std::set<std::string_view> finished;
    std::string_view current;
    for (const TuningRow& row : tuning_rows(device)) {
      if (row.when.strategy == current) continue;
      finished.insert(current);
      current = row.when.strategy;
      EXPECT_EQ(finished.count(current), 0u) << device.name << " " << current;
    }
  }
}

TEST(Tuning, EveryStrategyOfADeviceHasARow) {
  for (const DeviceFacts& device : devices())
    for (const Strategy& strategy : strategies()) {
      if (strategy.name == "nothing") continue;
      const Verdict verdict = strategy.can(make_problem(softmax_of({64, 4096, 32}, {1}, device)).value(), device);
      const bool absent = verdict.why.find("has no") != std::string::npos || verdict.why.find("a CPU's") == 0;
      const bool found = !tuning_for(device, {.strategy = strategy.name}).when.strategy.empty();
      EXPECT_EQ(found, !absent) << device.name << " " << strategy.name;
    }
}

TEST(Tuning, EveryRowRestsOnACommittedHeading) {
  for (const DeviceFacts& device : devices())
    for (const TuningRow& row : tuning_rows(device)) {
      const std::string evidence(row.evidence);
      const auto mark = evidence.find('#');
      const auto anchors = anchors_of(evidence.substr(0, mark));
      EXPECT_FALSE(anchors.empty()) << evidence << ": no such file";
      const bool whole_file = mark == std::string::npos && device.kind == DeviceKind::cpu;
      EXPECT_TRUE(whole_file || anchors.count(evidence.substr(mark + 1)) == 1) << evidence << ": no such heading";
    }
}

TEST(Tuning, GpuRowsFitTheirChip) {
  for (const DeviceFacts& device : devices())
    for (const TuningRow& row : tuning_rows(device)) {
      if (device.kind == DeviceKind::cpu) continue;
      EXPECT_TRUE(is_valid_for_gpu(row.use));
      EXPECT_LE(row.use.cluster_blocks, device.cluster_blocks);
      EXPECT_LE(row.use.threads, device.threads_per_block);
    }
}

TEST(Tuning, InvalidNumbersAreCaught) {
  constexpr Tuning kGood = {.threads = 128, .lanes_per_row = 8, .vector_bytes = 16, .unroll = 2, .panel_bytes = 128};
  static_assert(is_valid_for_gpu(kGood));
  std::vector<Tuning> bad(8, kGood);
  bad[0].threads = 100;
  bad[1].threads = 2048;
  bad[2].lanes_per_row = 12;
  bad[3].lanes_per_row = 0;
  bad[4].vector_bytes = 12;
  bad[5].unroll = 0;
  bad[6].panel_bytes = 100;
  bad[7].cluster_blocks = 32;
  for (const Tuning& tuning : bad) EXPECT_FALSE(is_valid_for_gpu(tuning));
}

// Kernels are compiled for so many loads and threads; asking for more would silently get fewer.
TEST(Tuning, AsksForWhatIsCompiled) {
  for (const DeviceFacts& device : {DeviceFacts::h200(), DeviceFacts::a100()})
    for (const TuningRow& row : tuning_rows(device)) {
      const bool keeps = row.when.strategy.starts_with("columns") && row.residency == Residency::registers;
      EXPECT_LE(row.use.unroll, keeps ? kept_columns(row.use, 4).rows : cuda::kManyLoads) << row.when.strategy;
      const bool meets = row.when.strategy.ends_with("_in_grid") || row.when.strategy == "split";
      const bool folds = row.when.strategy.find("_in_") != std::string_view::npos && !row.when.softmax_only;
      const bool few = meets || folds;
      EXPECT_LE(row.use.threads, few ? cuda::kFewThreads : cuda::kThreads) << row.when.strategy;
    }
}

// No kernel without a row: what a schedule names is what a table lists.
TEST(Tuning, SchedulesUseRowsOfTheirTable) {
  for (const DeviceFacts& device : devices())
    for (const Request& request : {softmax_of({64, 512, 4096}, {1}, device), softmax_of({8, 70000}, {1}, device),
                                   sum_of({4096, 4096}, {0}, device), sum_of({9}, AxisSet::none(), device)})
      for (const Strategy& strategy : strategies()) {
        const auto problem = make_problem(request);
        PlanOptions options = request.options;
        options.strategy = strategy.name;
        const auto choice = choose(*problem, options);
        if (!choice) continue;
        for (const Step& step : choice->schedule.steps) {
          bool listed = step.kernel.residency == Residency::ring;  // whose numbers are the ring's
          const bool fits_panels = strategy.name == "columns_in_cluster" && problem->kind != RequestKind::softmax;
          for (TuningRow row : tuning_rows(device)) {
            if (strategy.name == "columns_in_lanes") {  // as many lanes as a line has columns and rows for
              row.use.lanes_per_row = step.kernel.tuning.lanes_per_row;
              row.use.panel_bytes = step.kernel.tuning.panel_bytes;
            }
            if (fits_panels)  // to a batch of loads: then they are narrower than the table's
              row.use.panel_bytes = std::min(row.use.panel_bytes, step.kernel.tuning.panel_bytes);
            listed = listed || row.use == step.kernel.tuning;
          }
          EXPECT_TRUE(listed) << device.name << " " << strategy.name;
        }
      }
}

}  // namespace
}  // namespace ndfold::test
