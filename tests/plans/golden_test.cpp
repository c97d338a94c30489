// Plans as they were reviewed: golden/NAME.txt holds what explain() says for three devices. A change of heuristics is a
// change of these files. NDFOLD_BLESS=1 in the environment rewrites them.
#include "plans/explain.h"
#include "tests/plans/golden_problems.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace ndfold::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(NDFOLD_SOURCE_FOLDER) / "tests/plans/golden";

bool blesses() {
  const char* value = std::getenv("NDFOLD_BLESS");
  return value != nullptr && std::string(value) == "1";
}

std::string explained(const Request& request) {
  const Problem problem = make_problem(request).value();
  const auto choice = choose(problem, request.options);
  return choice ? explain(request, problem, *choice) : choice.error().message() + "\n";
}

std::string all_devices(const Request& request) {
  std::string text;
  for (const DeviceFacts& device : {fixed_host(), DeviceFacts::h200(), DeviceFacts::a100()})
    text += (text.empty() ? "" : "\n") + explained(on(request, device));
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// As diff -u would: lines in common once, else what was and what is.
std::string difference(const std::string& before, const std::string& after) {
  const auto old_lines = lines_of(before), new_lines = lines_of(after);
  const std::size_t rows = old_lines.size(), columns = new_lines.size();
  std::vector<std::vector<std::size_t>> common(rows + 1, std::vector<std::size_t>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0;)
    for (std::size_t k = columns; k-- > 0;)
      common[i][k] =
          old_lines[i] == new_lines[k] ? common[i + 1][k + 1] + 1 : std::max(common[i + 1][k], common[i][k + 1]);
  std::string text;
  for (std::size_t i = 0, k = 0; i < rows || k < columns;) {
    if (i < rows && k < columns && old_lines[i] == new_lines[k]) {
      text += "  " + old_lines[i++] + "\n";
      ++k;
    } else if (k == columns || (i < rows && common[i + 1][k] >= common[i][k + 1])) {
      text += "- " + old_lines[i++] + "\n";
    } else {
      text += "+ " + new_lines[k++] + "\n";
    }
  }
  return text;
}

class Golden : public testing::TestWithParam<GoldenProblem> {};

TEST_P(Golden, PlansAreAsReviewed) {
  const fs::path path = kFolder / (GetParam().name + ".txt");
  const std::string now = all_devices(GetParam().request);
  if (blesses()) {
    std::ofstream(path, std::ios::binary) << now;
    return;
  }
  const std::string reviewed = read(path);
  EXPECT_TRUE(reviewed == now) << path.filename().string() << " changed (NDFOLD_BLESS=1 accepts it):\n"
                               << difference(reviewed, now);
}

INSTANTIATE_TEST_SUITE_P(Problems, Golden, testing::ValuesIn(golden_problems()),
                         [](const auto& row) { return row.param.name; });

TEST(GoldenFolder, HoldsExactlyTheProblems) {
  std::set<std::string> expected, found;
  for (const GoldenProblem& problem : golden_problems()) expected.insert(problem.name + ".txt");
  EXPECT_EQ(expected.size(), golden_problems().size()) << "two problems share a name";
  EXPECT_GE(expected.size(), 40u);
  for (const auto& entry : fs::directory_iterator(kFolder)) found.insert(entry.path().filename().string());
  EXPECT_TRUE(blesses() || found == expected) << found.size() << " files, " << expected.size() << " problems";
}

TEST(GoldenDifference, ShowsWhatWasAndWhatIs) {
  EXPECT_EQ(difference("a\nb\nc\n", "a\nB\nc\n"), "  a\n- b\n+ B\n  c\n");
  EXPECT_EQ(difference("", "a\n"), "+ a\n");
  EXPECT_EQ(difference("a\n", ""), "- a\n");
}

}  // namespace
}  // namespace ndfold::test
